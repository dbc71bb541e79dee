import { isObject, type JsonObject } from '../core/json.js'
import type { ScanOptions } from './json-scan.js'

/** Bodies up to this many bytes are worth a try. From there on scanning is as cheap, and twice as cheap where the text is not ASCII. */
const SMALL = 1024

/**
 * A small request body parsed at once, which costs a third of scanning it and parsing its skeleton: most requests are
 * small. `undefined` where the body is large, not sound, over a limit, could be read in two ways or may have a watched key;
 * the scanner then decides, and tells what is wrong.
 */
export function parseSmall(body: Buffer, options: ScanOptions): JsonObject | undefined {
  if (body.length > SMALL) return undefined
  const text = body.toString('utf8')
  // An escaped key would have to be decoded to be compared with the control names.
  if (text.includes('\\u')) return undefined
  for (const name of options.control) if (standsTwice(text, `"${name}"`)) return undefined
  // Searched in the text: of two members of one name the document has but the last.
  if (options.watched?.quoted.some(key => text.includes(key))) return undefined
  const document = parse(text)
  if (!isObject(document) || hasVariant(document, options.control)) return undefined
  return fits(document, options, 1) ? document : undefined
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

/** Whether a key is a control name but for its case, as the most lenient parsers fold it (U+017F stands for s). */
function hasVariant(document: JsonObject, control: readonly string[]): boolean {
  for (const key in document) {
    for (const name of control) {
      if (key.length === name.length && key !== name && fold(key) === fold(name)) return true
    }
  }
  return false
}

function fold(key: string): string {
  return key.toUpperCase().toLowerCase()
}

/** Recursion is bounded by the depth limit. */
function fits(value: unknown, options: ScanOptions, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth > options.depth) return false
  if (Array.isArray(value)) {
    for (const element of value) if (!fits(element, options, depth + 1)) return false
    return true
  }
  let members = 0
  for (const key in value) {
    members++
    if (members > options.members || !fits((value as JsonObject)[key], options, depth + 1)) return false
  }
  return true
}
