import { readVector, toBase64 } from '../codecs/vectors.js'
import { COLON, SPACE } from '../core/ascii.js'
import { isObject, type Json } from '../core/json.js'
import type { VectorForm, VectorRule } from '../core/vectors.js'
import { EVERY, type Path } from '../wire/json-path.js'
import { type Slot, slot } from './slot.js'
import { yieldToEventLoop } from './translate/steps.js'

/** The requested form of vectors; absent if there are none, or if they are passed unchanged. */
export const VECTORS: Slot<VectorForm> = slot('vectors')

/** Maximum numbers that are rewritten per turn of the event loop. */
const MAX_NUMBERS_PER_TURN = 256 * 1024

/** Whether the beginning of an answer shows that its first vector is not in the wanted form. */
export function isOtherForm({ at }: VectorRule, wanted: VectorForm, pieces: readonly Buffer[]): boolean {
  const head = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces)
  const key = `"${at.at(-1) ?? ''}"`
  const other = wanted === 'base64' ? '[' : '"'
  for (let found = head.indexOf(key); found >= 0; found = head.indexOf(key, found + 1)) {
    const colon = afterSpace(head, found + key.length)
    // The name may also be a value, as in `"object":"embedding"`.
    if (head[colon] === COLON) return head[afterSpace(head, colon + 1)] === other.charCodeAt(0)
  }
  return false
}

function afterSpace(bytes: Buffer, from: number): number {
  let at = from
  while ((bytes[at] ?? SPACE + 1) <= SPACE) at++
  return at
}

/**
 * Rewrites the vectors of a document in the wanted form, in place; in several turns of the event loop if there are
 * many. Throws `bad_upstream_response` if a text is not a sequence of 32-bit floats.
 */
export async function rewriteVectors(document: Json, { at }: VectorRule, wanted: VectorForm): Promise<void> {
  let numbers = 0
  for (const [holder, key] of placesOf(document, at)) {
    const value = holder[key]
    if (wanted === 'base64' ? !isVector(value) : typeof value !== 'string') continue
    const vector = readVector(value)
    holder[key] = wanted === 'base64' ? toBase64(vector) : vector
    numbers += vector.length
    if (numbers < MAX_NUMBERS_PER_TURN) continue
    numbers = 0
    await yieldToEventLoop(Number.POSITIVE_INFINITY)
  }
}

/** Other lists, such as one vector per token, have no base64 form. */
function isVector(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(one => typeof one === 'number')
}

type Holder = Record<string, Json>

/** The targets of a path, each as the object or list that contains it and its key there. */
function* placesOf(value: Json, [segment, ...rest]: Path): Generator<readonly [Holder, string], void> {
  if (segment === undefined || !(isObject(value) || Array.isArray(value))) return
  const holder = value as Holder
  for (const key of segment === EVERY ? Object.keys(value) : [segment]) {
    if (!Object.hasOwn(holder, key)) continue
    if (rest.length === 0) yield [holder, key]
    else yield* placesOf(holder[key] ?? null, rest)
  }
}
