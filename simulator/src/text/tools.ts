import type { TextRequest, Tool } from './conversation.js'
import { freshResults, lastUserText } from './conversation.js'
import { heldIn } from './held.js'

const MAX_CALLS = 16

/**
 * The tools to call now. Where one must be called: those that the last user text names, else the one that fits it, else
 * the first. Where the model may choose: those that the text names, else the one that fits it, unless it was called to
 * read results.
 */
export function toolsToCall(request: TextRequest): readonly Tool[] {
  const { choice, parallel, turns } = request
  const allowed = request.tools.filter(tool => choice.names?.includes(tool.name) ?? true)
  if (choice.mode === 'none' || allowed.length === 0) return []
  if (choice.mode === 'auto' && freshResults(turns).length > 0) return []
  const text = lastUserText(turns)
  const named = namedIn(text, allowed)
  const fitting = named.length > 0 ? named : fittingTo(text, allowed)
  const chosen = fitting.length === 0 && choice.mode === 'required' ? allowed.slice(0, 1) : fitting
  return chosen.slice(0, parallel ? MAX_CALLS : 1)
}

/**
 * The one function whose required arguments the text holds, and whose name or description speaks of what the text does;
 * none where several do so alike.
 */
function fittingTo(text: string, tools: readonly Tool[]): readonly Tool[] {
  const said = wordsOf(text)
  const rated = tools.flatMap(tool => {
    if (tool.kind !== 'function') return []
    const { whole, plain } = heldIn(text, tool.schema)
    const points = 2 * shared(nameWords(tool.name), said) + shared(descriptionWords(tool), said)
    const empty = (tool.schema?.required ?? []) as readonly unknown[]
    if (!whole || (points === 0 && !plain)) return []
    // A tool that needs nothing is asked for by every word of its name.
    if (empty.length === 0 && shared(nameWords(tool.name), said) < nameWords(tool.name).length) return []
    return [{ tool, points }]
  })
  const most = Math.max(...rated.map(({ points }) => points))
  const best = rated.filter(({ points }) => points === most)
  return best.length === 1 ? best.map(({ tool }) => tool) : []
}

/** Words of names that say nothing of what they are about. */
const VERBS = new Set(['get', 'set', 'find', 'list', 'run', 'call', 'make', 'do', 'fetch', 'lookup', 'the', 'current'])
const COMMON = new Set([
  ...['about', 'given', 'current', 'information', 'return', 'returns', 'which', 'there', 'their', 'would', 'could'],
  ...['should', 'please', 'using', 'value', 'string', 'number', 'function', 'what', 'when', 'with', 'from', 'that'],
  ...['this', 'have', 'will', 'your', 'tell', 'tool', 'call', 'used', 'user', 'some', 'they', 'them', 'into', 'does'],
])
const MIN_WORD_CHARS = 3
const MIN_COMMON_WORD_CHARS = 4
const MAX_ENDING_CHARS = 3
/** How far into a description is looked. */
const MAX_DESCRIPTION_CHARS = 200

function wordsOf(text: string): readonly string[] {
  const parted = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase()
  return [...new Set(parted.match(/[\p{L}\p{N}]+/gu) ?? [])]
}

function nameWords(name: string): readonly string[] {
  const words = wordsOf(name.replaceAll('_', ' ')).filter(word => word.length >= MIN_WORD_CHARS)
  const telling = words.filter(word => !VERBS.has(word))
  return telling.length > 0 ? telling : words
}

function descriptionWords({ description = '' }: Tool): readonly string[] {
  const words = wordsOf(description.slice(0, MAX_DESCRIPTION_CHARS))
  return words.filter(word => word.length >= MIN_COMMON_WORD_CHARS && !COMMON.has(word) && !VERBS.has(word))
}

function shared(words: readonly string[], said: readonly string[]): number {
  return words.filter(word => said.some(other => isSameWord(word, other))).length
}

/** Whether two words differ in their endings alone: `translate` and `translation`, `time` and `times`. */
function isSameWord(one: string, other: string): boolean {
  if (one === other) return true
  if (Math.abs(one.length - other.length) > MAX_ENDING_CHARS) return false
  const stem = Math.max(4, Math.min(one.length, other.length) - 2)
  return one.length > stem - 1 && other.length > stem - 1 && one.slice(0, stem) === other.slice(0, stem)
}

/** In the order of the text. A name may be written with spaces in place of `_` and `-`. */
function namedIn(text: string, tools: readonly Tool[]): readonly Tool[] {
  const folded = fold(text)
  return tools
    .map(tool => ({ tool, at: wordIndex(folded, fold(tool.name)) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)
    .map(({ tool }) => tool)
}

function fold(text: string): string {
  return text.toLowerCase().replace(/[_-]/g, ' ')
}

function wordIndex(text: string, word: string): number {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isLetter(text, at - 1) && !isLetter(text, at + word.length)) return at
  }
  return -1
}

function isLetter(text: string, at: number): boolean {
  return /[\p{L}\p{N}]/u.test(text.charAt(at))
}
