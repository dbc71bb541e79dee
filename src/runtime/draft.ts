import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ShownDifference } from '../admin/host.js'
import { AdminError } from '../admin/route.js'
import { holdsSecret } from '../config/secret-lines.js'
import { isAddress, placeOf } from '../core/config-place.js'
import { documentName } from '../core/document-names.js'
import type { Problem } from '../core/problems.js'
import { inSlices } from '../core/steps.js'
import { changesBetween } from './changes.js'
import { type LoadOptions, loadPlan } from './load.js'
import { meaningOf } from './meaning.js'
import type { PlanSource } from './reload.js'
import { replaceFile } from './replace-file.js'

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

/** In place of a line; the number is that of the line. */
const LEFT_OUT = /^# line (\d+) may hold a secret and is not shown$/gm

/** What the console knows of the configuration file, and how it changes it. */
export class FileDrafts {
  readonly #options: Pick<LoadOptions, 'file' | 'env' | 'overrides'>
  readonly #plans: () => PlanSource
  /** Whether a draft is being written. */
  #isWriting = false

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
    const { plan, config, problems } = await loadPlan({ ...this.#options, text: Buffer.from(whole) })
    if (plan === undefined || config === undefined) return { isValid: false, problems, changes: {} }
    const { running } = this.#plans()
    const changes = await inSlices(changesBetween(running.config, config))
    const isSame = Object.keys(changes).length === 0
    return {
      ...{ isValid: true, problems, changes },
      ...(isSame ? {} : { difference: await meaningOf(running, { plan, config }) }),
    }
  }

  /** `digest`: of the file that the draft is made from. Undefined: it is another one by now. If the reload fails, the file is as it was before. */
  async apply(text: string, digest: string): Promise<Checked | undefined> {
    const before = await this.#text()
    if (digestOf(before) !== digest || this.#isWriting) return undefined
    this.#isWriting = true
    try {
      const whole = completed(text, before)
      const checked = await this.check(whole, false)
      return !checked.isValid || whole === before ? checked : await this.#write(whole, before, checked)
    } finally {
      this.#isWriting = false
    }
  }

  async #write(text: string, before: string, checked: Checked): Promise<Checked> {
    await replaceFile(this.#options.file, text)
    try {
      const { plan, problems } = await this.#plans().reload('console')
      if (plan !== undefined) return checked
      await this.#restore(before)
      return { isValid: false, problems, changes: {} }
    } catch (error) {
      await this.#restore(before)
      throw error
    }
  }

  async #restore(text: string): Promise<void> {
    await replaceFile(this.#options.file, text)
    await this.#plans().reload()
  }

  /** As {@link apply}, with the text of a former generation. */
  async back(generation: number, digest: string): Promise<Checked | undefined> {
    const [main] = (await this.#plans().pastDocuments(generation)) ?? []
    return main === undefined ? undefined : await this.apply(main.text, digest)
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
