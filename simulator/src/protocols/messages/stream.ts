import type { StreamEvent } from '../../protocol.js'
import type { Reply } from './message.js'

/** The message as it stands at its end. */
export function whole(reply: Reply): object {
  const { blocks, stop, usage } = reply
  return { ...head(reply), content: blocks.map(block => block.whole), ...stop, usage: usage.ended, container: null }
}

/** The events of a message. Blocks never interleave; a ping follows the start of the first. */
export function* events(reply: Reply): Generator<StreamEvent> {
  const { blocks, stop, usage } = reply
  const none = { stop_reason: null, stop_sequence: null, stop_details: null }
  const message = { ...head(reply), content: [], ...none, usage: usage.begun, container: null }
  yield event('message_start', { message })
  if (blocks.length === 0) yield event('ping', {})
  for (const [index, { begun, deltas }] of blocks.entries()) {
    yield event('content_block_start', { index, content_block: begun })
    if (index === 0) yield event('ping', {})
    for (const delta of deltas) yield event('content_block_delta', { index, delta })
    yield event('content_block_stop', { index })
  }
  yield event('message_delta', { delta: { ...stop, container: null }, usage: lasting(usage.ended) })
  yield { ...event('message_stop', {}), terminal: true }
}

export function event(type: string, fields: object): StreamEvent {
  return { event: type, data: JSON.stringify({ type, ...fields }) }
}

function head({ id, model }: Reply): object {
  return { model, id, type: 'message', role: 'assistant' }
}

const AT_START = ['cache_creation', 'service_tier', 'inference_geo']

/** The counts that the end of a stream tells again. */
function lasting(usage: object | undefined): object | undefined {
  if (usage === undefined) return undefined
  return Object.fromEntries(Object.entries(usage).filter(([name]) => !AT_START.includes(name)))
}
