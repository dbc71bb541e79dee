import { type DocumentPath, pathText } from '../core/path-text.js'
import type { Position } from '../core/problems.js'
import type { Source } from './source.js'
import type { YamlTree } from './yaml-tree.js'

/** A place in a source, with what a problem shows of it. */
export interface Spot {
  readonly position: Position
  readonly length: number
  readonly excerpt?: string
}

/** One file that was read and parsed. */
export class Document {
  readonly source: Source
  readonly tree: YamlTree
  /** Whether the gateway ships it. */
  readonly shipped: boolean
  /** Entries (`models.x`, `listen`) that do not fit the schema, as path texts: they are known by name only. */
  readonly misfits = new Set<string>()

  constructor(source: Source, tree: YamlTree, shipped: boolean) {
    this.source = source
    this.tree = tree
    this.shipped = shipped
  }

  /** Where a path is, or as much of it as there is. `key` points at the name of a member, `value` at its value. */
  spot(path: DocumentPath, on: 'key' | 'value'): Spot {
    const { start, end } = this.tree.range(path, on)
    return spotAt(this.source, start, end)
  }
}

export function spotAt(source: Source, start: number, end: number): Spot {
  const position = source.position(start)
  const excerpt = source.excerpt(position.line)
  return { position, length: source.length(start, end), ...(excerpt === undefined ? {} : { excerpt }) }
}

/** A node of a document, by its path from the top of the file. */
export class Site {
  readonly document: Document
  readonly path: DocumentPath

  constructor(document: Document, path: DocumentPath) {
    this.document = document
    this.path = path
  }

  child(...segments: DocumentPath): Site {
    return new Site(this.document, [...this.path, ...segments])
  }

  get text(): string {
    return pathText(this.path)
  }
}
