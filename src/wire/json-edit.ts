import { asBuffer } from './bytes.js'
import { type Container, type Item, JsonCursor } from './json-cursor.js'
import type { Path } from './json-path.js'
import { apply, type Edit, removals } from './json-splice.js'

export { type Path, parsePath } from './json-path.js'
export { apply, type Edit, edited } from './json-splice.js'

/**
 * Lossless edits of a complete JSON document: whatever an edit does not name stays byte for byte as it was. An edit that
 * has nothing to do gives the very document back. All throw `SyntaxError` where the document is not a JSON object.
 *
 * Where a name stands several times in one object the last one counts, as for `JSON.parse`; an edit of that name removes
 * the others, so that no parser can read what the edit replaced.
 */

/** Offsets in bytes of a value, and of its key, quotes included, where it is a member of an object. */
export interface Location {
  readonly start: number
  readonly end: number
  readonly keyStart?: number
  readonly keyEnd?: number
}

/** Where the value at `path` stands. */
export function findValue(doc: Uint8Array, path: Path): Location | undefined {
  const cursor = new JsonCursor(asBuffer(doc))
  if (path.length === 0) {
    const { start, end } = cursor.root()
    return { start, end }
  }
  const place = locate(cursor, path)
  const item = place?.items.at(-1)
  if (place === undefined || item === undefined) return undefined
  return place.container.object ? item : { start: item.start, end: item.end }
}

/**
 * Sets the value at `path` to `json`, which has to be JSON text. Objects that are missing on the way are made. The
 * document stays as it is where the way leads through a scalar or to an array element that does not exist, and, with
 * `absent`, where there is a value already, be it null.
 */
export function setValue(
  doc: Uint8Array,
  path: Path,
  json: Uint8Array | string,
  when: 'always' | 'absent',
): Uint8Array {
  const cursor = new JsonCursor(asBuffer(doc))
  const value = typeof json === 'string' ? Buffer.from(json) : asBuffer(json)
  if (path.length === 0) {
    const { start, end } = cursor.root()
    return when === 'always' ? splice(doc, start, end, value) : doc
  }
  const place = locate(cursor, path)
  if (place === undefined) return doc
  const { container, items } = place
  const last = items.at(-1)
  if (last === undefined) return container.object ? apply(cursor.doc, [insertion(place, path, value)]) : doc
  if (when === 'absent') return doc
  return apply(cursor.doc, [
    ...removals(container, new Set(items.slice(0, -1))),
    { start: last.start, end: last.end, bytes: value },
  ])
}

/** Removes the member or array element at `path`, with its comma; an element's followers move up. */
export function removeMember(doc: Uint8Array, path: Path): Uint8Array {
  const cursor = new JsonCursor(asBuffer(doc))
  const place = locate(cursor, path)
  if (place === undefined || place.items.length === 0) return doc
  return apply(cursor.doc, removals(place.container, new Set(place.items)))
}

/**
 * Gives the value at `from` the name `to`, whose own value, if it has one, is lost. Within one object only the key's
 * bytes change; else the value's bytes move, and array indices in `to` count as if `from` were gone. The document stays
 * as it is where there is nothing at `from`, or no way to `to` (as for {@link setValue}).
 */
export function renameMember(doc: Uint8Array, from: Path, to: Path): Uint8Array {
  const cursor = new JsonCursor(asBuffer(doc))
  const place = locate(cursor, from)
  const item = place?.items.at(-1)
  const name = to.at(-1)
  if (place === undefined || item === undefined || name === undefined || isSame(from, to)) return doc
  if (!place.container.object || !isSame(from.slice(0, -1), to.slice(0, -1))) {
    const rest = removeMember(doc, from)
    const moved = setValue(rest, to, cursor.doc.subarray(item.start, item.end), 'always')
    return moved === rest ? doc : moved
  }
  const lost = [...place.items.slice(0, -1), ...named(cursor, place.container, name)]
  return apply(cursor.doc, [
    ...removals(place.container, new Set(lost)),
    { start: item.keyStart, end: item.keyEnd, bytes: Buffer.from(JSON.stringify(name)) },
  ])
}

/**
 * As {@link renameMember}, but where there is a value at `to` already, that one stays and the one at `from` is lost. Null is
 * no value: clients write it for what they were not told.
 */
export function aliasMember(doc: Uint8Array, from: Path, to: Path): Uint8Array {
  const there = findValue(doc, to)
  const isThere = there !== undefined && asBuffer(doc)[there.start] !== LETTER_N
  return isThere ? removeMember(doc, from) : renameMember(doc, from, to)
}

/** How null begins. */
const LETTER_N = 0x6e

/** Removes top-level members and sets another one to `json`, in one pass over the document. */
export function replaceMembers(doc: Uint8Array, removed: readonly string[], name: string, json: string): Uint8Array {
  const cursor = new JsonCursor(asBuffer(doc))
  const root = cursor.root()
  const gone = new Set([...removed, name].flatMap(one => named(cursor, root, one)))
  const at = root.start + 1
  const comma = root.items.length > gone.size ? ',' : ''
  const bytes = Buffer.from(`${JSON.stringify(name)}:${json}${comma}`)
  return apply(cursor.doc, [{ start: at, end: at, bytes }, ...removals(root, gone)])
}

const [BRACE, SPACE, END] = [0x7b, 0x20, 0x7d]

/** An edit that puts a member before all others of a document that is known to be an object, without reading the rest of it. */
export function firstMember(doc: Uint8Array, name: string, json: string): Edit {
  const at = doc.indexOf(BRACE) + 1
  const next = doc.subarray(at).find(byte => byte > SPACE)
  const bytes = Buffer.from(`${JSON.stringify(name)}:${json}${next === END ? '' : ','}`)
  return { start: at, end: at, bytes }
}

/** Removes every top-level member but those named. */
export function keepMembers(doc: Uint8Array, names: readonly string[]): Uint8Array {
  const cursor = new JsonCursor(asBuffer(doc))
  const root = cursor.root()
  const removed = new Set(root.items)
  for (const item of names.flatMap(name => named(cursor, root, name))) removed.delete(item)
  return removed.size === 0 ? doc : apply(cursor.doc, removals(root, removed))
}

/** Puts the value at `path` (the document, where it is empty) into an object, as its member `name`. */
export function wrapValue(doc: Uint8Array, path: Path, name: string): Uint8Array {
  const location = findValue(doc, path)
  if (location === undefined) return doc
  const { start, end } = location
  const bytes = Buffer.concat([
    Buffer.from(`{${JSON.stringify(name)}:`),
    asBuffer(doc).subarray(start, end),
    Buffer.from('}'),
  ])
  return splice(doc, start, end, bytes)
}

/**
 * Edits that replace strings at the paths, of which `*` is every element of an array, by what `replacement` gives for each;
 * where it gives undefined the string stays. Other values stay too.
 */
export function stringEdits(
  doc: Uint8Array,
  paths: readonly Path[],
  replacement: (text: string, place: Path) => string | undefined,
): readonly Edit[] {
  const cursor = new JsonCursor(asBuffer(doc))
  const edits: Edit[] = []
  const walk = (container: Container, path: Path, depth: number, place: Path): void => {
    const segment = path[depth] ?? ''
    const every = segment === '*' && !container.object
    const items = every ? container.items : named(cursor, container, segment)
    items.forEach((item, index) => {
      const here = [...place, every ? String(index) : segment]
      if (depth < path.length - 1) {
        if (cursor.isContainer(item.start)) walk(cursor.container(item.start), path, depth + 1, here)
        return
      }
      const value: unknown = JSON.parse(cursor.doc.toString('utf8', item.start, item.end))
      const next = typeof value === 'string' ? replacement(value, here) : undefined
      if (next !== undefined) edits.push({ start: item.start, end: item.end, bytes: Buffer.from(JSON.stringify(next)) })
    })
  }
  const root = cursor.root()
  for (const path of paths) walk(root, path, 0, [])
  return edits
}

/** A copy of the document with the bytes from `start` to `end` replaced. */
export function splice(doc: Uint8Array, start: number, end: number, bytes: Uint8Array): Uint8Array {
  return apply(asBuffer(doc), [{ start, end, bytes }])
}

interface Place {
  /** The deepest object or array on the way that exists. */
  readonly container: Container
  /** How many segments of the path lead to it. */
  readonly depth: number
  /** What stands there under the next segment, if that is the last one; the last item counts. */
  readonly items: readonly Item[]
}

/** Follows a path as far as it leads; `undefined` where it leads through a scalar, and for the empty path. */
function locate(cursor: JsonCursor, path: Path): Place | undefined {
  let container = cursor.root()
  for (const [depth, segment] of path.entries()) {
    const items = named(cursor, container, segment)
    const item = items.at(-1)
    if (item === undefined || depth === path.length - 1) return { container, depth, items }
    if (!cursor.isContainer(item.start)) return undefined
    container = cursor.container(item.start)
  }
  return undefined
}

/** The members of that name, or the array element of that index. */
function named(cursor: JsonCursor, { object, items }: Container, name: string): readonly Item[] {
  if (object) {
    const bytes = Buffer.from(name)
    return items.filter(item => cursor.isNamed(item, name, bytes))
  }
  const item = /^(0|[1-9]\d{0,8})$/.test(name) ? items[Number(name)] : undefined
  return item === undefined ? [] : [item]
}

function isSame(one: Path, other: Path): boolean {
  return one.length === other.length && one.every((segment, index) => segment === other[index])
}

/** A new last member that holds the value, within the objects that are missing. */
function insertion({ container, depth }: Place, path: Path, value: Buffer): Edit {
  const last = container.items.at(-1)
  const keys = path.slice(depth).map(name => `${JSON.stringify(name)}:`)
  const at = last?.end ?? container.start + 1
  const opening = Buffer.from(`${last === undefined ? '' : ','}${keys.join('{')}`)
  return { start: at, end: at, bytes: Buffer.concat([opening, value, Buffer.from('}'.repeat(keys.length - 1))]) }
}
