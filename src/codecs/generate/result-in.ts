import type { Json } from '../../core/json.js'
import type { TextResult } from '../../core/text.js'
import { Fold } from '../fold.js'
import { StreamIn } from './stream-in.js'

/** A whole answer: what a stream of this one document comes to. Throws `bad_upstream_response` where it is not one. */
export function decodeResult(body: Json): TextResult {
  const stream = new StreamIn(true)
  const sum = new Fold()
  for (const event of stream.document(body)) sum.push(event)
  for (const event of stream.end()) sum.push(event)
  return sum.result()
}
