import { CLOSE_BRACE, CLOSE_BRACKET, COMMA, OPEN_BRACKET } from '../core/ascii.js'
import { JsonCursor } from './json-cursor.js'

/** Byte offsets of a value in its document. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * The elements of the top-level list `name`, one by one, so that the reader may pause between them. Yields nothing if it is
 * not a list. The document must be a JSON object without duplicates of that member.
 */
export function* listElements(doc: Buffer, name: string): Generator<Span, void> {
  const cursor = new JsonCursor(doc)
  const list = valueAt(cursor, name)
  if (list === undefined || doc[list] !== OPEN_BRACKET) return
  let start = cursor.skipSpace(list + 1)
  if (doc[start] === CLOSE_BRACKET) return
  for (;;) {
    const end = cursor.skipValue(start)
    yield { start, end }
    const next = cursor.skipSpace(end)
    if (doc[next] !== COMMA) return
    start = cursor.skipSpace(next + 1)
  }
}

/** Start of a top-level member's value; nothing after it is read. */
function valueAt(cursor: JsonCursor, name: string): number | undefined {
  const { doc } = cursor
  let keyStart = cursor.skipSpace(cursor.skipSpace(0) + 1)
  while (doc[keyStart] !== CLOSE_BRACE) {
    const keyEnd = cursor.skipValue(keyStart)
    const start = cursor.skipSpace(cursor.skipSpace(keyEnd) + 1)
    if (JSON.parse(doc.toString('utf8', keyStart, keyEnd)) === name) return start
    const next = cursor.skipSpace(cursor.skipValue(start))
    if (doc[next] !== COMMA) return undefined
    keyStart = cursor.skipSpace(next + 1)
  }
  return undefined
}
