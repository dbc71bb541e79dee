import type { PastGeneration } from '../admin/host.js'
import { MAX_KEPT_BYTES, type SourceFile } from '../config/files.js'

/** Generations that are remembered. */
const MAX_GENERATIONS = 50

/** One generation, before it is known whether it can serve again. */
export type Generation = Omit<PastGeneration, 'returnable'>

/** What becomes known of a generation later. */
type Later = Pick<PastGeneration, 'canary' | 'difference'>

/** What a file of the configuration said. */
export interface PastDocument {
  readonly path: string
  readonly text: string
}

interface Past {
  generation: Generation
  documents: readonly SourceFile[] | undefined
}

/**
 * The generations of this process, so that people can return to one. Holds the files of the configuration, and no plan; of all
 * generations together {@link MAX_KEPT_BYTES}, those of older ones are forgotten first.
 */
export class History {
  /** Oldest first. */
  readonly #past: Past[] = []

  /** `documents`: the files that it was read from, the main one first; undefined where they are too large. */
  add(generation: Generation, documents: readonly SourceFile[] | undefined): void {
    const before = new Map(this.#past.at(-1)?.documents?.map(file => [file.path, file]))
    // A file that has not changed is held once.
    const shared = documents?.map(file => {
      const known = before.get(file.path)
      return known !== undefined && Buffer.compare(known.bytes, file.bytes) === 0 ? known : file
    })
    this.#past.push({ generation, documents: shared })
    if (this.#past.length > MAX_GENERATIONS) this.#past.shift()
    this.#forget()
  }

  /** Adds what has become known of it. */
  note(number: number, later: Later): void {
    const one = this.#past.find(({ generation }) => generation.number === number)
    if (one !== undefined) one.generation = { ...one.generation, ...later }
  }

  /** Newest first. */
  list(): readonly PastGeneration[] {
    return this.#past
      .map(({ generation, documents }) => ({ ...generation, returnable: documents !== undefined }))
      .reverse()
  }

  find(number: number): { readonly generation: Generation; readonly documents: readonly SourceFile[] } | undefined {
    const found = this.#past.find(({ generation }) => generation.number === number)
    return found?.documents === undefined ? undefined : { generation: found.generation, documents: found.documents }
  }

  /** The main file first. */
  documents(number: number): readonly PastDocument[] | undefined {
    return this.find(number)?.documents.map(({ path, bytes }) => ({ path, text: Buffer.from(bytes).toString('utf8') }))
  }

  #forget(): void {
    const held = new Set<SourceFile>()
    let left = MAX_KEPT_BYTES
    for (const one of this.#past.toReversed()) {
      for (const file of one.documents ?? []) {
        if (!held.has(file)) left -= file.bytes.length
        held.add(file)
      }
      if (left < 0) one.documents = undefined
    }
  }
}

/** What files said: undefined where they are too large to be kept. */
interface Read {
  readonly digest: string
  readonly documents: readonly SourceFile[] | undefined
}

/** Whether the files say the same; what they refer to may have changed. */
export function saySame(one: Read, other: Read): boolean {
  const [files, others] = [one.documents, other.documents]
  if (files === undefined || others === undefined) return one.digest === other.digest
  const same = (file: SourceFile, at: number): boolean => {
    const before = others[at]
    return before !== undefined && before.path === file.path && Buffer.compare(before.bytes, file.bytes) === 0
  }
  return files.length === others.length && files.every(same)
}
