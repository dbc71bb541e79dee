import { spoiled } from '../../faults/usage.js'
import type { Call } from '../../protocol.js'
import { compose } from '../../text/engine.js'
import { promptTokens } from '../../text/usage.js'
import { envelope, type Identity, type Progress } from './envelope.js'
import { type Item, idOf, itemJson, itemsOf } from './items.js'
import type { ResponsesRequest } from './request.js'

/** An answer: the same for the whole object and for its stream. */
export interface Response {
  readonly items: readonly Item[]
  readonly end: 'completed' | 'incomplete'
  /** The response object as it stands before the first item, at its end, or where it fails. */
  readonly object: (at: 'begun' | 'ended' | 'failed') => object
}

export function respond(request: ResponsesRequest, { seed, faults }: Call): Response {
  const { body, model, text, store } = request
  const reply = compose(text)
  const items = itemsOf(reply, request)
  const end = reply.finish === 'length' ? 'incomplete' : 'completed'
  const { input } = promptTokens(text)
  const usage = spoiled(
    {
      input_tokens: input,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: reply.output,
      output_tokens_details: { reasoning_tokens: reply.reasoning },
      total_tokens: input + reply.output,
    },
    faults,
  )
  const identity: Identity = { id: idOf('resp_', seed.fork('id'), store), created: seed.created(), model }
  const progress: Readonly<Record<'begun' | 'ended' | 'failed', Progress>> = {
    begun: { status: 'in_progress', output: [], usage: null, error: null },
    ended: { status: end, output: items.map(item => itemJson(item, 'done')), usage, error: null },
    failed: { status: 'failed', output: [], usage: null, error: FAILURE },
  }
  return { items, end, object: at => envelope(identity, body, progress[at]) }
}

const FAILURE = { code: 'server_error', message: 'The server had an error while processing your request.' } as const
