import { isUtf8 } from 'node:buffer'
import { shownSource } from '../../core/config-place.js'
import { SourceCache } from './cache.js'
import { SourceFault } from './fault.js'
import type { Fetch, Fetched, Place } from './fetching.js'
import { type Proof, prove } from './proof.js'

/** How long one request for a document may take, milliseconds. */
export const FETCH_TIMEOUT_MS = 30_000

interface RemoteTerms extends Omit<Place, 'isSigned'> {
  readonly fetch: Fetch
  readonly proof: Proof
  /** The folder that keeps the last good document for starts without network. Absent: none is kept. */
  readonly cache?: string
  /** Milliseconds between requests. */
  readonly poll: number
}

/** A configuration at an address: verified before anyone sees it. */
export class RemoteSource {
  /** The address as it may be shown. */
  readonly name: string
  readonly poll: number
  readonly #terms: RemoteTerms
  readonly #cache: SourceCache | undefined
  #current: Fetched | undefined
  #cached: Buffer | undefined
  #asking: Promise<boolean> | undefined

  constructor(terms: RemoteTerms) {
    this.#terms = terms
    this.poll = terms.poll
    this.name = shownSource(terms.address)
    this.#cache = terms.cache === undefined ? undefined : new SourceCache(terms.cache, this.name)
  }

  /** The document; it is there once {@link open} or {@link ask} has resolved. */
  get text(): Buffer {
    return this.#current?.bytes ?? Buffer.alloc(0)
  }

  /** The first document: of the address, or else the one that was kept; then it resolves with the reason. Rejects with `SourceFault`. */
  async open(): Promise<string | undefined> {
    try {
      await this.ask()
      return undefined
    } catch (error) {
      if (!(error instanceof SourceFault) || !(await this.useCached())) throw error
      return error.message
    }
  }

  /** Takes the document that was kept, where there is one that may be used and that is another than the present one. */
  async useCached(): Promise<boolean> {
    const kept = await this.#cache?.read()
    if (kept === undefined || this.#current?.bytes.equals(kept.bytes)) return false
    try {
      this.#take(kept)
      this.#cached = kept.bytes
      return true
    } catch {
      return false
    }
  }

  /** Whether the address has another document than before. Rejects with `SourceFault`; then the one before stays. */
  ask(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<boolean> {
    const place = { ...this.#terms, isSigned: this.#terms.proof.keys.length > 0 }
    const fetched = await this.#terms.fetch(place, this.#current?.tag ?? {})
    if (fetched === undefined) return false
    const before = this.#current
    this.#take(fetched)
    return before === undefined || !before.bytes.equals(fetched.bytes)
  }

  #take(fetched: Fetched): void {
    prove(this.#terms.proof, fetched.bytes, fetched.signature)
    if (!isUtf8(fetched.bytes)) throw new SourceFault('refused', 'it is not UTF-8')
    this.#current = fetched
  }

  /** The document serves: it is kept for later starts. Rejects where it cannot be written. */
  async keep(): Promise<void> {
    const current = this.#current
    if (this.#cache === undefined || current === undefined || this.#cached?.equals(current.bytes)) return
    this.#cached = current.bytes
    await this.#cache.write(current)
  }
}
