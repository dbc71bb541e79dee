import { asBuffer } from './bytes.js'
import { type Container, JsonCursor } from './json-cursor.js'
import type { Path } from './json-path.js'

/**
 * Calls back for every string at a path, in which `*` is every array element and every object member. For an array of
 * strings at the path it calls back for each of them. All values of duplicate names are reported, so that none is visible
 * only to other parsers. Throws `SyntaxError` if the document is not a JSON object.
 */
export function stringsAt(doc: Uint8Array, path: Path, found: (text: string) => void): void {
  const cursor = new JsonCursor(asBuffer(doc))
  const walk = (container: Container, depth: number): void => {
    const segment = path[depth] ?? ''
    const name = Buffer.from(segment)
    for (const item of container.items) {
      if (segment !== '*' && !(container.object && cursor.isNamed(item, segment, name))) continue
      if (depth < path.length - 1) {
        if (cursor.isContainer(item.start)) walk(cursor.container(item.start), depth + 1)
        continue
      }
      const value: unknown = JSON.parse(cursor.doc.toString('utf8', item.start, item.end))
      const all: readonly unknown[] = Array.isArray(value) ? value : [value]
      for (const one of all) if (typeof one === 'string') found(one)
    }
  }
  walk(cursor.root(), 0)
}
