import { digestOfLine, NO_LINE, placeOf } from '../../core/receipt-chain.js'
import type { ChainEnd, OpeningLine, ReceiptPlace } from '../../core/receipts.js'
import type { Part, Shelf } from './shelf.js'

/** Most faults that are listed; the others are counted. */
const MAX_FAULTS = 100
/** Most chains that are compared: each process makes one. */
const MAX_CHAINS = 1_000_000

type FaultName = 'changed' | 'missing' | 'reordered' | 'truncated' | 'unreadable' | 'foreign'

/** What is wrong, and where. */
export interface ReceiptFault {
  readonly fault: FaultName
  readonly chain: string
  readonly day: string
  /** Number of the line in its file, from 1. */
  readonly line?: number
  readonly message: string
}

export interface ReceiptReport {
  readonly receipts: number
  readonly chains: number
  readonly days: number
  readonly faulty: number
  /** The first of them. */
  readonly faults: readonly ReceiptFault[]
  /** Receipts that could not be written, as those after them say. */
  readonly lost: number
  /** Chains whose process was killed while it wrote: nothing that was written is missing. */
  readonly torn: number
  /** Where each chain ends that no other one continues: keep them elsewhere, and a later check can be compared with them. */
  readonly ends: readonly ChainEnd[]
}

/** What is known of a chain while its files are read in their order. */
interface State {
  /** Number of the first line that is there. */
  readonly first: number
  readonly last: ChainEnd
  /** Bytes of an unfinished line behind it. */
  torn: number
  readonly hasEnded: boolean
}

/** Reads all receipts once and checks that none is missing, changed or moved. Memory grows with the number of chains alone. */
export async function verifyReceipts(shelf: Shelf): Promise<ReceiptReport> {
  // First: a gateway that runs writes lines before it says that they are there.
  const ends = await shelf.ends()
  const verifier = new Verifier(ends)
  for (const part of await shelf.parts()) {
    let number = 0
    for await (const { bytes, isWhole } of shelf.lines(part)) verifier.take(part, ++number, bytes, isWhole)
    verifier.checkPart(part)
  }
  return verifier.report()
}

class Verifier {
  readonly #ends: ReadonlyMap<string, ChainEnd>
  readonly #states = new Map<string, State>()
  readonly #openings: { readonly part: Part; readonly opening: OpeningLine }[] = []
  readonly #faults: ReceiptFault[] = []
  #faulty = 0
  #receipts = 0
  #lost = 0
  #dropped = ''
  readonly #days = new Set<string>()

  constructor(ends: readonly ChainEnd[]) {
    this.#ends = new Map(ends.map(end => [end.chain, end]))
  }

  take(part: Part, line: number, bytes: Buffer, isWhole: boolean): void {
    const { chain, day } = part
    this.#days.add(day)
    const state = this.#states.get(chain)
    if (!isWhole) {
      if (state?.hasEnded === true) this.#fault('foreign', part, line, 'the chain had ended before it')
      else if (state !== undefined) state.torn = bytes.length
      return
    }
    const place = placeOf(bytes)
    const digest = digestOfLine(bytes)
    if (place === undefined) this.#fault('unreadable', part, line, 'this line is not a receipt')
    else if (place.chain !== chain) this.#fault('foreign', part, line, `this line belongs to the chain ${place.chain}`)
    else {
      this.#follow(part, line, place, state)
      this.#count(part, line, place)
    }
    const seq = place?.chain === chain ? place.seq : (state?.last.seq ?? 0) + 1
    this.#states.set(chain, {
      first: state?.first ?? seq,
      last: { chain, day, seq, digest },
      torn: 0,
      hasEnded: place?.kind === 'end',
    })
    const end = this.#ends.get(chain)
    if (end?.seq === seq && (end.digest !== digest || end.day !== day))
      this.#fault('changed', part, line, 'it is not the line that the note of the chain names')
  }

  /** Behind its lines. A process that is killed may leave none, but a note of its chain. */
  checkPart(part: Part): void {
    if (!this.#states.has(part.chain) && !this.#ends.has(part.chain))
      this.#fault('foreign', part, undefined, 'it has no receipt, and no chain has its name')
  }

  #follow(part: Part, line: number, place: ReceiptPlace, state: State | undefined): void {
    if (line === 1 && place.kind !== 'open')
      this.#fault(
        'missing',
        part,
        line,
        `the first lines of this file are missing: this one is number ${place.seq} of its chain`,
      )
    if (state === undefined) return
    const { last } = state
    if (place.seq === last.seq + 1) {
      if (place.prev !== last.digest) this.#fault('changed', part, line, `the line before it (${last.seq}) was changed`)
    } else if (place.seq <= last.seq) this.#fault('reordered', part, line, `line ${place.seq} follows line ${last.seq}`)
    else this.#fault('missing', part, line, `${place.seq - last.seq - 1} lines before it are missing`)
    if (state.torn > 0) this.#fault('changed', part, line, 'an unfinished line is before it')
    if (state.hasEnded) this.#fault('foreign', part, line, 'the chain had ended before it')
  }

  #count(part: Part, line: number, place: ReceiptPlace): void {
    if (place.kind === 'request' || place.kind === 'task') this.#receipts++
    this.#lost += place.lost ?? 0
    if (place.kind !== 'open') return
    const opening = place as OpeningLine
    const { dropped } = opening
    if (typeof dropped === 'string' && dropped > this.#dropped) this.#dropped = dropped
    const { after } = opening
    if (after === undefined) {
      if (place.prev !== NO_LINE || place.seq !== 1) this.#fault('changed', part, line, 'it names no line before it')
      return
    }
    if (!isEnd(after)) this.#fault('changed', part, line, 'what it says of the line before it cannot be read')
    else if (after.digest !== place.prev) this.#fault('changed', part, line, 'it names two different lines before it')
    else if (this.#openings.length < MAX_CHAINS) this.#openings.push({ part, opening })
  }

  #fault(fault: FaultName, { chain, day }: Part, line: number | undefined, message: string): void {
    this.#faulty++
    if (this.#faults.length < MAX_FAULTS)
      this.#faults.push({ fault, chain, day, ...(line === undefined ? {} : { line }), message })
  }

  report(): ReceiptReport {
    const continued = new Set<string>()
    for (const { part, opening } of this.#openings) {
      if (opening.after !== undefined) this.#checkFormer(part, opening, opening.after, continued)
    }
    for (const end of this.#ends.values()) this.#checkEnd(end)
    for (const [chain, { last }] of this.#states) {
      if (!this.#ends.has(chain)) this.#fault('truncated', last, undefined, 'the note of its last line is missing')
    }
    const states = [...this.#states.values()]
    return {
      receipts: this.#receipts,
      chains: states.length,
      days: this.#days.size,
      faulty: this.#faulty,
      faults: this.#faults,
      lost: this.#lost,
      torn: states.filter(({ torn }) => torn > 0).length,
      ends: states.flatMap(({ last }) => (continued.has(last.chain) ? [] : [last])),
    }
  }

  /** The line that a file continues, on an earlier day or in the chain of an earlier process. */
  #checkFormer(part: Part, opening: OpeningLine, after: ChainEnd, continued: Set<string>): void {
    if (after.chain !== part.chain) continued.add(after.chain)
    if (after.day <= this.#dropped) return
    const state = this.#states.get(after.chain)
    const name = `line ${after.seq} of ${after.chain}, ${after.day}`
    if (state === undefined || state.first > after.seq)
      this.#fault('missing', part, 1, `${name}, which it continues, is missing with its file`)
    else if (state.last.seq < after.seq)
      this.#fault('truncated', after, undefined, `${name}, which ${part.chain} continues, is missing`)
    else if (state.last.seq === after.seq && state.last.digest !== after.digest)
      this.#fault('changed', after, undefined, `${name}, is not the one that ${part.chain} continues`)
    else if (after.chain === part.chain && opening.seq !== after.seq + 1)
      this.#fault('changed', part, 1, 'its number does not follow')
  }

  #checkEnd(end: ChainEnd): void {
    const state = this.#states.get(end.chain)
    if (!Number.isSafeInteger(end.seq))
      this.#fault('unreadable', end, undefined, 'the note of its last line was changed')
    else if (end.seq === 0 || end.day <= this.#dropped) return
    else if (state === undefined) this.#fault('missing', end, undefined, 'all files of this chain are missing')
    else if (state.last.seq < end.seq)
      this.#fault('truncated', end, undefined, `${end.seq - state.last.seq} lines at its end are missing`)
  }
}

/** What was changed may be anything. */
function isEnd(end: unknown): end is ChainEnd {
  if (typeof end !== 'object' || end === null || !('chain' in end && 'day' in end && 'seq' in end && 'digest' in end))
    return false
  return [end.chain, end.day, end.digest].every(text => typeof text === 'string') && Number.isSafeInteger(end.seq)
}
