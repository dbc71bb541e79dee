import { QUOTE } from '../core/ascii.js'
import { isObject, type Json } from '../core/json.js'
import { type MemberRule, memberName } from '../core/members.js'
import type { DocumentPath } from '../core/path-text.js'
import { asBuffer } from './bytes.js'
import { type Container, type Item, JsonCursor } from './json-cursor.js'
import type { Path } from './json-path.js'
import { type Edit, removals } from './json-splice.js'

/** Max nesting of messages that may name a model. Nothing else bounds it. */
const MAX_MESSAGE_DEPTH = 128

/** A string that a rule reads as a model's name. `start` and `end` are the offsets of its quotes, inclusive. */
export interface FoundName {
  readonly action: 'model' | 'same'
  readonly at: DocumentPath
  readonly text: string
  readonly start: number
  readonly end: number
}

/** What rules find in a document: every occurrence, including duplicate names. */
export interface FoundMembers {
  readonly names: readonly FoundName[]
  /** Members to refuse, and members that `removals` removes. */
  readonly refused: readonly DocumentPath[]
  readonly dropped: readonly DocumentPath[]
  readonly removals: readonly Edit[]
}

/** A rule, and how many names of its path have matched so far. */
interface Active {
  readonly rule: MemberRule
  readonly depth: number
}

/** Throws `SyntaxError` if the document is not a JSON object. The caller has bounded its nesting. */
export function findMembers(doc: Uint8Array, rules: readonly MemberRule[]): FoundMembers {
  const finder = new Finder(asBuffer(doc), false)
  finder.find(finder.cursor.root(), rules)
  return finder
}

/** The same for a tunnel message, which may also be a list: lists at any level are searched. */
export function findInMessage(doc: Uint8Array, rules: readonly MemberRule[]): FoundMembers {
  const finder = new Finder(asBuffer(doc), true)
  finder.find(finder.cursor.top(), rules)
  return finder
}

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

/** The same for parsed JSON. */
export function stringsIn(value: Json | undefined, [segment, ...rest]: Path, found: (text: string) => void): void {
  if (segment === undefined) {
    for (const one of Array.isArray(value) ? value : [value]) if (typeof one === 'string') found(one)
  } else if (typeof value === 'object' && value !== null) {
    const members = segment === '*' ? Object.values(value) : isObject(value) ? [value[segment]] : []
    for (const one of members) stringsIn(one, rest, found)
  }
}

class Finder implements FoundMembers {
  readonly cursor: JsonCursor
  readonly names: FoundName[] = []
  readonly refused: DocumentPath[] = []
  readonly dropped: DocumentPath[] = []
  readonly removals: Edit[] = []

  readonly #throughLists: boolean

  constructor(doc: Buffer, throughLists: boolean) {
    this.cursor = new JsonCursor(doc)
    this.#throughLists = throughLists
  }

  find(top: Container, rules: readonly MemberRule[]): void {
    const active = rules.map(rule => ({ rule, depth: 0 }))
    this.walk(top, active, [])
  }

  walk(container: Container, active: readonly Active[], at: DocumentPath): void {
    this.bound(at)
    const out = new Set<Item>()
    if (this.#throughLists && !container.object) {
      for (const [index, { start }] of container.items.entries()) {
        if (this.cursor.isContainer(start)) this.walk(this.cursor.container(start), active, [...at, index])
      }
      return
    }
    for (const [index, item] of container.items.entries()) {
      const key = container.object ? this.text(item.keyStart, item.keyEnd) : index
      const name = typeof key === 'string' ? memberName(key) : undefined
      const next = active.filter(({ rule, depth }) => rule.path[depth] === '*' || rule.path[depth] === name)
      const met = next.find(({ rule, depth }) => depth === rule.path.length - 1)
      const here = next.length === 0 ? at : [...at, key]
      if (met === undefined) this.descend(item, next, here)
      else if (this.apply(met.rule, item, here)) out.add(item)
    }
    this.removals.push(...removals(container, out))
  }

  private descend(item: Item, next: readonly Active[], at: DocumentPath): void {
    if (next.length === 0 || !this.cursor.isContainer(item.start)) return
    const deeper = next.map(({ rule, depth }) => ({ rule, depth: depth + 1 }))
    this.walk(this.cursor.container(item.start), deeper, at)
  }

  /** True if the item should be removed. */
  private apply({ action }: MemberRule, item: Item, at: DocumentPath): boolean {
    if (action === 'refuse') this.refused.push(at)
    else if (action === 'drop') this.dropped.push(at)
    else this.namesIn(item, action, at)
    return action === 'drop'
  }

  private namesIn({ start, end }: Item, action: FoundName['action'], at: DocumentPath): void {
    this.bound(at)
    if (this.cursor.isContainer(start)) {
      const { items, object } = this.cursor.container(start)
      for (const [index, item] of items.entries()) {
        this.namesIn(item, action, [...at, object ? this.text(item.keyStart, item.keyEnd) : index])
      }
    } else if (this.cursor.doc[start] === QUOTE) {
      this.names.push({ action, at, text: this.text(start, end), start, end })
    }
  }

  private bound(at: DocumentPath): void {
    if (this.#throughLists && at.length > MAX_MESSAGE_DEPTH) throw new SyntaxError('the message is nested too deep')
  }

  private text(start: number, end: number): string {
    return String(JSON.parse(this.cursor.doc.toString('utf8', start, end)))
  }
}
