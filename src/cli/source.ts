import { readFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import { type Command, InvalidArgumentError } from 'commander'
import { DEFAULT_FILE } from './command.js'
import { CommandError, type Io, type RemoteOptions } from './io.js'

/** What every command that reads a configuration takes. */
export interface SourceOptions extends RemoteOptions {
  readonly file?: string
  readonly envFile?: readonly string[]
}

/** Largest file of variables. */
const MAX_ENV_FILE_BYTES = 1024 * 1024

export const FILE_WORDS =
  'configuration: file, folder of *.yaml files, https://, s3:// or git+https:// address; "-" reads standard input'

/** Adds the options by which a command learns its file and its variables. */
export function takesSource(command: Command): Command {
  return command
    .option('-f, --file <file>', `${FILE_WORDS} (default: "${DEFAULT_FILE}")`)
    .option(
      '--env-file <file>',
      'read variables (NAME=value lines); repeatable; the environment takes precedence',
      append,
    )
}

/** Adds the options that say what a configuration at an address must be. */
export function takesAddress(command: Command): Command {
  return command
    .option('--digest <sha256>', 'of a configuration at an address: its digest (sha256:…)', digest)
    .option(
      '--signed-by <file>',
      'the same: public key (Ed25519, PEM) of its signature at ADDRESS.sig; repeatable',
      append,
    )
    .option('--bearer-env <name>', 'the same: variable with the bearer token for its server')
    .option('--basic-env <name>', 'the same: variable with USER:PASSWORD for its server')
}

function digest(text: string): string {
  const [, hex] = /^(?:sha256:)?([0-9a-f]{64})$/i.exec(text) ?? []
  if (hex === undefined) throw new InvalidArgumentError('Expected sha256: and 64 hexadecimal digits.')
  return hex.toLowerCase()
}

function append(file: string, before: readonly string[] = []): readonly string[] {
  return [...before, file]
}

/** The file of a command, which names it as an argument or as an option. */
export function fileOf(argument: string | undefined, { file }: SourceOptions): string {
  if (argument !== undefined && file !== undefined)
    throw new CommandError(`two files are given: ${argument} and ${file}`)
  return argument ?? file ?? DEFAULT_FILE
}

/** `io` with the variables of the files that `--env-file` names. Throws {@link CommandError}. */
export async function withVariables(given: Io, options: SourceOptions): Promise<Io> {
  const { envFile = [] } = options
  const { stdout, stderr, stdin, env } = given
  const io = { stdout, stderr, stdin, env, remote: options }
  if (envFile.length === 0) return io
  const read: Record<string, string | undefined> = {}
  const fromFiles = new Map<string, string>()
  for (const file of envFile) {
    for (const [name, value] of Object.entries(parseEnv(await textOf(file)))) {
      read[name] = value
      if (io.env[name] === undefined) fromFiles.set(name, file)
    }
  }
  return { ...io, env: { ...read, ...env }, fromFiles }
}

async function textOf(file: string): Promise<string> {
  const bytes = await readFile(file).catch(error => {
    throw new CommandError(`${file} cannot be read (${error.code})`)
  })
  if (bytes.length > MAX_ENV_FILE_BYTES) throw new CommandError(`${file} is larger than ${MAX_ENV_FILE_BYTES} bytes`)
  return bytes.toString('utf8').replace(/^\ufeff/, '')
}

/** A name that a declared model matches, which may be a glob. */
export function sampleName(model: string): string {
  return model.replaceAll('*', 'x')
}
