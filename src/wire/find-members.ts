import { type MemberRule, memberName } from '../core/members.js'
import type { DocumentPath } from '../core/path-text.js'
import { asBuffer } from './bytes.js'
import { type Container, type Item, JsonCursor } from './json-cursor.js'
import { type Edit, removals } from './json-splice.js'

const QUOTE = 0x22

/** A text that a rule takes for a model's name. `start` and `end` are the offsets of its quotes, both included. */
export interface FoundName {
  readonly action: 'model' | 'same'
  readonly at: DocumentPath
  readonly text: string
  readonly start: number
  readonly end: number
}

/** What rules find in a document: all occurrences, also of names that stand twice. */
export interface FoundMembers {
  readonly names: readonly FoundName[]
  /** Members that are refused, and those that `removals` take out. */
  readonly refused: readonly DocumentPath[]
  readonly dropped: readonly DocumentPath[]
  readonly removals: readonly Edit[]
}

/** A rule, and how many names of its path lead to where we are. */
interface Active {
  readonly rule: MemberRule
  readonly depth: number
}

/** Throws `SyntaxError` where the document is not a JSON object. Its nesting has been bounded. */
export function findMembers(doc: Uint8Array, rules: readonly MemberRule[]): FoundMembers {
  const finder = new Finder(asBuffer(doc))
  finder.walk(
    finder.cursor.root(),
    rules.map(rule => ({ rule, depth: 0 })),
    [],
  )
  return finder
}

class Finder implements FoundMembers {
  readonly cursor: JsonCursor
  readonly names: FoundName[] = []
  readonly refused: DocumentPath[] = []
  readonly dropped: DocumentPath[] = []
  readonly removals: Edit[] = []

  constructor(doc: Buffer) {
    this.cursor = new JsonCursor(doc)
  }

  walk(container: Container, active: readonly Active[], at: DocumentPath): void {
    const out = new Set<Item>()
    for (const [index, item] of container.items.entries()) {
      const key = container.object ? this.text(item.keyStart, item.keyEnd) : index
      const name = typeof key === 'string' ? memberName(key) : undefined
      const next = active.filter(({ rule, depth }) => rule.path[depth] === '*' || rule.path[depth] === name)
      const met = next.find(({ rule, depth }) => depth === rule.path.length - 1)
      const here = next.length === 0 ? at : [...at, key]
      if (met === undefined) this.descend(item, next, here)
      else if (this.meet(met.rule, item, here)) out.add(item)
    }
    this.removals.push(...removals(container, out))
  }

  private descend(item: Item, next: readonly Active[], at: DocumentPath): void {
    if (next.length === 0 || !this.cursor.isContainer(item.start)) return
    const deeper = next.map(({ rule, depth }) => ({ rule, depth: depth + 1 }))
    this.walk(this.cursor.container(item.start), deeper, at)
  }

  /** True where the item is to be taken out. */
  private meet({ action }: MemberRule, item: Item, at: DocumentPath): boolean {
    if (action === 'refuse') this.refused.push(at)
    else if (action === 'drop') this.dropped.push(at)
    else this.namesIn(item, action, at)
    return action === 'drop'
  }

  private namesIn({ start, end }: Item, action: FoundName['action'], at: DocumentPath): void {
    if (this.cursor.isContainer(start)) {
      const { items, object } = this.cursor.container(start)
      for (const [index, item] of items.entries()) {
        this.namesIn(item, action, [...at, object ? this.text(item.keyStart, item.keyEnd) : index])
      }
    } else if (this.cursor.doc[start] === QUOTE) {
      this.names.push({ action, at, text: this.text(start, end), start, end })
    }
  }

  private text(start: number, end: number): string {
    return String(JSON.parse(this.cursor.doc.toString('utf8', start, end)))
  }
}
