import type { Call } from '../../protocol.js'
import type { TextReply } from '../../text/conversation.js'
import { compose } from '../../text/engine.js'
import { promptTokens, spoiled } from '../../text/usage.js'
import { envelope, type Identity, type Progress } from './envelope.js'
import { type Item, idOf, itemJson, itemsOf } from './items.js'
import type { ResponsesRequest } from './request.js'
import { plain } from './stored.js'

/** An answer: the same for the whole object and for its stream. */
export interface Response {
  readonly items: readonly Item[]
  readonly end: 'completed' | 'incomplete'
  /** The response object as it stands before the first item, at its end, or where it fails. */
  readonly object: (at: 'begun' | 'ended' | 'failed') => object
}

/** Answers a request, and keeps the answer where it is to be stored. */
export function respond(request: ResponsesRequest, { seed, faults, memory }: Call): Response {
  const { body, model, text, input, store } = request
  const reply = compose(text)
  const items = itemsOf(reply, request)
  const reason = REASONS[reply.finish]
  const end = reason === undefined ? 'completed' : 'incomplete'
  const asked = promptTokens(text).input
  const usage = spoiled(
    {
      input_tokens: asked,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: reply.output,
      output_tokens_details: { reasoning_tokens: reply.reasoning },
      total_tokens: asked + reply.output,
    },
    faults,
  )
  const identity: Identity = { id: idOf('resp_', seed.fork('id'), store), created: seed.created(), model }
  const progress: Readonly<Record<'begun' | 'ended' | 'failed', Progress>> = {
    begun: { status: 'in_progress', output: [], usage: null, error: null },
    ended: {
      status: end,
      output: items.map(item => itemJson(item, 'done')),
      usage,
      error: null,
      ...(reason && { reason }),
    },
    failed: { status: 'failed', output: [], usage: null, error: FAILURE },
  }
  const object = (at: keyof typeof progress) => envelope(identity, body, progress[at])
  if (store) {
    memory.keep(identity.id, { object: plain(object('ended')), input, output: progress.ended.output.map(plain) })
  }
  return { items, end, object }
}

const FAILURE = { code: 'server_error', message: 'The server had an error while processing your request.' } as const
const REASONS: Partial<Record<TextReply['finish'], string>> = {
  length: 'max_output_tokens',
  blocked: 'content_filter',
}
