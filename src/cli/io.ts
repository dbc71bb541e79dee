import type { Readable, Writable } from 'node:stream'

/** What the command line says of a configuration at an address. */
export interface RemoteOptions {
  readonly digest?: string
  readonly signedBy?: readonly string[]
  readonly bearerEnv?: string
  readonly basicEnv?: string
  /** Of a gateway that follows it: milliseconds between requests, and the folder that keeps the last good document. */
  readonly poll?: number
  readonly cache?: string
}

/** What a command may touch of the process; `process` itself fits. */
export interface Io {
  readonly stdout: Output
  readonly stderr: Output
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly env: Readonly<Record<string, string | undefined>>
  /** Variables of `env` that no shell has: the file that each was read from, by name. */
  readonly fromFiles?: ReadonlyMap<string, string>
  /** What a configuration at an address must be, and how it is asked for. */
  readonly remote?: RemoteOptions
}

export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number }

/** Exit codes: all went well; what was asked for failed; the command line or a file given on it could not be used. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const

/** Printed on stderr as its message, without a stack; the command ends with `exit`. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exit: number

  constructor(message: string, exit: number = EXIT.usage) {
    super(message)
    this.exit = exit
  }
}

/** Errors whose message is for people, by name. */
const PLAIN_ERRORS: readonly string[] = ['CommandError', 'StartError', 'StoreError', 'KeyFileError', 'GatewayError']

/** The message of an error that is not a bug; undefined for others. */
export function plainMessage(error: unknown): string | undefined {
  // So fetch calls the end of a transfer that is cut.
  if (error instanceof TypeError && error.message === 'terminated') return 'the answer broke off'
  return error instanceof Error && PLAIN_ERRORS.includes(error.name) ? error.message : undefined
}

export function print(output: Output, text: string): void {
  output.write(`${text}\n`)
}

export type Paint = (text: string) => string

export interface Paints {
  readonly bold: Paint
  readonly dim: Paint
  readonly red: Paint
  readonly green: Paint
  readonly yellow: Paint
}

/**
 * Whether to colour what goes to `output`: on a terminal, unless NO_COLOR (https://no-color.org) is set. FORCE_COLOR
 * decides over both, `0` and `false` as no.
 */
export function coloured(output: Output, env: Io['env']): boolean {
  const forced = env.FORCE_COLOR
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false'
  if (env.NO_COLOR) return false
  return output.isTTY === true && env.TERM !== 'dumb'
}

export function paints(colour: boolean): Paints {
  const sgr =
    (on: number, off: number): Paint =>
    text =>
      colour ? `\x1b[${on}m${text}\x1b[${off}m` : text
  return { bold: sgr(1, 22), dim: sgr(2, 22), red: sgr(31, 39), green: sgr(32, 39), yellow: sgr(33, 39) }
}

// Control characters, and marks that turn the direction of writing.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach the terminal
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Text from a file on one line, made harmless for a terminal. */
export function printable(text: string): string {
  return text.replace(UNSAFE, '\ufffd')
}

/** The same for a text of several lines, which stay, as tabs do. */
export function printableLines(text: string): string {
  return text.replace(/[^\n\t]+/g, printable)
}
