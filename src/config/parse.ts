import { Composer, type ParsedNode, type YAMLError, type Document as YamlDocument } from 'yaml'
import type { Json } from '../core/json.js'
import { pathText } from '../core/path-text.js'
import { Document, spotAt } from './document.js'
import { quoted, Report } from './report.js'
import type { Source } from './source.js'
import { explainSyntax, LOCAL, PARSER } from './syntax.js'
import { TokenFault, tokensOf } from './yaml-tokens.js'
import { YamlTree } from './yaml-tree.js'

/**
 * Parses a YAML file: core schema, no merge keys, one document. `undefined` where its syntax is broken or it cannot be
 * taken for what it says: what is in it is then unknown. Every problem goes to the report.
 */
export function parse(source: Source, shipped: boolean, report: Report): Document | undefined {
  const control = CONTROL.exec(source.text)
  if (control !== null) {
    tell(source, report, 'syntax', 'a control character is not allowed in a text file', control.index)
    return undefined
  }
  const parsed = composed(source, report)
  if (parsed === undefined) return undefined
  if (parsed.errors.length > 0 || parsed.warnings.length > 0) {
    tellSyntax([...parsed.errors, ...parsed.warnings], source, report)
    return undefined
  }
  const tree = YamlTree.of(parsed.contents, () => reopened(source))
  const document = new Document(source, tree, shipped)
  for (const fault of tree.faults) {
    const spot = spotAt(source, fault.start, fault.end)
    const message = fault.first === undefined ? fault.message : duplicateMessage(fault.path, source, fault.first.start)
    report.add({ severity: 'error', rule: fault.rule, path: pathText(fault.path), message, ...spot })
  }
  return tree.faults.some(fault => UNUSABLE.has(fault.rule)) ? undefined : document
}

/** The document of a source whose value is known already. */
export function parsedBefore(source: Source, value: Json, shipped: boolean): Document {
  return new Document(source, new YamlTree({ value, faults: [] }, () => reopened(source)), shipped)
}

function reopened(source: Source): ParsedNode | null {
  return composed(source, new Report())?.contents ?? null
}

function composed(source: Source, report: Report): YamlDocument.Parsed | undefined {
  try {
    let first: YamlDocument.Parsed | undefined
    for (const document of new Composer(PARSER).compose(tokensOf(source.text), true, source.text.length)) {
      if (first === undefined) {
        first = document
      } else {
        const start = source.text.lastIndexOf('---', document.range[0])
        tell(source, report, 'syntax', 'a second document starts here; a file contains one', start, start + 3)
        return undefined
      }
    }
    return first
  } catch (error) {
    if (!(error instanceof TokenFault)) throw error
    tell(source, report, error.rule, error.message, error.at)
    return undefined
  }
}

/** Faults after which the value of the document is cut short. */
const UNUSABLE = new Set(['alias-bomb', 'too-deep'])

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/

function duplicateMessage(path: readonly (string | number)[], source: Source, first: number): string {
  const { line, column } = source.position(first)
  return `${quoted(String(path.at(-1)))} is set twice; the first is at line ${line}, column ${column}`
}

function tell(source: Source, report: Report, rule: string, message: string, start: number, end = start + 1): void {
  report.add({ severity: 'error', rule, path: '', message, ...spotAt(source, start, end) })
}

/** The first fault, and those that stand for themselves: most others are echoes of the first. */
function tellSyntax(faults: readonly YAMLError[], source: Source, report: Report): void {
  for (const fault of faults) {
    const deep = fault.code === 'RESOURCE_EXHAUSTION'
    const { message, start, end = fault.pos[1] } = explainSyntax(fault, source)
    tell(source, report, deep ? 'too-deep' : 'syntax', message, start, Math.max(start + 1, end))
    if (!LOCAL.has(fault.code)) return
  }
}
