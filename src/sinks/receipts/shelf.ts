import type { ChainEnd } from '../../core/receipts.js'
import type { Line } from './lines.js'

/** All lines of a chain of one day. */
export interface Part {
  /** UTC, `2026-11-23`. */
  readonly day: string
  readonly chain: string
}

/** How the chain of the process before has ended. */
export interface Former {
  readonly end: ChainEnd
  /** Bytes of an unfinished line behind it. */
  readonly torn: number
}

/** Where receipts are kept: a folder, or a store. Each chain has one writer alone. */
export interface Shelf {
  /** Before each batch: makes what it needs anew if someone has removed it. */
  prepare(): Promise<void>
  /** The end of the chain that a new process of this slot continues. */
  former(slot: string): Promise<Former | undefined>
  /**
   * Adds whole lines, each with its line break, behind the part's others; all of them, or it rejects and none is added. Rejects once
   * if the others are no longer there.
   */
  append(part: Part, lines: Uint8Array, end: ChainEnd): Promise<void>
  /** Adds a line of sealed content that is removed after a day. */
  keepContent(until: string, chain: string, line: string): Promise<void>
  /** Removes parts of days before `first`. */
  dropBefore(first: string): Promise<void>
  /** Removes content whose last day is before `today`, unless it goes by itself. */
  dropContent(today: string): Promise<void>

  /** What is there, oldest day first; of a day by chain. */
  parts(): Promise<readonly Part[]>
  /** The lines of a part, without their breaks. The last one may be unfinished. */
  lines(part: Part): AsyncIterable<Line>
  /** For each chain, the last line that is known to be written. */
  ends(): Promise<readonly ChainEnd[]>
  /** Lines of sealed content of a chain. */
  contents(until: string, chain: string): AsyncIterable<Line>
  close(): Promise<void>
}

/** `worker1-1a2b3c4d`: a chain's id begins with the slot of its process. */
export function slotOf(chain: string): string {
  return chain.slice(0, chain.lastIndexOf('-'))
}
