import { EVERY, type Path } from './json-path.js'
import type { Edit } from './json-splice.js'
import { valueEdits } from './multipart-edit.js'
import { type FormField, type FormPart, readings } from './multipart-form.js'
import { MultipartError } from './multipart-problems.js'
import { parseParameters } from './parameters.js'

/** A form and the positions of its parts. Offsets are absolute, in bytes. */
export interface ReadForm {
  readonly boundary: string
  /** In the order of the body. */
  readonly parts: readonly ReadPart[]
  /** Start of the closing boundary line, including the CRLF before it. */
  readonly close: number
  /** Whether the body begins with a boundary, without a CRLF before it. */
  readonly bare: boolean
}

interface ReadPart {
  readonly part: FormPart
  /** The part, if it is a text field. */
  readonly field: FormField | undefined
  /** Start of its boundary line, including the CRLF before it. */
  readonly from: number
}

/** A part and its planned change. */
interface Changed extends ReadPart {
  name: string
  value: string | undefined
  isOut: boolean
}

/** A text field that the form did not have. */
interface Added {
  readonly name: string
  readonly value: string
  /** The part that it is before; absent: behind all parts. */
  readonly before?: Changed
}

/** A part that stays, or a field that was added. */
interface Sent {
  readonly part?: Changed
  readonly added?: Added
}

const CRLF_BYTES = 2

/** Collects successive changes of a form and computes the resulting edits of its bytes. */
export class MultipartChanges {
  readonly #form: ReadForm
  readonly #parts: readonly Changed[]
  /** In the order in which they are sent, of those at one place. */
  #added: readonly Added[] = []
  /** Names that are lists even if they occur once. */
  readonly #lists = new Set<string>()

  constructor(form: ReadForm) {
    this.#form = form
    this.#parts = form.parts.map(part => ({ ...part, name: part.part.name, value: undefined, isOut: false }))
  }

  has(name: string): boolean {
    return this.values(name).length > 0
  }

  set(name: string, value: string): void {
    const [first] = this.named(name)
    const isText = first?.field?.value !== undefined
    for (const part of this.at([name])) part.isOut = part !== first || !isText
    this.#added = this.#added.filter(one => one.name !== name)
    this.#lists.delete(name)
    if (isText) first.value = value
    else this.add(name, value)
  }

  isList(name: string): boolean {
    const { length } = this.values(name)
    return length > 1 || (length === 1 && this.#lists.has(name))
  }

  list(name: string): void {
    this.#lists.add(name)
  }

  add(name: string, value: string, index = Number.POSITIVE_INFINITY): void {
    const { part, added } = this.sequence(name)[index] ?? {}
    const before = part ?? added?.before
    const one = before === undefined ? { name, value } : { name, value, before }
    this.#added = this.#added.toSpliced(added === undefined ? this.#added.length : this.#added.indexOf(added), 0, one)
  }

  rename(from: string, to: string): void {
    const parts = this.named(from)
    const added = this.#added.filter(({ name }) => name === from)
    if (from === to || (parts.length === 0 && added.length === 0)) return
    this.remove([to])
    for (const part of parts) {
      part.name = to
      part.isOut = false
    }
    this.#added = this.#added.map(one => (one.name === from ? { ...one, name: to } : one))
    if (this.#lists.delete(from)) this.#lists.add(to)
    else this.#lists.delete(to)
  }

  remove(path: Path): void {
    for (const part of this.at(path)) part.isOut = true
    this.#added = this.#added.filter(({ name }) => !isBelow([name], path))
  }

  keep(paths: readonly Path[]): void {
    const isKept = (name: string): boolean => paths.some(path => isBelow([name], path) || isBelow(pathOf(name), path))
    for (const part of this.#parts) part.isOut ||= !isKept(part.name)
    this.#added = this.#added.filter(({ name }) => isKept(name))
  }

  /** Of a text field, as it is sent. */
  value(name: string): string | undefined {
    return this.values(name)[0]
  }

  /** Of all parts with a name, as they are sent; undefined for a file. */
  values(name: string): readonly (string | undefined)[] {
    return this.sequence(name).map(({ part, added }) => added?.value ?? part?.value ?? part?.field?.value)
  }

  /** Throws {@link MultipartError} if the body cannot represent the value. */
  edits(): readonly Edit[] {
    const { boundary } = this.#form
    const kept = this.#parts.filter(part => !part.isOut)
    const changed = kept.flatMap(({ part, field, name, value }) => [
      ...(name === part.name ? [] : nameEdits(part, name, boundary)),
      ...(value === undefined || field === undefined || field.value === value
        ? []
        : valueEdits(field, value, boundary)),
    ])
    return [...changed, ...this.removals(), ...this.additions()]
  }

  /** Parts with a name and what was added to them, as they are sent. */
  private sequence(name: string): readonly Sent[] {
    const added = this.#added.filter(one => one.name === name)
    const parts = this.#parts.flatMap((part): readonly Sent[] => {
      const before = added.filter(one => one.before === part).map(one => ({ added: one }))
      return !part.isOut && part.name === name ? [...before, { part }] : before
    })
    return [...parts, ...added.filter(one => one.before === undefined).map(one => ({ added: one }))]
  }

  private named(name: string): readonly Changed[] {
    return this.#parts.filter(part => !part.isOut && part.name === name)
  }

  /** The parts that some reader finds at a path or below it. */
  private at(path: Path): readonly Changed[] {
    return this.#parts.filter(part => !part.isOut && readingsOf(part).some(reading => isBelow(reading, path)))
  }

  /** The edits that remove parts, each with the boundary before it. */
  private removals(): readonly Edit[] {
    const edits: { start: number; end: number; bytes: Buffer }[] = []
    for (const { part, from, isOut } of this.#parts) {
      const last = edits.at(-1)
      if (!isOut) continue
      if (last?.end === from) last.end = part.end
      else edits.push({ start: from, end: part.end, bytes: Buffer.alloc(0) })
    }
    const first = edits[0]
    // The following part now begins the body, which the CRLF before its boundary must not.
    if (this.#form.bare && first?.start === 0) first.end += CRLF_BYTES
    return edits
  }

  private additions(): readonly Edit[] {
    if (this.#added.length === 0) return []
    const { close } = this.#form
    const edits: Edit[] = []
    let waiting: readonly Added[] = []
    let isFirst = true
    for (const part of this.#parts) {
      waiting = [...waiting, ...this.#added.filter(one => one.before === part)]
      if (part.isOut) continue
      edits.push(...this.addition(waiting, part.from, isFirst))
      waiting = []
      isFirst = false
    }
    return [...edits, ...this.addition([...waiting, ...this.#added.filter(one => !one.before)], close, isFirst)]
  }

  /** Fields before the boundary line that begins there. `isFirst`: no part is sent before them. */
  private addition(added: readonly Added[], at: number, isFirst: boolean): readonly Edit[] {
    const { boundary, bare } = this.#form
    if (added.length === 0) return []
    const parts = added.map(({ name, value }) => {
      refuseBoundary(`${name}\n${value}`, boundary)
      return `\r\n--${boundary}\r\ncontent-disposition: form-data; name="${escaped(name)}"\r\n\r\n${value}`
    })
    const text = parts.join('')
    if (!isFirst || !bare) return [{ start: at, end: at, bytes: Buffer.from(text) }]
    // The body begins with them. Where parts before the boundary line are removed, the CRLF before it goes too.
    const start = this.#parts.length === 0 || at === 0 ? at : at + CRLF_BYTES
    return [{ start, end: start, bytes: Buffer.from(`${text.slice(CRLF_BYTES)}\r\n`) }]
  }
}

/** The paths at which readers find a part: its name as written, and what its brackets mean. */
function readingsOf({ part, name }: Changed): readonly Path[] {
  // Once a part is renamed its original name no longer matters.
  const written = name === part.name ? (part.head.writtenName ?? name) : name
  return [[name], ...[...new Set(readings(name, written))].map(pathOf)]
}

/** `a[b][]` as `a`, `b` and an element; unbalanced brackets too, as some frameworks read them. */
function pathOf(name: string): Path {
  return name.split('[').map((segment, index) => (index === 0 ? segment.trim() : segment.replace(/\].*$/s, '')))
}

function isBelow(place: Path, path: Path): boolean {
  return path.length <= place.length && path.every((segment, index) => segment === EVERY || segment === place[index])
}

/** Edits that rename a part in its head; its file name and everything else there stay. */
function nameEdits({ head }: FormPart, name: string, boundary: string): readonly Edit[] {
  const header = head.headers.find(one => one.name === 'content-disposition')
  const written = parseParameters(header?.value ?? '')?.parameters.get('name')
  if (header === undefined || written === undefined) throw new Error('a part of a form has a name')
  refuseBoundary(name, boundary)
  const start = header.start + written.start
  return [{ start, end: header.start + written.end, bytes: Buffer.from(`"${escaped(name)}"`) }]
}

/** Escapes a name as browsers do. */
function escaped(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function refuseBoundary(text: string, boundary: string): void {
  if (`\n${Buffer.from(text).toString('latin1')}`.includes(`\n--${boundary}`)) {
    throw new MultipartError('value', 'The boundary of the body occurs in the new value of a field.')
  }
}
