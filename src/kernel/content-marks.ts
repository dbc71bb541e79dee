/**
 * A piece of content in a stream's bytes: a member with text, arguments of a tool or data that is not empty. One list for all
 * protocols, since none uses these members for anything else in its streams.
 */
const PIECE =
  /"(?:content|text|delta|thinking|reasoning|reasoning_content|refusal|arguments|partial_json|transcript|b64_json|data|input|bytes)"\s*:\s*"[^"]|"functionCall"\s*:/g

/** Longest part of a mark that the end of a chunk may cut off, characters. */
const MAX_CUT = 40

/** The beginning of a line with data, or of the name of a binary message. */
const EVENT = /[\r\n]data:|:(?:event|exception)-type/
const EVENT_CHARS = ':exception-type'.length

/** Counts the pieces of content of a stream, wherever its chunks are cut. */
export class PieceCounter {
  count = 0
  #cut = ''

  push(chunk: Buffer): void {
    const text = this.#cut + chunk.toString('latin1')
    this.count += countIn(text, this.#cut.length)
    this.#cut = text.slice(-MAX_CUT)
  }
}

/** Finds the first event of a stream that is more than a comment, wherever its chunks are cut. */
export class EventFinder {
  found = false
  #cut = '\n'

  push(chunk: Buffer): void {
    if (this.found) return
    const text = this.#cut + chunk.toString('latin1')
    this.found = EVENT.test(text)
    this.#cut = text.slice(-EVENT_CHARS)
  }
}

/** Those that end behind this place. */
function countIn(text: string, from: number): number {
  let count = 0
  for (const { index, 0: found } of text.matchAll(PIECE)) if (index + found.length > from) count++
  return count
}
