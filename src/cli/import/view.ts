import type { Document } from '../../config/document.js'
import { looksLikeKey } from '../../config/secret-lines.js'
import { isObject, type Json } from '../../core/json.js'
import { type DocumentPath, pathText } from '../../core/path-text.js'
import type { Finding, Mark } from './findings.js'

/** What has been read of a file, and what was found. */
export class Reading {
  readonly findings: Finding[] = []
  readonly #read = new Set<string>()
  /** What was read as a number, and is not one. */
  readonly notNumbers: View[] = []
  readonly document: Document

  constructor(document: Document) {
    this.document = document
  }

  mark(path: DocumentPath): void {
    this.#read.add(pathText(path))
  }

  isRead(path: DocumentPath): boolean {
    return this.#read.has(pathText(path))
  }

  /** The outermost values that no reader asked for. */
  *unread(path: DocumentPath, value: Json): Generator<DocumentPath> {
    if (this.isRead(path)) return
    const members = isObject(value) ? Object.entries(value) : Array.isArray(value) ? [...value.entries()] : []
    const isEntered = path.length === 0 || [...this.#read].some(one => isBelow(one, pathText(path)))
    if (!isEntered || members.length === 0) {
      if (path.length > 0) yield path
      return
    }
    for (const [name, inner] of members) yield* this.unread([...path, name], inner)
  }
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder) && /^[.[]/.test(path.slice(folder.length))
}

/** Numbers may have `_` between digits, as in YAML 1.1. */
export function numberIn(text: string): number | undefined {
  const plain = /^[+-]?\d[\d_]*(\.[\d_]+)?$/.test(text) ? text.replaceAll('_', '') : text
  const number = plain.trim() === '' ? Number.NaN : Number(plain)
  return Number.isFinite(number) ? number : undefined
}

/** A value of a foreign file with its place. What is asked for counts as read. */
export class View {
  readonly reading: Reading
  readonly path: DocumentPath
  readonly value: Json | undefined

  constructor(reading: Reading, path: DocumentPath, value: Json | undefined) {
    this.reading = reading
    this.path = path
    this.value = value
  }

  child(...names: readonly string[]): View {
    let value = this.value
    for (const name of names) value = isObject(value) ? value[name] : undefined
    return new View(this.reading, [...this.path, ...names], value)
  }

  get exists(): boolean {
    return this.value !== undefined && this.value !== null
  }

  items(): readonly View[] {
    if (!Array.isArray(this.value)) return []
    if (this.value.length === 0) this.reading.mark(this.path)
    return this.value.map((item, at) => new View(this.reading, [...this.path, at], item))
  }

  entries(): readonly (readonly [string, View])[] {
    if (!isObject(this.value)) return []
    return Object.keys(this.value).map(name => [name, this.child(name)] as const)
  }

  /** Text, or a number or flag as text. */
  text(): string | undefined {
    const { value } = this
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
    this.reading.mark(this.path)
    return String(value)
  }

  number(): number | undefined {
    const text = this.text()
    const number = text === undefined ? undefined : numberIn(text)
    if (text !== undefined && number === undefined) this.reading.notNumbers.push(this)
    return number
  }

  flag(): boolean | undefined {
    const text = this.text()?.toLowerCase()
    return text === 'true' ? true : text === 'false' ? false : undefined
  }

  texts(): readonly string[] {
    return this.items().flatMap(item => item.text() ?? [])
  }

  /** The whole value, which then counts as read. */
  take(): Json | undefined {
    if (this.exists) this.reading.mark(this.path)
    return this.value
  }

  find(mark: Mark, message: string): void {
    this.reading.mark(this.path)
    const { position } = this.reading.document.spot(this.path, 'key')
    this.reading.findings.push({ mark, position, path: pathText(this.path), message })
  }

  /** The comments above the value, and behind its first line. */
  comments(): readonly string[] {
    const { document } = this.reading
    const { line } = document.spot(this.path, 'key').position
    const above: string[] = []
    for (let at = line - 1; at > 0; at--) {
      const text = /^\s*#\s?(.*)$/.exec(document.source.line(at))?.[1]
      if (text === undefined) break
      above.unshift(text)
    }
    const behind = /(?:^|[^"'\s].*|\s)\s#\s?([^"']*)$/.exec(document.source.line(line))?.[1]
    return [...above, ...(behind === undefined ? [] : [behind])].filter(text => !looksLikeKey(text))
  }
}
