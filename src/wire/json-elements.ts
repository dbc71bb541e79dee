import { JsonCursor } from './json-cursor.js'

/** Where the elements of a JSON list are, byte offsets. Throws `SyntaxError` if the bytes are not JSON. */
export function elementsOf(list: Buffer): readonly { readonly start: number; readonly end: number }[] {
  return new JsonCursor(list).top().items
}
