import { StringDecoder } from 'node:string_decoder'
import { jsonText } from '../../core/exact-json.js'
import type { Json } from '../../core/json.js'
import { parsedAtOnce, parserOf, type Reading } from '../../translate/decode.js'
import { jsonChunks } from '../../wire/json-chunks.js'
import { costNow, costOf, type JsonCost } from '../../wire/json-cost.js'
import { parseSteps } from '../../wire/json-parse.js'

/** Larger documents are processed in several turns of the event loop. */
const LARGE_DOCUMENT_BYTES = 256 * 1024

/** Larger documents are parsed in several turns: dense ones take ten times as long as text. */
const MAX_SYNC_PARSE_BYTES = 64 * 1024

/** Bytes that are read or written per turn. */
const STEP_BYTES = 2 * 1024 * 1024

export function isLarge(size: number): boolean {
  return size > LARGE_DOCUMENT_BYTES
}

/**
 * Yields to the event loop between two steps over a large document; small documents continue at once. Each step by
 * itself (decode bytes, parse, translate, write) is linear and short.
 */
export async function yieldToEventLoop(size: number): Promise<void> {
  if (isLarge(size)) await new Promise<void>(resolve => setImmediate(resolve))
}

/** Joins chunks; large ones are copied in steps. */
export async function joined(pieces: readonly Uint8Array[], size: number): Promise<Buffer> {
  if (!isLarge(size)) return Buffer.concat(pieces)
  const whole = Buffer.allocUnsafeSlow(size)
  let step = 0
  let at = 0
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const part = piece.subarray(from, from + STEP_BYTES - step)
      whole.set(part, at)
      from += part.length
      at += part.length
      step += part.length
      if (step < STEP_BYTES) continue
      step = 0
      await yieldToEventLoop(size)
    }
  }
  return whole
}

/** Decodes UTF-8, in steps. */
export async function utf8Text(bytes: Buffer): Promise<string> {
  if (!isLarge(bytes.length)) return bytes.toString('utf8')
  const decoder = new StringDecoder('utf8')
  let text = ''
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    await yieldToEventLoop(bytes.length)
    text += decoder.write(bytes.subarray(at, at + STEP_BYTES))
  }
  await yieldToEventLoop(bytes.length)
  return text + decoder.end()
}

/** Runs a generator to its end, and yields to the event loop at each of its pauses. */
async function inTurns<T>(steps: Generator<void, T>): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    await new Promise<void>(resolve => setImmediate(resolve))
  }
}

/** Parses JSON in UTF-8, in steps. Throws `SyntaxError`. */
export async function parsed(bytes: Buffer, reading: Reading = {}): Promise<Json> {
  if (bytes.length <= MAX_SYNC_PARSE_BYTES) return parsedAtOnce(bytes, reading)
  return inTurns(parseSteps(bytes, { parse: parserOf(reading), isKnown: reading.isKnown }))
}

/** Counts the values, depth and heap of a JSON text, in steps; see {@link costOf}. */
export async function costInTurns(bytes: Buffer, maxValues: number): Promise<JsonCost> {
  return bytes.length <= MAX_SYNC_PARSE_BYTES ? costNow(bytes, maxValues) : inTurns(costOf(bytes, maxValues))
}

/** Spare bytes beyond the estimated size of a document as JSON. */
const SPARE_BYTES = 1024 * 1024
/** Maximum bytes of a UTF-16 unit in UTF-8. */
const MAX_UTF8_BYTES_PER_UNIT = 3

/** Writes a document as JSON in UTF-8, in steps. `size`: its approximate size in bytes. */
export async function jsonBytes(document: Json, size: number): Promise<Buffer> {
  if (!isLarge(size)) return Buffer.from(jsonText(document))
  let whole = Buffer.allocUnsafeSlow(size + SPARE_BYTES)
  let step = 0
  let length = 0
  for (const piece of jsonChunks(document)) {
    const maxLength = length + MAX_UTF8_BYTES_PER_UNIT * piece.length
    if (maxLength > whole.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(maxLength, 2 * whole.length))
      whole.copy(larger, 0, 0, length)
      whole = larger
    }
    const written = whole.write(piece, length)
    length += written
    step += written
    if (step < STEP_BYTES) continue
    step = 0
    await yieldToEventLoop(size)
  }
  await yieldToEventLoop(size)
  return whole.subarray(0, length)
}
