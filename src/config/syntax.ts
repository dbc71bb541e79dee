import { isCollection, isScalar, type ParsedNode, parseDocument, visit, type YAMLError } from 'yaml'
import { type Explanation, missingComma, missingSpace } from './separators.js'
import type { Source } from './source.js'

/** `uniqueKeys` would compare every key with every other; the tree checks them in linear time. */
export const PARSER = {
  version: '1.2',
  schema: 'core',
  merge: false,
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'error',
} as const

/** Faults that stand for themselves; others are often echoes of the one before. */
export const LOCAL = new Set<YAMLError['code']>([
  'BAD_ALIAS',
  'BAD_DQ_ESCAPE',
  'BAD_SCALAR_START',
  'TAG_RESOLVE_FAILED',
])

/** Hints look at this much of a line, so that no line makes them slow. */
const MAX_HINTED_CHARS = 300

/** Blanks that are passed over between what is missing and what follows. */
const MAX_HINTED_BLANKS = 300

/** What is often written unquoted, by the form of its line. */
const UNQUOTED: readonly { readonly line: RegExp; readonly message: string }[] = [
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what people write
  { line: /[{[].*\$\{/, message: 'a text with ${…} needs quotes inside { } and [ ]' },
  { line: /[{[].*\s\/\S*\{\w+\*?\}/, message: 'a path with {…} needs quotes inside { } and [ ]' },
]

/** Our own words for the parser's codes: its messages quote the file, which may hold a secret. */
export function explainSyntax(fault: YAMLError, source: Source): Explanation {
  const [at] = fault.pos
  const { line } = source.position(at)
  const text = source.line(line).slice(0, MAX_HINTED_CHARS)
  const starred = /(?:^\s*|[{,]\s*)(\*[^\s:,}]*)\s*:/.exec(text)
  const [found, star] = starred ?? []
  if (starred !== null && found !== undefined && star !== undefined) {
    const start = at - source.offsetInLine(at) + starred.index + found.indexOf('*')
    return { message: `a name that starts with * needs quotes: "${star}"`, start, end: start + star.length }
  }
  const separator = missingSeparator(fault, source, at)
  if (separator !== undefined) return separator
  const deeper = fault.code === 'BLOCK_AS_IMPLICIT_KEY' ? deeperBelow(source, line) : undefined
  if (deeper !== undefined) return deeper
  const unquoted = UNQUOTED.find(form => form.line.test(text))
  if (unquoted !== undefined) return { message: unquoted.message, start: at }
  const entry = missingEntry(fault, source, at)
  if (entry !== undefined) return entry
  const open = /end with a [\]}]|^Missing closing/.test(fault.message) ? findOpen(source) : undefined
  if (open !== undefined) {
    return {
      message: `this ${source.text[open]} is never closed; YAML noticed at line ${line}`,
      start: open,
      end: open + 1,
    }
  }
  const message = WORDS[fault.code] ?? 'this is not YAML; check the quotes, brackets and indentation before it'
  const blanks = /^ */.exec(text.slice(source.offsetInLine(at)))?.[0].length ?? 0
  return { message, start: fault.code === 'TAB_AS_INDENT' ? at : at + blanks }
}

/** A key that is indented below one that has its value already. */
function deeperBelow(source: Source, line: number): Explanation | undefined {
  const [own, below] = [source.line(line), source.line(line + 1)].map(text => text.slice(0, MAX_HINTED_CHARS))
  const [indent = 0, next = 0] = [own, below].map(text => /^ */.exec(text ?? '')?.[0].length ?? 0)
  const colons = own?.split(': ').length ?? 0
  if (colons > 2 || next <= indent || below?.includes(':') !== true) return undefined
  const start = source.startOf(line + 1) + next
  return { message: 'this is indented deeper than the line above, which already has a value', start }
}

function missingSeparator({ code, message }: YAMLError, source: Source, at: number): Explanation | undefined {
  const inFlow = code === 'BLOCK_IN_FLOW' || (code === 'MISSING_CHAR' && message.includes('between flow'))
  if (inFlow)
    return missingComma(source, at) ?? (code === 'MISSING_CHAR' ? missingInList(message, source, at) : undefined)
  return code === 'MISSING_CHAR' || code === 'MULTILINE_IMPLICIT_KEY' ? missingSpace(source, at) : undefined
}

/** Behind a value that is whole, in brackets, what follows is another entry. */
function missingEntry({ code, message }: YAMLError, source: Source, at: number): Explanation | undefined {
  if (code !== 'UNEXPECTED_TOKEN' || message.includes('in YAML stream') || !isInFlow(source, at)) return undefined
  return missingComma(source, at) ?? missingBefore(source, at)
}

function missingInList(message: string, source: Source, at: number): Explanation | undefined {
  return message.includes('flow sequence') ? missingBefore(source, at) : undefined
}

function missingBefore(source: Source, at: number): Explanation {
  const blanks = /^\s*/.exec(source.text.slice(at, at + MAX_HINTED_BLANKS))?.[0].length ?? 0
  return { message: 'a comma is missing before this', start: at + blanks }
}

/** Whether an offset is inside brackets that are still open there. */
function isInFlow(source: Source, at: number): boolean {
  let found = false
  visit(parseDocument(source.text, { ...PARSER, keepSourceTokens: true }), {
    Collection(_, node) {
      if (node.srcToken?.type !== 'flow-collection' || node.range == null) return undefined
      const [start, end] = node.range
      found ||= start < at && (at < end || isOpen(node))
      return found ? visit.BREAK : undefined
    },
  })
  return found
}

/** Offset of the last bracket or quote that has no partner. */
function findOpen(source: Source): number | undefined {
  let open: number | undefined
  visit(parseDocument(source.text, { ...PARSER, keepSourceTokens: true }), {
    Node(_, node) {
      const offset = isOpen(node) ? node.range?.[0] : undefined
      if (offset !== undefined) open = Math.max(open ?? 0, offset)
    },
  })
  return open
}

function isOpen(node: unknown): node is ParsedNode {
  if (isCollection(node) && node.srcToken?.type === 'flow-collection') {
    const partner = node.srcToken.start.source === '{' ? 'flow-map-end' : 'flow-seq-end'
    return !node.srcToken.end.some(token => token.type === partner)
  }
  if (!isScalar(node) || node.srcToken === undefined || !('source' in node.srcToken)) return false
  const { type, source } = node.srcToken
  return /quoted/.test(type) && (source.length === 1 || source.at(-1) !== source[0])
}

const WORDS: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  ALIAS_PROPS: 'an alias cannot have a tag or an anchor',
  BAD_ALIAS: 'a lone * needs quotes: "*"',
  BAD_DIRECTIVE: 'a line that starts with % is a YAML directive; put the text in quotes',
  BAD_DQ_ESCAPE: 'an unknown YAML escape; write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'the indentation does not match the lines above',
  BAD_SCALAR_START: 'a text cannot start with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " on one line; put the text in quotes, or the mapping on its own lines',
  BLOCK_IN_FLOW: 'a block is not allowed inside { } or [ ]; a text with ": " in it needs quotes there',
  KEY_OVER_1024_CHARS: 'a key of more than 1,024 characters',
  MISSING_CHAR: 'a ":" is missing after this name, or a comma before it',
  MULTILINE_IMPLICIT_KEY: 'a ":" is missing after this name, or the line below is wrongly indented',
  MULTIPLE_ANCHORS: 'a value has at most one anchor',
  MULTIPLE_TAGS: 'a value has at most one tag',
  RESOURCE_EXHAUSTION: 'nested far too deep',
  TAB_AS_INDENT: 'a tab instead of spaces: YAML is indented with spaces',
  TAG_RESOLVE_FAILED: 'tags such as !name have no meaning here',
  UNEXPECTED_TOKEN: 'this does not belong here; check the quotes, brackets and indentation before it',
}
