import { jsonText } from '../core/exact-json.js'
import type { Json } from '../core/json.js'

/** Approximate characters per chunk. */
const CHUNK_CHARS = 256 * 1024

/**
 * The output of `JSON.stringify` in chunks of about 256 Ki characters. Each chunk is made on demand, in time that does not
 * depend on the document's size, so that the caller can yield between chunks.
 */
export function* jsonChunks(document: Json): Generator<string, void> {
  let chunk = ''
  for (const token of tokens(document)) {
    chunk += token
    if (chunk.length < CHUNK_CHARS) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

function* tokens(value: Json): Generator<string, void> {
  if (typeof value === 'string' && value.length > CHUNK_CHARS) {
    yield* tokensOfString(value)
  } else if (typeof value !== 'object' || value === null || left(value, CHUNK_CHARS) > 0) {
    yield value === undefined ? 'null' : jsonText(value)
  } else if (Array.isArray(value)) {
    yield* tokensOfList(value)
  } else {
    yield* tokensOfObject(Object.entries(value))
  }
}

function* tokensOfList(items: readonly Json[]): Generator<string, void> {
  yield '['
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ','
    yield* tokens(item)
  }
  yield ']'
}

function* tokensOfObject(members: readonly (readonly [string, Json | undefined])[]): Generator<string, void> {
  yield '{'
  let comma = ''
  for (const [name, value] of members) {
    if (value === undefined) continue
    yield `${comma}${JSON.stringify(name)}:`
    yield* tokens(value)
    comma = ','
  }
  yield '}'
}

function* tokensOfString(text: string): Generator<string, void> {
  yield '"'
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + CHUNK_CHARS, text.length)
    // Keep the halves of a surrogate pair together: a lone one would be written as an escape.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end += 1
    yield JSON.stringify(text.slice(at, end)).slice(1, -1)
    at = end
  }
  yield '"'
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

/** The rest of a character budget after a value; zero or less if the value does not fit. Stops counting then. */
function left(value: Json, budget: number): number {
  if (typeof value === 'string') return budget - value.length - 2
  if (typeof value !== 'object' || value === null) return budget - 4
  let rest = budget - 2
  for (const name in value) {
    const member = (value as Readonly<Record<string, Json | undefined>>)[name]
    rest -= name.length + 4
    if (member !== undefined) rest = left(member, rest)
    if (rest <= 0) return rest
  }
  return rest
}
