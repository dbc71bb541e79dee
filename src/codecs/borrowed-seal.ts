import { Buffer } from 'node:buffer'
import type { Part, Seal } from '../core/text.js'

/**
 * Other protocols seal calls and texts, too; where only thoughts have a place for that, such a seal travels as hidden thoughts
 * beside what it belongs to: clients send those back unread, and their signature tells where it goes.
 * `next`: onto the part behind it; `prev`: onto the part before; `text`: onto a text of its own that is empty.
 */
export type SealPlace = 'next' | 'prev' | 'text'

interface BorrowedSeal {
  readonly seal: Seal
  readonly place: SealPlace
}

const FORM = /^gw1\.([^.]+)\.([A-Za-z0-9_-]*)\.(next|prev|text)$/

/** The signature of such thoughts. */
export function borrowedSeal({ by, value }: Seal, place: SealPlace): string {
  return `gw1.${by}.${Buffer.from(value, 'utf8').toString('base64url')}.${place}`
}

export function decodeBorrowedSeal(signature: string): BorrowedSeal | undefined {
  const [, by, value, place] = FORM.exec(signature) ?? []
  if (by === undefined || value === undefined) return undefined
  return { seal: { by, value: Buffer.from(value, 'base64url').toString('utf8') }, place: place as SealPlace }
}

/** The parts of a turn, each with the seal that came back beside it. */
export class SealedParts {
  readonly #parts: Part[] = []
  /** A seal that belongs to the part that comes next, and where it stood. */
  #next: { readonly seal: Seal; readonly at: string } | undefined

  get last(): Part | undefined {
    return this.#parts.at(-1)
  }

  add(...parts: readonly Part[]): void {
    for (const part of parts) {
      const seal = this.#next?.seal
      this.#next = undefined
      this.#parts.push(seal === undefined || part.seal !== undefined ? part : { ...part, seal })
    }
  }

  /** Changes the part that was added last. */
  change(part: Part): void {
    this.#parts[this.#parts.length - 1] = part
  }

  borrowed({ seal, place }: BorrowedSeal, at: string): void {
    const { last } = this
    if (place === 'text') this.add({ type: 'text', text: '', seal, at })
    else if (place === 'next') {
      this.#settle()
      this.#next = { seal, at }
    } else if (last !== undefined && last.seal === undefined) this.change({ ...last, seal })
    else this.add({ type: 'reasoning', text: '', seal, at })
  }

  whole(): readonly Part[] {
    this.#settle()
    return this.#parts
  }

  /** A seal whose part no longer follows it is kept for itself. */
  #settle(): void {
    const next = this.#next
    this.#next = undefined
    if (next !== undefined) this.#parts.push({ type: 'reasoning', text: '', ...next })
  }
}
