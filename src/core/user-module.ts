import { hash } from 'node:crypto'
import { basename } from 'node:path'
import { atMost } from './at-most.js'
import type { Json } from './json.js'

/** A module of the user's own. */
export interface UserModule {
  /** Absolute path. */
  readonly module: string
  /** sha256 of its text in hex: with another text it is loaded anew. */
  readonly digest: string
  /** What it gets, as written. */
  readonly options: ModuleOptions
}

/** The member `options`. */
export type ModuleOptions = Readonly<Record<string, Json>>

/** What every module of the user's own gets beside its options. */
export interface ModuleTools {
  /** Writes a warning to the gateway's log, as it is: it must have no secret in it. */
  warn(message: string): void
}

/**
 * A module of the user's own fails. The message says where, and has nothing of what the module threw: that may quote a secret
 * or a request.
 */
export class ModuleFault extends Error {
  override readonly name = 'ModuleFault'
}

/** Longest message of a module in the log. */
const MAX_WARNING_CHARS = 500

/** Of all that decides what a module does; durations and conditions beside it included. */
export function digestOf(declared: UserModule): string {
  return hash('sha256', JSON.stringify(declared))
}

/** What a call of a module's function gives, within so many milliseconds. Rejects with {@link ModuleFault}. */
export async function within<T>(milliseconds: number, module: string, work: () => T | Promise<T>): Promise<T> {
  const begun = async (): Promise<{ readonly value: T }> => ({ value: await work() })
  const done = await atMost(milliseconds, begun()).catch((cause: unknown) => {
    throw cause instanceof ModuleFault ? cause : new ModuleFault(faultText(cause, module))
  })
  if (done === undefined) throw new ModuleFault(`no answer within ${milliseconds} ms`)
  return done.value
}

/** Hears what modules say to the operator: the name of the file, and the message. */
export type ModuleWarning = (module: string, message: string) => void

/** What a module gets to speak to the operator. `secret`: of the module, which it may not say. */
export function toolsFor(module: string, warn: ModuleWarning, secret = ''): ModuleTools {
  const shown = (text: string): string => (secret === '' ? text : text.replaceAll(secret, '[hidden]'))
  return { warn: message => warn(basename(module), shown(String(message)).slice(0, MAX_WARNING_CHARS)) }
}

/**
 * What was thrown, without its message: the kind of the error, the system's code, and the line of the module. `TypeError
 * ECONNREFUSED at my-check.mjs:12:5`.
 */
export function faultText(cause: unknown, module: string): string {
  try {
    const isError = cause instanceof Error
    const kind = isError && /^[A-Z][A-Za-z]{0,40}$/.test(cause.name) ? cause.name : 'an error'
    const code = codeOf(cause) ?? (isError ? codeOf(cause.cause) : undefined)
    const place = isError ? placeIn(String(cause.stack), basename(module)) : undefined
    return [kind, code, place && `at ${place}`].filter(Boolean).join(' ')
  } catch {
    return 'an error'
  }
}

/** Codes of the system and of the runtime, which have no digits; any other text may be secret. */
function codeOf(cause: unknown): string | undefined {
  const code: unknown = typeof cause === 'object' && cause !== null ? Reflect.get(cause, 'code') : undefined
  return typeof code === 'string' && /^(E[A-Z]{2,20}|(UND_)?ERR_[A-Z_]{1,60})$/.test(code) ? code : undefined
}

function placeIn(stack: string, file: string): string | undefined {
  const escaped = file.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const found = new RegExp(`[/\\\\]${escaped}(?:\\?v=[0-9a-f]+(?:-\\d+)?)?(:\\d+(?::\\d+)?)`).exec(stack)
  return found?.[1] === undefined ? undefined : `${file}${found[1]}`
}
