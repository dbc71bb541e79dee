import { messageBlocks } from '../../families/messages.js'
import { type Answer, type Call, endpoint, type Protocol, type StreamEvent } from '../../protocol.js'
import { answerMessages } from './index.js'

const OPTIONS = { body: 'json', operation: '/v1/messages' } as const

/** Message blocks at a cloud: the model is in the path, and the version of the protocol in the body. */
const invoke = endpoint(messageBlocks, 'POST /model/{id}/invoke', OPTIONS, call => answer(call, false))

/** The same as a stream, each event in a message of `application/vnd.amazon.eventstream`. */
const invokeStream = endpoint(messageBlocks, 'POST /model/{id}/invoke-with-response-stream', OPTIONS, call => {
  const stream = answer(call, true)
  if (stream.kind !== 'events') return stream
  return {
    ...stream,
    headers: { 'content-type': 'application/vnd.amazon.eventstream' },
    writing: 'eventstream',
    events: wrapped(stream.events),
    failure: error => [{ event: 'modelStreamErrorException', data: JSON.stringify({ message: error.message }) }],
  }
})

export const INVOKE: readonly Protocol[] = [invoke, invokeStream]

/** Members in place of headers. */
const OF_THE_CLOUD = /_(?:version|beta)$/

function answer(call: Call, stream: boolean): Answer {
  const known = Object.entries(call.body).filter(([name]) => !OF_THE_CLOUD.test(name))
  return answerMessages({ ...call, body: { ...Object.fromEntries(known), model: call.parameter, stream } })
}

function* wrapped(events: Iterable<StreamEvent>): Generator<StreamEvent> {
  for (const { event: _, data, ...rest } of events) {
    yield { ...rest, event: 'chunk', data: JSON.stringify({ bytes: Buffer.from(data).toString('base64') }) }
  }
}
