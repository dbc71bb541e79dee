import { isAlias, isCollection, isMap, isPair, isScalar, isSeq, type Node, type ParsedNode, type YAMLMap } from 'yaml'
import type { Json } from '../core/json.js'
import type { DocumentPath } from '../core/path-text.js'
import { MAX_DEPTH } from './yaml-tokens.js'

/** Most values that aliases may stand for in one file, all uses counted. */
const MAX_ALIASED_VALUES = 10_000

/** YAML 1.2 has no merge keys; in older ones they are common. */
const NO_MERGE =
  'YAML 1.2 has no merge keys (<<): an anchor is a whole value; put what upstreams share into a kind under kinds'

interface Range {
  readonly start: number
  readonly end: number
}

interface TreeFault extends Range {
  readonly rule: 'duplicate-key' | 'alias-bomb' | 'unknown-alias' | 'bad-key' | 'too-deep'
  readonly path: DocumentPath
  readonly message: string
  /** The first of two equal keys. */
  readonly first?: Range
}

interface Member {
  readonly key: Range
  readonly value: Node | null
}

/** What a document says. Objects have no prototype, so that no name is special. */
interface Content {
  readonly value: Json
  readonly faults: readonly TreeFault[]
}

interface Converted {
  readonly value: Json
  /** How many values it holds, itself included, aliases expanded. */
  readonly size: number
}

/**
 * The plain value of a YAML document beside the way from paths to offsets. The nodes that tell offsets take some twenty times
 * the memory of the text, so they are let go, and read again where a problem should be shown.
 */
export class YamlTree implements Content {
  readonly value: Json
  readonly faults: readonly TreeFault[]
  readonly #reopen: () => ParsedNode | null
  #nodes: YamlNodes | undefined

  /** `reopen` parses the document once more. */
  constructor({ value, faults }: Content, reopen: () => ParsedNode | null) {
    this.value = value
    this.faults = faults
    this.#reopen = reopen
  }

  static of(root: ParsedNode | null, reopen: () => ParsedNode | null): YamlTree {
    return new YamlTree(new YamlNodes(root), reopen)
  }

  /** Offsets of what is at a path, or of the deepest part of it that there is. */
  range(path: DocumentPath, on: 'key' | 'value'): Range {
    return this.#opened().range(path, on)
  }

  /** Whether something is at a path. */
  has(path: DocumentPath): boolean {
    return this.#opened().has(path)
  }

  #opened(): YamlNodes {
    this.#nodes ??= new YamlNodes(this.#reopen())
    return this.#nodes
  }
}

/**
 * Built in one walk: duplicate keys, aliases and depth are checked here because the parser's own checks take quadratic time
 * or come too late.
 */
class YamlNodes {
  readonly value: Json
  readonly faults: TreeFault[] = []
  readonly #root: Node | null
  readonly #members = new WeakMap<Node, Map<string, Member>>()
  readonly #anchors = new Map<string, { readonly node: Node; converted: Converted | undefined }>()
  #aliased = 0

  constructor(root: ParsedNode | null) {
    this.#root = root
    this.value = root === null ? null : this.#convert(root, [], 0).value
  }

  range(path: DocumentPath, on: 'key' | 'value'): Range {
    let node = this.#root
    let key: Range | undefined
    for (const [index, segment] of path.entries()) {
      const found = this.#step(node, segment)
      if (found === undefined) return key === undefined || isScalar(node) ? whole(node) : key
      key = found.key
      node = found.value
      if (index === path.length - 1 && on === 'key' && key !== undefined) return key
    }
    const range = whole(node)
    return range.end > range.start || key === undefined ? range : key
  }

  has(path: DocumentPath): boolean {
    let node = this.#root
    for (const segment of path) {
      const found = this.#step(node, segment)
      if (found === undefined) return false
      node = found.value
    }
    return true
  }

  #step(node: Node | null, segment: string | number): { key: Range | undefined; value: Node | null } | undefined {
    const actual = this.#resolve(node)
    if (typeof segment === 'number') {
      if (!isSeq(actual)) return undefined
      const item = actual.items[segment]
      return isNode(item) ? { key: undefined, value: item } : undefined
    }
    return actual === null ? undefined : this.#members.get(actual)?.get(segment)
  }

  #resolve(node: Node | null): Node | null {
    return isAlias(node) ? (this.#anchors.get(node.source)?.node ?? null) : node
  }

  #convert(node: Node, path: DocumentPath, depth: number): Converted {
    if (depth > MAX_DEPTH) {
      this.#fault('too-deep', node, path.slice(0, 2), `nested more than ${MAX_DEPTH} levels deep`)
      return { value: null, size: 1 }
    }
    if (isAlias(node)) return this.#convertAlias(node.source, node, path)
    const anchor = isCollection(node) || isScalar(node) ? node.anchor : undefined
    const entry = anchor === undefined ? undefined : { node, converted: undefined as Converted | undefined }
    if (anchor !== undefined && entry !== undefined) this.#anchors.set(anchor, entry)
    const converted = this.#convertContent(node, path, depth)
    if (entry !== undefined) entry.converted = converted
    return converted
  }

  #convertContent(node: Node, path: DocumentPath, depth: number): Converted {
    if (isMap(node)) return this.#convertMap(node, path, depth)
    if (isSeq(node)) {
      const items = node.items.map((item, index) =>
        isNode(item) ? this.#convert(item, [...path, index], depth + 1) : { value: null, size: 1 },
      )
      return { value: items.map(item => item.value), size: 1 + sum(items) }
    }
    return { value: isScalar(node) ? scalarValue(node.value) : null, size: 1 }
  }

  #convertMap(node: YAMLMap, path: DocumentPath, depth: number): Converted {
    const value: Record<string, Json> = Object.create(null)
    const members = new Map<string, Member>()
    this.#members.set(node, members)
    let size = 1
    for (const pair of node.items) {
      if (!isPair(pair) || !isNode(pair.key)) continue
      const key = this.#keyText(pair.key, path)
      if (key === undefined) continue
      const range = whole(pair.key)
      const first = members.get(key)?.key
      if (first !== undefined) {
        this.faults.push({ rule: 'duplicate-key', path: [...path, key], message: '', first, ...range })
        continue
      }
      const inner = isNode(pair.value) ? this.#convert(pair.value, [...path, key], depth + 1) : { value: null, size: 1 }
      members.set(key, { key: range, value: isNode(pair.value) ? pair.value : null })
      value[key] = inner.value
      size += inner.size
    }
    return { value, size }
  }

  #keyText(key: Node, path: DocumentPath): string | undefined {
    if (isScalar(key) && key.source === '<<' && key.type === 'PLAIN') {
      this.#fault('bad-key', key, path, NO_MERGE)
      return undefined
    }
    if (isScalar(key)) return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))
    if (isAlias(key)) {
      this.#fault('bad-key', key, path, `a name that starts with * needs quotes: "*${key.source}"`)
    } else {
      this.#fault('bad-key', key, path, 'a key must be a text, not a list or a mapping')
    }
    return undefined
  }

  #convertAlias(name: string, node: Node, path: DocumentPath): Converted {
    const nothing = { value: null, size: 1 }
    const anchor = this.#anchors.get(name)
    if (anchor === undefined) {
      const message = `*${name} refers to an anchor that does not exist; a text that starts with * needs quotes: "*${name}"`
      this.#fault('unknown-alias', node, path, message)
      return nothing
    }
    if (anchor.converted === undefined) {
      this.#fault('alias-bomb', node, path, `*${name} is inside the value that it refers to`)
      return nothing
    }
    this.#aliased += anchor.converted.size
    if (this.#aliased > MAX_ALIASED_VALUES) {
      const message = `the aliases of this file expand to more than ${MAX_ALIASED_VALUES} values`
      if (!this.faults.some(fault => fault.rule === 'alias-bomb')) this.#fault('alias-bomb', node, path, message)
      return nothing
    }
    return anchor.converted
  }

  #fault(rule: TreeFault['rule'], node: Node, path: DocumentPath, message: string): void {
    this.faults.push({ rule, path, message, ...whole(node) })
  }
}

function whole(node: Node | null): Range {
  const range = node?.range
  return range ? { start: range[0], end: range[1] } : { start: 0, end: 0 }
}

function isNode(value: unknown): value is Node {
  return isScalar(value) || isCollection(value) || isAlias(value)
}

function scalarValue(value: unknown): Json {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
}

function sum(items: readonly Converted[]): number {
  return items.reduce((total, item) => total + item.size, 0)
}
