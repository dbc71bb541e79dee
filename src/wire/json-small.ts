import { isObject, type JsonObject } from '../core/json.js'
import { type ControlNames, controlNames } from './control-names.js'
import { mayExceed } from './json-cost.js'
import type { ScanOptions } from './json-scan.js'

/** Larger bodies are scanned. Above this size scanning is as cheap, and half the cost if the text is not ASCII. */
const MAX_SMALL_BYTES = 1024

/** A small body. */
interface SmallBody {
  readonly text: string
  readonly document: JsonObject
}

/**
 * Parses a small request body directly, for a third of the cost of scanning it and parsing its skeleton: most requests are
 * small. Returns `undefined` if the body is large, malformed, over a limit, ambiguous, or may have a watched key; the
 * scanner then decides and reports what is wrong.
 */
export function parseSmall(body: Buffer, options: ScanOptions): SmallBody | undefined {
  if (body.length > MAX_SMALL_BYTES || (options.values !== undefined && mayExceed(body.length, options.values)))
    return undefined
  const text = body.toString('utf8')
  // An escaped key would have to be decoded to be compared with the control names.
  if (text.includes('\\u') || mayBeOver(text, options)) return undefined
  const control = controlNames(options.control)
  for (const ending of control.endings) if (standsTwice(text, ending)) return undefined
  // Search the text, since the parsed document keeps only the last of two members with one name.
  if (options.watched?.quoted.some(key => text.includes(key))) return undefined
  const document = parse(text)
  return isObject(document) && !hasVariant(document, control) ? { text, document } : undefined
}

/** The shortest member with its comma: `"":0,`. */
const MIN_MEMBER_CHARS = 5

/**
 * Whether the text may exceed a limit. It counts marks in the text, since the parsed document lacks members that a later
 * duplicate replaced.
 */
function mayBeOver(text: string, { depth, members }: ScanOptions): boolean {
  if (count(text, '{', depth) + count(text, '[', depth) > depth) return true
  return text.length > MIN_MEMBER_CHARS * members && count(text, ':', members) > members
}

/** Number of times that a mark occurs in a text; stops counting once there are more than `most`. */
function count(text: string, mark: string, most: number): number {
  let found = 0
  for (let at = text.indexOf(mark); at >= 0 && found <= most; at = text.indexOf(mark, at + 1)) found++
  return found
}

/** Also true if the ending of a name occurs elsewhere in the text: the scanner then decides which occurrences are keys. */
function standsTwice(text: string, ending: string): boolean {
  const first = text.indexOf(ending)
  return first >= 0 && text.indexOf(ending, first + 1) >= 0
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a key means a control name but is written differently. */
function hasVariant(document: JsonObject, control: ControlNames): boolean {
  for (const key in document) if (control.keyOf(key)?.exact === false) return true
  return false
}
