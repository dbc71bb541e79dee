import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { ShownDifference } from '../admin/host.js'
import { AdminError } from '../admin/route.js'
import type { SourceFile } from '../config/files.js'
import { holdsSecret } from '../config/secret-lines.js'
import type { Config } from '../core/config.js'
import { isAddress, placeOf } from '../core/config-place.js'
import { documentName } from '../core/document-names.js'
import { packageRoot } from '../core/package-root.js'
import type { Problem } from '../core/problems.js'
import { inSlices } from '../core/steps.js'
import { changesBetween } from './changes.js'
import { ConflictError, FileChange, UnwrittenError, type Wanted } from './file-change.js'
import type { PastDocument } from './history.js'
import { type LoadedPlan, type LoadOptions, reloadPlan } from './load.js'
import { meaningOf } from './meaning.js'
import type { PlanSource } from './plan-source.js'
import { messageOf } from './problems.js'
import { isSame } from './reading/same.js'

interface Checked {
  readonly isValid: boolean
  readonly problems: readonly Problem[]
  readonly changes: object
  /** What it means for callers, beside the running plan. */
  readonly difference?: ShownDifference
}

/** A text of the file as people may see it. */
interface ShownText {
  readonly text: string
  /** Whether lines are left out because they may hold a secret. */
  readonly masked: boolean
}

/** The main file of a generation, and the others. */
interface PastVersion extends NamedText {
  readonly included: readonly NamedText[]
}

interface NamedText extends ShownText {
  readonly name: string
}

/** Files that one message names. */
const MAX_NAMED = 3

/** In place of a line; the number is that of the line. */
const LEFT_OUT = /^# line (\d+) may hold a secret and is not shown$/gm

/** What the console knows of the configuration file, and how it changes it. */
export class FileDrafts {
  readonly #options: Pick<LoadOptions, 'file' | 'env' | 'overrides'>
  readonly #plans: () => PlanSource
  /** Whether a draft is being written. */
  #isWriting = false
  #reading: Promise<unknown> = Promise.resolve()

  constructor({ file, env, overrides }: LoadOptions, plans: () => PlanSource) {
    this.#options = { file, env, ...(overrides === undefined ? {} : { overrides }) }
    this.#plans = plans
  }

  async file(): Promise<ShownText & { readonly file: string; readonly digest: string }> {
    const text = await this.#text()
    return { file: this.#options.file, digest: digestOf(text), ...shown(text) }
  }

  async check(text: string, isWhole: boolean): Promise<Checked> {
    const whole = isWhole ? completed(text, await this.#text()) : text
    return await this.#check({ text: Buffer.from(whole) })
  }

  async #check(given: Pick<LoadOptions, 'text' | 'documents'>): Promise<Checked> {
    const { plan, config, problems } = await this.#load(given)
    if (plan === undefined || config === undefined) return { isValid: false, problems, changes: {} }
    const { running } = this.#plans()
    const changes = await inSlices(changesBetween(running.config, config))
    const isSame = Object.keys(changes).length === 0
    return {
      ...{ isValid: true, problems, changes },
      ...(isSame ? {} : { difference: await meaningOf(running, { plan, config }) }),
    }
  }

  /** Beside requests, and one at a time: what is large is read on a thread of its own. */
  async #load(given: Pick<LoadOptions, 'text' | 'documents'>): Promise<LoadedPlan> {
    const read = this.#reading.then(async () => {
      const plans = this.#plans()
      const held = await plans.held()
      const load = (known: typeof held): Promise<LoadedPlan> =>
        reloadPlan({ ...this.#options, ...given, held: known }, plans.running, plans.loaded.parsed)
      const loaded = await load(held)
      const fetched = new Map([...held].filter(([, one]) => 'text' in one))
      const isSettled = fetched.size === held.size || hasManagersOf(plans.running.config, loaded.config)
      return isSettled ? loaded : await load(fetched)
    })
    this.#reading = read.catch(() => undefined)
    return await read
  }

  /** `digest`: of the file that the draft is made from. Undefined: it is another one by now. If the reload fails, the file is as it was before. */
  async apply(text: string, digest: string): Promise<Checked | undefined> {
    const before = await this.#text()
    if (digestOf(before) !== digest || this.#isWriting) return undefined
    this.#isWriting = true
    try {
      const whole = completed(text, before)
      const checked = await this.check(whole, false)
      const file = { path: placeOf(this.#options.file), text: whole, before }
      return !checked.isValid || whole === before ? checked : await this.#write([file], checked)
    } finally {
      this.#isWriting = false
    }
  }

  /** Writes files, those that are there no more among them, and reloads; if that fails, all are as they were before. */
  async #write(files: readonly Wanted[], checked: Checked): Promise<Checked> {
    const change = await FileChange.stage(files).catch(error => {
      throw notWritten(error)
    })
    try {
      const problems = await this.#make(change)
      if (problems === undefined) return checked
      await this.#undo(change, 'the reload failed')
      return { isValid: false, problems, changes: {} }
    } finally {
      await change.end()
    }
  }

  /** Undefined: it serves. */
  async #make(change: FileChange): Promise<readonly Problem[] | undefined> {
    try {
      await change.make()
      const { plan, problems } = await this.#plans().reload('console')
      return plan === undefined ? problems : undefined
    } catch (error) {
      await this.#undo(change, messageOf(error))
      throw notWritten(error)
    }
  }

  async #undo(change: FileChange, why: string): Promise<void> {
    const lost = await change.undo()
    await this.#plans().reload()
    if (lost.length > 0)
      throw new AdminError(500, 'not_written', `${why}; these files are not as they were: ${lost.join(', ')}`)
  }

  /** As {@link apply}, with what all files of the configuration said at a former generation. */
  async back(generation: number, digest: string): Promise<Checked | undefined> {
    const files = await this.#plans().pastDocuments(generation)
    const before = await this.#text()
    if (files === undefined || digestOf(before) !== digest || this.#isWriting) return undefined
    this.#isWriting = true
    try {
      const documents = files.map(({ path, text }) => ({ path, bytes: Buffer.from(text) }))
      const later = await this.#laterThan(documents)
      if (later.length > 0) throw new AdminError(409, 'conflict', laterText(generation, later))
      const checked = await this.#check({ documents })
      const main = placeOf(this.#options.file)
      const wanted = files.filter(isOwn).map(file => (file.path === main ? { ...file, before } : file))
      return checked.isValid ? await this.#write(wanted, checked) : checked
    } finally {
      this.#isWriting = false
    }
  }

  /** Names of files that are there now, and that would be read beside those of a former generation. */
  async #laterThan(documents: readonly SourceFile[]): Promise<readonly string[]> {
    const known = new Set(documents.map(({ path }) => path))
    const isLater = ({ path }: SourceFile): boolean => !known.has(path)
    const now = ((await this.#load({})).documents ?? []).filter(isLater)
    if (now.length === 0) return []
    const { documents: both = [] } = await this.#load({ documents: [...documents, ...now] })
    return both.filter(isLater).map(({ path }) => documentName(placeOf(this.#options.file), path))
  }

  async version(generation: number): Promise<PastVersion | undefined> {
    const source = placeOf(this.#options.file)
    const documents = await this.#plans().pastDocuments(generation)
    const [main, ...included] = (documents ?? []).map(({ path, text }) => ({
      name: documentName(source, path),
      ...shown(text),
    }))
    return main && { ...main, included }
  }

  async #text(): Promise<string> {
    const { file } = this.#options
    if (isAddress(file)) throw new AdminError(409, 'conflict', `the configuration is at ${file}: change it there`)
    return await readFile(file, 'utf8').catch(error => {
      if (error.code !== 'EISDIR') throw error
      throw new AdminError(409, 'conflict', `the configuration is the folder ${file}: change its files there`)
    })
  }
}

/** What comes with the gateway is not of the user's. */
function isOwn({ path }: PastDocument): boolean {
  return !path.startsWith(join(packageRoot(), 'routes', sep))
}

/** Of other managers it is not known what they lack. */
function hasManagersOf(running: Config, config: Config | undefined): boolean {
  return config !== undefined && isSame(running.managed?.managers, config.managed?.managers)
}

function notWritten(error: unknown): unknown {
  if (!(error instanceof UnwrittenError)) return error
  if (error instanceof ConflictError) return new AdminError(409, 'conflict', `${error.message}; nothing was written`)
  return new AdminError(500, 'not_written', `${error.message}; all files are as they were`)
}

function laterText(generation: number, names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  const shownNames = `${names.slice(0, MAX_NAMED).join(', ')}${more}`
  return `${shownNames}: not a file of generation ${generation}, and read with its files; remove it first, or use POST /admin/rollback, which writes nothing`
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function shown(text: string): ShownText {
  const lines = text.split('\n')
  const source = { line: (number: number): string => lines[number - 1] ?? '' }
  let masked = false
  const left = lines.map((line, at) => {
    if (!holdsSecret(source, at + 1)) return line
    masked = true
    return `# line ${at + 1} may hold a secret and is not shown`
  })
  return { text: left.join('\n'), masked }
}

/** Puts the lines that were left out back from the text that they are of. */
function completed(text: string, from: string): string {
  const lines = from.split('\n')
  return text.replaceAll(LEFT_OUT, (line, number) => lines[Number(number) - 1] ?? line)
}
