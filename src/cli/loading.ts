import { access, constants, readFile, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import type { SecretsMode, WithoutSecret } from '../config/context.js'
import type { SourceFile } from '../config/files.js'
import type { Config } from '../core/config.js'
import { isAddress, shownSource } from '../core/config-place.js'
import { packageRoot } from '../core/package-root.js'
import type { Plan } from '../core/plan.js'
import type { Problem } from '../core/problems.js'
import type { LocatedPlan, Overrides } from '../runtime/load.js'
import type { SecretKeeper } from '../runtime/managed-secrets.js'
import { CommandError, coloured, EXIT, type Io, type Output } from './io.js'
import { readAll } from './read-all.js'

/** A file that compiled. */
export interface Ready {
  readonly plan: Plan
  readonly config: Config
}

/** The name of the file that comes through standard input; what it includes is relative to the working directory. */
export const STANDARD_INPUT = '-'
/** Most of standard input that is read: more than any file may hold. */
const MAX_INPUT_BYTES = 4 * 1024 * 1024
const INPUT_TOO_LARGE = `standard input has more than ${MAX_INPUT_BYTES} bytes`

/** What the file holds, where it is not on disk, and how messages name it then. */
export interface Given {
  readonly text?: Buffer
  /** What all files of the configuration said. */
  readonly documents?: readonly SourceFile[]
  readonly file?: string
  /** Secrets are fetched from their managers. */
  readonly keeper?: SecretKeeper
  /** Modules of the user's own are loaded. */
  readonly loadsModules?: true
}

/**
 * What the file holds, where it comes through standard input or from an address. Throws {@link CommandError} where there is no such
 * file; `init` may write it only where it is this gateway's own.
 */
export async function givenText(file: string, io: Io, isOwn = true): Promise<Given> {
  if (file === STANDARD_INPUT) return { text: await readAll(io.stdin, MAX_INPUT_BYTES, INPUT_TOO_LARGE) }
  if (isAddress(file)) {
    const { remoteSource, documentOf } = await import('./remote.js')
    return documentOf(remoteSource(file, io))
  }
  await mustExist(file, isOwn)
  return {}
}

/** The same for commands that work on one file alone. */
export async function oneFile(file: string, io: Io, isOwn = true): Promise<Given> {
  if (isAddress(file)) throw new CommandError(`${shownSource(file)} is not a file of this machine`)
  const given = await givenText(file, io, isOwn)
  if (given.text === undefined && (await stat(file)).isDirectory())
    throw new CommandError(`${file} is a folder; name the file in it`)
  return given
}

/** What such a file holds, and its text; undefined where it is not UTF-8, which is printed on stderr. */
export async function oneText(
  file: string,
  io: Io,
  isOwn = true,
): Promise<{ readonly bytes: Buffer; readonly text: string } | undefined> {
  const { text: given } = await oneFile(file, io, isOwn)
  const bytes = given ?? (await readFile(file))
  const [{ decodedSource }, { Report }] = await Promise.all([
    import('../config/decode.js'),
    import('../config/report.js'),
  ])
  const report = new Report()
  const source = decodedSource(file, bytes, report)
  await printProblems(report.sorted(), io.stderr, io)
  return source && { bytes, text: source.text }
}

/** Reads and compiles a file without making keys. Throws {@link CommandError} where there is no such file. */
export async function check(
  file: string,
  io: Io,
  secrets: SecretsMode = 'leave',
  overrides: Overrides = {},
): Promise<LocatedPlan> {
  return checkGiven(file, await givenText(file, io), io, secrets, overrides)
}

/** The same for what {@link givenText} gave; with a keeper, secrets are fetched from their managers. */
export async function checkGiven(
  file: string,
  given: Given,
  io: Io,
  secrets: SecretsMode = 'leave',
  overrides: Overrides = {},
  without?: WithoutSecret,
): Promise<LocatedPlan> {
  const [{ loadLocated }, { generatedKey }] = await Promise.all([
    import('../runtime/load.js'),
    import('../runtime/generated-keys.js'),
  ])
  const generated = (name: string, folder: string) => generatedKey(folder, name, false)
  return loadLocated({ file, env: io.env, generated, secrets, overrides, ...(without && { without }), ...given })
}

/** Secrets are fetched from managers: those of these sections, or all. One that cannot be is why its upstream is off. */
export async function keeperOf({ env }: Io, sections?: readonly string[]): Promise<Required<Pick<Given, 'keeper'>>> {
  const { SecretKeeper: Keeper } = await import('../runtime/managed-secrets.js')
  return { keeper: new Keeper(env, sections) }
}

/** For commands that need a plan: prints the problems on stderr, and ends the command if there is no plan. */
export async function mustLoad(file: string, io: Io, overrides: Overrides = {}, given?: Given): Promise<Ready> {
  const { plan, config, problems } = await checkGiven(
    file,
    given ?? (await givenText(file, io)),
    io,
    'leave',
    overrides,
  )
  await printProblems(problems, io.stderr, io)
  if (plan === undefined || config === undefined) throw invalid(file)
  return { plan, config }
}

/** The same for commands that use the secrets of some sections: of these alone, those in secret managers are fetched. */
export async function loadWithSecrets(
  sections: readonly string[],
  file: string,
  io: Io,
  overrides: Overrides = {},
  given?: Given,
): Promise<Ready> {
  const { keeper } = await keeperOf(io, sections)
  try {
    return await mustLoad(file, io, overrides, { ...(given ?? (await givenText(file, io))), keeper })
  } finally {
    keeper.close()
  }
}

export function invalid(file: string): CommandError {
  return new CommandError(`${shownSource(file)} is not valid`, EXIT.failed)
}

/** Writes problems for people: position, message, the line with a caret. */
export async function printProblems(problems: readonly Problem[], output: Output, io: Io): Promise<void> {
  if (problems.length === 0) return
  const { formatProblems } = await import('../config/problems.js')
  const text = formatProblems(problems, { color: coloured(output, io.env) })
  output.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** Of the files that a load asked for, those that the gateway does not ship. */
export function ownFiles(sources: readonly string[]): readonly string[] {
  const shipped = ['routes', 'schemas'].map(folder => [packageRoot(), folder, ''].join(sep))
  return sources.filter(file => !shipped.some(folder => file.startsWith(folder)))
}

/** Throws {@link CommandError} where a file cannot be read. */
async function mustExist(file: string, isOwn: boolean): Promise<void> {
  try {
    await access(file, constants.R_OK)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    if (code === 'ENOENT') throw new CommandError(`there is no ${file}${isOwn ? '; `gateway init` writes one' : ''}`)
    throw new CommandError(`${file} cannot be read (${code})`)
  }
}
