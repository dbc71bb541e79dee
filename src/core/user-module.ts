import { hash } from 'node:crypto'
import { basename } from 'node:path'
import { pathToFileURL } from 'node:url'
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

/** Longest time for a module to be loaded, milliseconds. */
const LOAD_MS = 10_000
/** Digits of the digest that tell a changed module from the one before. */
const VERSION_DIGITS = 16
/** Longest message of a module in the log. */
const MAX_WARNING_CHARS = 500

/** Files of all modules that were loaded. */
export const loadedModules: Set<string> = new Set()

/** Of all that decides what a module does; durations and conditions beside it included. */
export function digestOf(declared: UserModule): string {
  return hash('sha256', JSON.stringify(declared))
}

/** A function that a module exports. Throws {@link ModuleFault}. */
export async function loadExport<F extends (...given: never[]) => unknown>(
  { module, digest }: Pick<UserModule, 'module' | 'digest'>,
  name: string,
): Promise<F> {
  loadedModules.add(module)
  const address = `${pathToFileURL(module).href}?v=${digest.slice(0, VERSION_DIGITS)}`
  const loaded: { readonly exports: object } | undefined = await atMost(
    LOAD_MS,
    import(address).then((exports: object) => ({ exports })),
  ).catch((cause: unknown) => {
    throw new ModuleFault(`it cannot be loaded: ${faultText(cause, module)}`)
  })
  if (loaded === undefined) throw new ModuleFault(`it cannot be loaded: it took longer than ${LOAD_MS / 1000} s`)
  const found: unknown = Reflect.get(loaded.exports, name)
  if (typeof found !== 'function') throw new ModuleFault(`it exports no function ${name}`)
  return found as F
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
  const found = new RegExp(`[/\\\\]${escaped}(?:\\?v=[0-9a-f]+)?(:\\d+(?::\\d+)?)`).exec(stack)
  return found?.[1] === undefined ? undefined : `${file}${found[1]}`
}
