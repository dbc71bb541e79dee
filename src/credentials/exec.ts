import { execFile } from 'node:child_process'
import type { ExecSource } from '../core/credential-source.js'
import { isObject } from '../core/json.js'
import { CredentialFault } from '../net/signer.js'
import { jsonOf, plain, timeOf } from './token-answer.js'
import type { Fetched } from './token-cache.js'

/** Most that a command may print, bytes. */
const MAX_OUTPUT_BYTES = 64 * 1024
/** How long a token counts as valid if the command does not say. */
const DEFAULT_LIFE_MS = 5 * 60_000

/**
 * Runs a command, without a shell, and reads a token from its output: an ExecCredential of Kubernetes (`status.token`,
 * `status.expirationTimestamp`), a token answer (`access_token`, `expires_in`), or the bare token.
 */
export async function tokenByCommand({ command, timeout }: ExecSource): Promise<Fetched<string>> {
  return tokenIn(await outputOf(command, timeout), `the command ${command[0]}`)
}

/** What a command prints, without a shell. `variables` are added to those of the environment. */
export function outputOf(
  [file = '', ...args]: readonly string[],
  timeoutMs: number,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const env = { ...process.env, ...variables }
  const options = {
    timeout: timeoutMs,
    maxBuffer: MAX_OUTPUT_BYTES,
    killSignal: 'SIGKILL',
    windowsHide: true,
    env,
  } as const
  return new Promise((resolve, reject) => {
    execFile(file, args, options, (cause, output) => (cause === null ? resolve(output) : reject(failed(file, cause))))
  })
}

/** The words of a command that a file of credentials has as one text: quotes keep spaces together, and nothing is expanded. */
export function wordsOf(command: string): readonly string[] {
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|([^\s"']+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  )
}

/** What it printed may be secret, so only its end is reported. */
function failed(file: string, cause: Error & { code?: unknown; killed?: boolean; signal?: unknown }): CredentialFault {
  const isLong = cause.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'
  const how = isLong
    ? 'printed too much'
    : cause.killed === true
      ? 'took too long'
      : `failed (${cause.code ?? cause.signal})`
  return new CredentialFault(`the command ${file} ${how}`)
}

function tokenIn(output: string, from: string): Fetched<string> {
  const document = jsonOf(output)
  if (document === undefined) return { value: plain(output.trim(), from), expires: Date.now() + DEFAULT_LIFE_MS }
  const status = isObject(document.status as never) ? (document.status as Record<string, unknown>) : document
  const token = status.token ?? status.access_token ?? status.accessToken
  if (typeof token !== 'string') throw new CredentialFault(`${from} printed JSON without a token`)
  const seconds = Number(status.expires_in)
  const stated = timeOf(status.expirationTimestamp ?? status.expiry ?? status.expiresOn ?? status.expires_at)
  const expires = stated ?? Date.now() + (seconds > 0 ? seconds * 1000 : DEFAULT_LIFE_MS)
  return { value: plain(token, from), expires }
}
