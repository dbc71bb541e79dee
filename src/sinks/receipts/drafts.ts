import type { Chain } from '../../core/receipt-chain.js'

/** Bytes of receipts that are written at once, unless a receipt is longer. */
export const BATCH_BYTES = 256 * 1024
/** Most that one character of JSON takes, bytes of UTF-8. */
const BYTES_PER_CHAR = 3
/** Room for what a line has before its draft, apart from its chain's id, bytes. */
const HEAD_BYTES = 192

/** A line of sealed content, and the day after which it is removed. */
export interface ContentLine {
  readonly until: string
  readonly line: string
}

/**
 * Receipts of one day that wait for their places, one behind the other in bytes: as texts each would be some sixty objects that live
 * until they are written, long enough for the collector to move them twice.
 */
export class Drafts {
  readonly day: string
  readonly bytes: Buffer
  readonly contents: ContentLine[] = []
  /** Where each draft ends. */
  readonly #ends: number[] = []
  #used = 0
  /** How many of the drafts are receipts. */
  receipts = 0
  /** Characters of drafts and content. */
  chars = 0

  /** `chars`: of the first draft. `spare`: bytes of others that are written. */
  constructor(day: string, chars: number, spare: Buffer | undefined) {
    this.day = day
    const most = chars * BYTES_PER_CHAR
    this.bytes = most > BATCH_BYTES || spare === undefined ? Buffer.allocUnsafeSlow(Math.max(BATCH_BYTES, most)) : spare
  }

  get count(): number {
    return this.#ends.length
  }

  /** False, and nothing is added, if there may be no room for it. */
  add(draft: string, content: ContentLine | undefined): boolean {
    if (this.bytes.length - this.#used < draft.length * BYTES_PER_CHAR) return false
    this.#used += this.bytes.write(draft, this.#used)
    this.#ends.push(this.#used)
    this.chars += draft.length + (content?.line.length ?? 0)
    if (content !== undefined) this.contents.push(content)
    return true
  }

  /** Gives all of them their places, behind an opening line if there is one: whole lines. `lost`: receipts before the first of them. */
  link(
    chain: Chain,
    opening: string | undefined,
    { day, lost }: { readonly day: string; readonly lost: number },
  ): Buffer {
    const first = opening === undefined ? 0 : Buffer.byteLength(opening)
    const lines = Buffer.allocUnsafeSlow(this.#used + first + (this.count + 1) * (HEAD_BYTES + chain.id.length))
    let at = 0
    const add = (head: string, write: () => number): void => {
      const start = at
      at += lines.write(head, at, 'latin1')
      at += write()
      chain.linked(lines.subarray(start, at), day)
      lines[at++] = LINE_FEED
    }
    if (opening !== undefined) add(chain.head(0), () => lines.write(opening.slice(1), at))
    let from = 0
    for (const end of this.#ends) {
      // Without its brace: the head has one.
      const start = from + 1
      add(chain.head(from === 0 ? lost : 0), () => this.bytes.copy(lines, at, start, end))
      from = end
    }
    return lines.subarray(0, at)
  }
}

const LINE_FEED = 10
