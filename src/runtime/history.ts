import { readFile } from 'node:fs/promises'
import type { PastGeneration } from '../admin/host.js'

/** Generations that are remembered. */
const MAX_GENERATIONS = 50
/** What the files of all of them hold together, bytes; of older ones the text is forgotten first. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024

/** One generation, before it is known whether it can serve again. */
export type Generation = Omit<PastGeneration, 'returnable'>

/** What becomes known of a generation later. */
type Later = Pick<PastGeneration, 'canary' | 'difference'>

/** The generations of this process, so that people can return to one. Holds the text of the main file, and no plan. */
export class History {
  readonly #file: string
  /** Oldest first. */
  readonly #past: { generation: Generation; text: Buffer | undefined }[] = []

  constructor(file: string) {
    this.#file = file
  }

  /** `text`: what the main file said; if it is absent, the file is read now. */
  async add(generation: Generation, text?: Buffer): Promise<void> {
    const one = { generation, text }
    this.#past.push(one)
    if (this.#past.length > MAX_GENERATIONS) this.#past.shift()
    one.text ??= await readFile(this.#file).catch(() => undefined)
    this.#forget()
  }

  /** Adds what has become known of it. */
  note(number: number, later: Later): void {
    const one = this.#past.find(({ generation }) => generation.number === number)
    if (one !== undefined) one.generation = { ...one.generation, ...later }
  }

  /** Newest first. */
  list(): readonly PastGeneration[] {
    return this.#past.map(({ generation, text }) => ({ ...generation, returnable: text !== undefined })).reverse()
  }

  find(number: number): { readonly generation: Generation; readonly text: Buffer } | undefined {
    const found = this.#past.find(({ generation }) => generation.number === number)
    return found?.text === undefined ? undefined : { generation: found.generation, text: found.text }
  }

  #forget(): void {
    let left = MAX_TEXT_BYTES
    for (const one of this.#past.toReversed()) {
      left -= one.text?.length ?? 0
      if (left < 0) one.text = undefined
    }
  }
}
