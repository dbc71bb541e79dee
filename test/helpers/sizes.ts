import ts from 'typescript'
import type { Source } from './source-rules.js'

/** How large the product is. Lines are those of files as they are, comments and empty ones included. */
export interface Sizes {
  readonly files: number
  readonly lines: number
  readonly median: number
  /** Both with their place: `320 src/wire/a.ts`. Generated files are not meant to be read, and count for the sums alone. */
  readonly largestFile: Measured
  readonly longestFunction: Measured
}

export interface Measured {
  readonly lines: number
  readonly at: string
}

export function sizesOf(sources: readonly Source[]): Sizes {
  const files = sources.map(source => ({ source, lines: linesOf(source.text) }))
  const sorted = files.map(({ lines }) => lines).sort((one, other) => one - other)
  const read = files.filter(({ source }) => !source.path.endsWith('.generated.ts'))
  return {
    files: files.length,
    lines: sorted.reduce((sum, lines) => sum + lines, 0),
    median: sorted[sorted.length >> 1] ?? 0,
    largestFile: largest(read.map(({ source, lines }) => ({ lines, at: source.path }))),
    longestFunction: largest(read.flatMap(({ source }) => functionsOf(source))),
  }
}

/** Functions with a body, methods and constructors, from their first word to the closing brace; inner ones count for both. */
function functionsOf({ path, text }: Source): readonly Measured[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  const lineAt = (position: number): number => file.getLineAndCharacterOfPosition(position).line + 1
  const found: Measured[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const first = lineAt(node.getStart(file))
      found.push({ lines: lineAt(node.end) - first + 1, at: `${path}:${first}` })
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

function largest(all: readonly Measured[]): Measured {
  return all.reduce((most, one) => (one.lines > most.lines ? one : most), { lines: 0, at: '' })
}

function linesOf(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
}
