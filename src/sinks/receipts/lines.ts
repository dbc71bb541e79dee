/** Longest line that is read, bytes: a longer one is not a receipt. */
const MAX_LINE_BYTES = 4 * 1024 * 1024
/** What is given of such a line, bytes. */
const SHOWN_BYTES = 100

export interface Line {
  /** Without its break. */
  readonly bytes: Buffer
  /** False: it has no break, so it is unfinished. */
  readonly isWhole: boolean
}

/** Lines of bytes that come in pieces, without their breaks. The last one may be without a break: it is not whole. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Line, void, void> {
  let rest: Buffer[] = []
  let size = 0
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    let from = 0
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
      rest.push(bytes.subarray(from, at))
      yield { bytes: rest.length === 1 && rest[0] !== undefined ? rest[0] : Buffer.concat(rest), isWhole: true }
      rest = []
      size = 0
      from = at + 1
    }
    size += bytes.length - from
    if (size > MAX_LINE_BYTES) {
      yield { bytes: Buffer.concat(rest).subarray(0, SHOWN_BYTES), isWhole: true }
      rest = []
      size = 0
    } else if (from < bytes.length) rest.push(bytes.subarray(from))
  }
  if (size > 0) yield { bytes: Buffer.concat(rest), isWhole: false }
}
