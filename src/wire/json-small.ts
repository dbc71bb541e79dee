import { isObject, type JsonObject } from '../core/json.js'
import { type ControlNames, controlNames } from './control-names.js'
import { mayExceed } from './json-cost.js'
import type { ScanOptions } from './json-scan.js'

/** Bodies up to this many bytes are worth a try. From there on scanning is as cheap, and twice as cheap where the text is not ASCII. */
const MAX_SMALL_BYTES = 1024

/**
 * A small request body parsed at once, which costs a third of scanning it and parsing its skeleton: most requests are
 * small. `undefined` where the body is large, not sound, over a limit, could be read in two ways or may have a watched key;
 * the scanner then decides, and tells what is wrong.
 */
export function parseSmall(body: Buffer, options: ScanOptions): JsonObject | undefined {
  if (body.length > MAX_SMALL_BYTES || (options.values !== undefined && mayExceed(body.length, options.values)))
    return undefined
  const text = body.toString('utf8')
  // An escaped key would have to be decoded to be compared with the control names.
  if (text.includes('\\u') || mayBeOver(text, options)) return undefined
  for (const name of options.control) if (standsTwice(text, `"${name}"`)) return undefined
  // Searched in the text: of two members of one name the document has but the last.
  if (options.watched?.quoted.some(key => text.includes(key))) return undefined
  const document = parse(text)
  return isObject(document) && !hasVariant(document, controlNames(options.control)) ? document : undefined
}

/** Shortest member and its comma, in characters: `"":0,`. */
const MIN_MEMBER_CHARS = 5

/**
 * Whether the text may be over a limit. Told by its marks and not by the document, which does not have what a later member
 * of the same name replaced.
 */
function mayBeOver(text: string, { depth, members }: ScanOptions): boolean {
  if (count(text, '{', depth) + count(text, '[', depth) > depth) return true
  return text.length > MIN_MEMBER_CHARS * members && count(text, ':', members) > members
}

/** How often a mark stands in a text; looks no further where that is more than `most`. */
function count(text: string, mark: string, most: number): number {
  let found = 0
  for (let at = text.indexOf(mark); at >= 0 && found <= most; at = text.indexOf(mark, at + 1)) found++
  return found
}

/** Also where the name stands elsewhere in the text: then the scanner tells which of them are keys. */
function standsTwice(text: string, quoted: string): boolean {
  const first = text.indexOf(quoted)
  return first >= 0 && text.indexOf(quoted, first + 1) >= 0
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a key stands for a control name, and is written in another way. */
function hasVariant(document: JsonObject, control: ControlNames): boolean {
  for (const key in document) if (control.keyOf(key)?.exact === false) return true
  return false
}
