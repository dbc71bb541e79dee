import { GatewayError } from '../core/errors.js'
import type { Json } from '../core/json.js'
import type { MemoryLease } from './memory.js'
import type { Source } from './relay/relay.js'
import { costInTurns, parsed } from './translate/steps.js'

/** Maximum nesting of an answer: code that walks documents is recursive. */
const MAX_DEPTH = 2000

/** Reserves memory for the objects of one whole answer. End the lease when they are dropped. */
export function answerLease({ call }: Pick<Source, 'call'>): MemoryLease {
  return call.kernel.memory.answers.lease(call.key)
}

/**
 * The document of an upstream's whole answer, parsed in steps after memory for its objects was reserved. Throws
 * `bad_upstream_response` if it is not JSON or over a limit, and `unavailable` if there was no memory in time. `exact`: numbers
 * keep their digits.
 */
export async function answerDocument(
  body: Buffer,
  { route }: Pick<Source, 'route'>,
  memory: MemoryLease,
  exact = false,
): Promise<Json> {
  if (body.length === 0) throw malformedAnswer('It is empty.')
  const { values, depth, heap } = await costInTurns(body, route.limits.values)
  if (values > route.limits.values) throw malformedAnswer('It has too many values.', 'values')
  if (depth > MAX_DEPTH) throw malformedAnswer('It is nested too deep.', 'depth')
  await reserveAnswer(memory, heap)
  try {
    return await parsed(body, { exact })
  } catch (cause) {
    throw malformedAnswer('It is not JSON.', undefined, cause)
  }
}

/** Reserves more memory for an answer; undefined if it is available at once. Throws `bad_upstream_response` if there can never be enough. */
export function reserveAnswer(memory: MemoryLease, heap: number): Promise<void> | undefined {
  if (memory.exceeds(heap)) throw malformedAnswer('It is too large to be read.', 'memory')
  return memory.reserve(heap)
}

export function malformedAnswer(why: string, limit?: string, cause?: unknown): GatewayError {
  return new GatewayError('bad_upstream_response', `The upstream sent a malformed answer. ${why}`, {
    phase: 'body',
    cause,
    ...(limit !== undefined && { limit }),
  })
}
