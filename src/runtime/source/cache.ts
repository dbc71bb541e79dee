import { createHash } from 'node:crypto'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MAX_FILE_BYTES } from '../../config/open.js'
import { makeFolder } from '../../core/folders.js'
import { isObject } from '../../core/json.js'
import type { Fetched, Tag } from './fetching.js'

/** Largest file: a document in base64, and what is noted beside it. */
const MAX_CACHE_BYTES = MAX_FILE_BYTES * 2

/** Keeps the last good document of an address: one file, that its owner alone may read. */
export class SourceCache {
  readonly #folder: string
  readonly #file: string

  /** `name`: of the address, as it may be shown. */
  constructor(folder: string, name: string) {
    this.#folder = folder
    this.#file = join(folder, `${createHash('sha256').update(name).digest('hex').slice(0, 32)}.json`)
  }

  /** Rejects where it cannot be written. */
  async write({ bytes, tag, signature }: Fetched): Promise<void> {
    const fresh = `${this.#file}.new-${process.pid}`
    const content = { tag, document: bytes.toString('base64'), signature: signature?.toString('base64') }
    await makeFolder(this.#folder, 0o700)
    try {
      await writeFile(fresh, `${JSON.stringify(content)}\n`, { mode: 0o600 })
      await rename(fresh, this.#file)
    } catch (error) {
      await rm(fresh, { force: true })
      throw error
    }
  }

  /** Undefined where there is none that can be read. */
  async read(): Promise<Fetched | undefined> {
    try {
      if ((await stat(this.#file)).size > MAX_CACHE_BYTES) return undefined
      const content: unknown = JSON.parse(await readFile(this.#file, 'utf8'))
      return isObject(content) ? fetchedOf(content) : undefined
    } catch {
      return undefined
    }
  }
}

function fetchedOf({ tag, document, signature }: Readonly<Record<string, unknown>>): Fetched | undefined {
  if (typeof document !== 'string') return undefined
  return {
    bytes: Buffer.from(document, 'base64'),
    tag: isObject(tag) ? (tag as Tag) : {},
    ...(typeof signature === 'string' ? { signature: Buffer.from(signature, 'base64') } : {}),
  }
}
