import { CLOSE_BRACE, LOWER_N, OPEN_BRACE, SPACE } from '../core/ascii.js'
import { asBuffer } from './bytes.js'
import { type Container, type Item, JsonCursor } from './json-cursor.js'
import { Editor } from './json-editor.js'
import { EVERY, type Path, starsOf } from './json-path.js'
import { apply, type Edit, removals } from './json-splice.js'

export { type Path, parsePath } from './json-path.js'
export { apply, type Edit, edited } from './json-splice.js'

/**
 * Lossless edits of a complete JSON document: everything that an edit does not name stays byte for byte. An edit with
 * nothing to do returns the same document. All throw `SyntaxError` if the document is not a JSON object or array.
 *
 * In paths, `*` is every array element and every object member. If a name on the path is duplicated within one object the
 * last one counts, as for `JSON.parse`. An edit removes the others, so that no parser can read what the edit did not reach.
 */

/** Byte offsets of a value, and of its key with quotes if it is an object member. */
interface Location {
  readonly start: number
  readonly end: number
  readonly keyStart?: number
  readonly keyEnd?: number
}

/** Offsets of the value at `path`, which has no `*`. */
export function findValue(doc: Uint8Array, path: Path): Location | undefined {
  const editor = new Editor(doc)
  if (path.length === 0) return { start: editor.top.start, end: editor.top.end }
  for (const { container, item } of editor.places(path)) {
    return container.object ? item : { start: item.start, end: item.end }
  }
  return undefined
}

/**
 * Sets the values at `path` to `json`, which must be JSON text. Missing objects on the path are created, except for `*`.
 * The document stays unchanged if the path leads through a scalar or to a missing array element and, with `absent`, if
 * there is a value already, even null.
 */
export function setValue(
  doc: Uint8Array,
  path: Path,
  json: Uint8Array | string,
  when: 'always' | 'absent',
): Uint8Array {
  const editor = new Editor(doc)
  const { top } = editor
  const value = typeof json === 'string' ? Buffer.from(json) : asBuffer(json)
  if (path.length === 0) return when === 'always' ? splice(doc, top.start, top.end, value) : doc
  const put = (container: Container, depth: number): void => {
    const items = editor.items(container, path[depth] ?? '')
    if (items.length === 0 && container.object && !path.includes(EVERY, depth))
      insert(editor, container, path.slice(depth), value)
    for (const item of items) {
      const inner = depth < path.length - 1 ? editor.inner(item) : undefined
      if (inner !== undefined) put(inner, depth + 1)
      else if (depth === path.length - 1 && when === 'always') editor.replace(item.start, item.end, value)
    }
  }
  put(top, 0)
  return editor.result()
}

/** Replaces each value at `path` by the JSON text that `change` returns for its source text; undefined leaves it. */
export function changeValues(doc: Uint8Array, path: Path, change: (written: Buffer) => string | undefined): Uint8Array {
  const editor = new Editor(doc)
  for (const { item } of editor.places(path)) {
    const next = change(editor.cursor.doc.subarray(item.start, item.end))
    if (next !== undefined) editor.replace(item.start, item.end, Buffer.from(next))
  }
  return editor.result()
}

/** Removes the members or array elements at `path`, each with its comma; the elements after them move up. */
export function removeMember(doc: Uint8Array, path: Path): Uint8Array {
  const editor = new Editor(doc)
  for (const { container, item } of editor.places(path)) editor.remove(container, item)
  return editor.result()
}

/** The same, only for values at `path` that `isOut` selects. */
export function removeWhere(doc: Uint8Array, path: Path, isOut: (written: Buffer) => boolean): Uint8Array {
  const editor = new Editor(doc)
  for (const { container, item } of editor.places(path)) {
    if (isOut(editor.cursor.doc.subarray(item.start, item.end))) editor.remove(container, item)
  }
  return editor.result()
}

/**
 * Renames the value at `from` to `to` and drops the old value of `to`. Within one object only the key's bytes change.
 * Otherwise the value's bytes move, and array indices in `to` count as if `from` were removed. The document stays unchanged
 * if there is nothing at `from`, or no way to `to` (as for {@link setValue}). With `*` both paths are equal up to their
 * last `*`, see {@link within}.
 */
export function renameMember(doc: Uint8Array, from: Path, to: Path): Uint8Array {
  return within(doc, from, (part, rest) => move(part, rest, to.slice(from.length - rest.length)))
}

/**
 * As {@link renameMember}, but an existing value at `to` wins and the one at `from` is dropped. Null counts as no value:
 * clients write it for unset options.
 */
export function aliasMember(doc: Uint8Array, from: Path, to: Path): Uint8Array {
  return within(doc, from, (part, rest) => {
    const target = to.slice(from.length - rest.length)
    const there = findValue(part, target)
    const isThere = there !== undefined && asBuffer(part)[there.start] !== LOWER_N
    return isThere ? removeMember(part, rest) : move(part, rest, target)
  })
}

/**
 * Applies `edit` to each object and array at the last `*` of a path, with the rest of the path; to the whole document if
 * the path has no `*`.
 */
export function within(doc: Uint8Array, path: Path, edit: (part: Uint8Array, rest: Path) => Uint8Array): Uint8Array {
  const stars = starsOf(path)
  const rest = path.slice(stars)
  if (stars === 0) return edit(doc, rest)
  const editor = new Editor(doc)
  for (const { start, end } of editor.containers(path.slice(0, stars))) {
    const part = editor.cursor.doc.subarray(start, end)
    const next = edit(part, rest)
    if (next !== part) editor.replace(start, end, next)
  }
  return editor.result()
}

function move(doc: Uint8Array, from: Path, to: Path): Uint8Array {
  const editor = new Editor(doc)
  const [place] = editor.places(from)
  const name = to.at(-1)
  if (place === undefined || name === undefined || isSame(from, to)) return editor.result()
  const { container, item } = place
  if (!container.object || !isSame(from.slice(0, -1), to.slice(0, -1))) {
    const value = editor.cursor.doc.subarray(item.start, item.end)
    const once = withoutDoubles(editor.result(), container.object ? to : beforeRemoval(to, from))
    const rest = removeMember(once, from)
    const moved = setValue(rest, to, value, 'always')
    return moved === rest ? once : moved
  }
  for (const lost of editor.cursor.named(container, name)) editor.remove(container, lost)
  editor.replace(item.keyStart, item.keyEnd, Buffer.from(JSON.stringify(name)))
  return editor.result()
}

/** Adjusts a path whose indices count as if the array element at `from` were gone, for use while it is still there. */
function beforeRemoval(path: Path, from: Path): Path {
  const depth = from.length - 1
  if (path.length <= depth || !isSame(from.slice(0, depth), path.slice(0, depth))) return path
  const index = Number(path[depth])
  return index >= Number(from[depth]) ? path.with(depth, String(index + 1)) : path
}

/** The document with duplicates of the names on the path removed. */
function withoutDoubles(doc: Uint8Array, path: Path): Uint8Array {
  const editor = new Editor(doc)
  Array.from(editor.places(path))
  return editor.result()
}

/** Removes top-level members and sets another one to `json`, in one pass. */
export function replaceMembers(doc: Uint8Array, removed: readonly string[], name: string, json: string): Uint8Array {
  const cursor = new JsonCursor(asBuffer(doc))
  const root = cursor.root()
  const gone = new Set([...removed, name].flatMap(one => cursor.named(root, one)))
  const at = root.start + 1
  const comma = root.items.length > gone.size ? ',' : ''
  const bytes = Buffer.from(`${JSON.stringify(name)}:${json}${comma}`)
  return apply(cursor.doc, [{ start: at, end: at, bytes }, ...removals(root, gone)])
}

/** An edit that inserts a member before all others of a known JSON object, without reading the rest. */
export function firstMember(doc: Uint8Array, name: string, json: string): Edit {
  const at = doc.indexOf(OPEN_BRACE) + 1
  const next = doc.subarray(at).find(byte => byte > SPACE)
  const bytes = Buffer.from(`${JSON.stringify(name)}:${json}${next === CLOSE_BRACE ? '' : ','}`)
  return { start: at, end: at, bytes }
}

/**
 * Edits that set the value at `path`, which has no `*`, as {@link setValue} does; but a scalar on the way becomes an object. None if
 * the document is not an object.
 */
export function settingValue(doc: Uint8Array, path: Path, json: string): readonly Edit[] {
  const name = path.at(-1)
  if (name === undefined) return []
  const there = findValue(doc, path)
  if (there !== undefined) return [{ start: there.start, end: there.end, bytes: Buffer.from(json) }]
  const outer = path.slice(0, -1)
  const object = findValue(doc, outer)
  if (object === undefined || doc[object.start] !== OPEN_BRACE)
    return settingValue(doc, outer, `{${JSON.stringify(name)}:${json}}`)
  const { start, bytes } = firstMember(doc.subarray(object.start, object.end), name, json)
  return [{ start: object.start + start, end: object.start + start, bytes }]
}

/** Removes everything except the values at the paths. */
export function keepMembers(doc: Uint8Array, paths: readonly Path[]): Uint8Array {
  const editor = new Editor(doc)
  const keep = (container: Container, wanted: readonly Path[]): void => {
    const kept = new Map<Item, Path[]>()
    for (const [segment = '', ...rest] of wanted) {
      for (const item of editor.items(container, segment)) kept.set(item, [...(kept.get(item) ?? []), rest])
    }
    for (const item of container.items) {
      const further = kept.get(item)
      if (further?.some(rest => rest.length === 0)) continue
      const inner = further && editor.inner(item)
      if (further === undefined || inner === undefined) editor.remove(container, item)
      else keep(inner, further)
    }
  }
  keep(editor.top, paths)
  return editor.result()
}

/** Wraps each value at `path` (the document if the path is empty) in an object, as its member `name`. */
export function wrapValue(doc: Uint8Array, path: Path, name: string): Uint8Array {
  const editor = new Editor(doc)
  const values = path.length === 0 ? [editor.top] : Array.from(editor.places(path), ({ item }) => item)
  for (const { start, end } of values) {
    editor.replace(start, start, Buffer.from(`{${JSON.stringify(name)}:`))
    editor.replace(end, end, Buffer.from('}'))
  }
  return editor.result()
}

/** A copy of the document with the bytes from `start` to `end` replaced. */
export function splice(doc: Uint8Array, start: number, end: number, bytes: Uint8Array): Uint8Array {
  return apply(asBuffer(doc), [{ start, end, bytes }])
}

function isSame(one: Path, other: Path): boolean {
  return one.length === other.length && one.every((segment, index) => segment === other[index])
}

/** Appends a member with the value, creating the missing objects around it. */
function insert(editor: Editor, container: Container, path: Path, value: Buffer): void {
  const last = container.items.at(-1)
  const keys = path.map(name => `${JSON.stringify(name)}:`)
  const at = last?.end ?? container.start + 1
  const opening = Buffer.from(`${last === undefined ? '' : ','}${keys.join('{')}`)
  editor.replace(at, at, Buffer.concat([opening, value, Buffer.from('}'.repeat(keys.length - 1))]))
}
