import { readFile } from 'node:fs/promises'
import { parseEnv } from 'node:util'
import type { Command } from 'commander'
import { DEFAULT_FILE } from './command.js'
import { CommandError, type Io } from './io.js'

/** What every command that reads a configuration takes. */
export interface SourceOptions {
  readonly file?: string
  readonly envFile?: readonly string[]
}

/** Largest file of variables. */
const MAX_ENV_FILE_BYTES = 1024 * 1024

export const FILE_WORDS = 'configuration file; "-" reads standard input'

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
export async function withVariables(io: Io, { envFile = [] }: SourceOptions): Promise<Io> {
  if (envFile.length === 0) return io
  const read: Record<string, string | undefined> = {}
  const fromFiles = new Map<string, string>()
  for (const file of envFile) {
    for (const [name, value] of Object.entries(parseEnv(await textOf(file)))) {
      read[name] = value
      if (io.env[name] === undefined) fromFiles.set(name, file)
    }
  }
  const { stdout, stderr, stdin } = io
  return { stdout, stderr, stdin, env: { ...read, ...io.env }, fromFiles }
}

async function textOf(file: string): Promise<string> {
  const bytes = await readFile(file).catch(error => {
    throw new CommandError(`${file} cannot be read (${error.code})`)
  })
  if (bytes.length > MAX_ENV_FILE_BYTES) throw new CommandError(`${file} is larger than ${MAX_ENV_FILE_BYTES} bytes`)
  return bytes.toString('utf8')
}
