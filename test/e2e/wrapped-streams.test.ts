import t, { type Test } from 'tap'
import { encodeMessage } from '../../src/wire/eventstream.js'
import { body } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { EVENTSTREAM } from '../helpers/eventstream.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { clientOf } from '../helpers/text-clients.js'
import { streams, TEXT, type TextUpstream, upstreamOf } from '../helpers/text-upstreams.js'

// Streams of the messages protocol inside messages of the binary framing, as InvokeModel sends them.

const inner = upstreamOf('messages')
const { bytes } = upstreamOf('converse')

/** Each event as a message of its own, which holds it in base64. */
const wrapped: TextUpstream = {
  ...inner,
  contentType: EVENTSTREAM,
  pieces: inner.pieces.map(piece => {
    const data = Buffer.from(/data: (.*)\n/.exec(piece)?.[1] ?? '').toString('base64')
    return `event: chunk\ndata: ${JSON.stringify({ bytes: data })}\n\n`
  }),
  bytes,
}
const exception = (name: string, message: string): string => `event: ${name}\ndata: ${JSON.stringify({ message })}\n\n`

async function stage(t: Test): Promise<{ a: RawUpstream; b: RawUpstream; ask(stream: boolean): Promise<Answer> }> {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  b.answer(streams(wrapped))
  const one = (name: string, up: RawUpstream): string => `  ${name}: { base: "${up.origin}", ${inner.yaml} }\n`
  const more = 'retry: { attempts: 2, on: [bad_response, 429, 500] }\nhealth: off\n'
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams:\n${one('a', a)}${one('b', b)}models: { m: [a, b] }\n${more}`,
  )
  const client = clientOf('messages')
  const ask = (stream: boolean): Promise<Answer> =>
    gateway.request(client.path('m', stream), { headers: client.headers(gateway.key), body: client.body('m', stream) })
  return { a, b, ask }
}

t.test('they arrive as the event stream that they hold', async t => {
  const { a, ask } = await stage(t)
  a.answer(streams(wrapped))
  t.match(clientOf('messages').ending(await ask(true)), { text: TEXT, good: 1, errors: [], trailing: false })
})

t.test('F-U14 an exception in the middle is an error of the family, with the words of the upstream', async t => {
  for (const [name, word] of [
    ['throttlingException', 'rate_limit_error'],
    ['internalServerException', 'api_error'],
  ] as const) {
    const { a, b, ask } = await stage(t)
    a.answer(streams(wrapped, [...wrapped.pieces.slice(0, 4), exception(name, 'out of chalk')]))
    const { good, errors } = clientOf('messages').ending(await ask(true))
    t.same({ good, errors }, { good: 0, errors: [{ message: 'out of chalk', word }] }, name)
    t.equal(b.requests.items.length, 0)
  }
})

t.test('F-U14 an exception as the first message: the next target answers', async t => {
  const { a, b, ask } = await stage(t)
  a.answer(streams(wrapped, [exception('throttlingException', 'slow down')]))
  t.match(clientOf('messages').ending(await ask(true)), { text: TEXT, good: 1, errors: [] })
  t.equal(b.requests.items.length, 1)
})

t.test('F-U14 a failure that the service does not describe: the next target answers', async t => {
  const { a, b, ask } = await stage(t)
  a.answer(
    body(
      encodeMessage(
        [
          [':message-type', 'error'],
          [':error-code', 'InternalFailure'],
          [':error-message', 'out'],
        ],
        Buffer.alloc(0),
      ),
      { headers: { 'content-type': EVENTSTREAM } },
    ),
  )
  t.match(clientOf('messages').ending(await ask(true)), { text: TEXT, good: 1, errors: [] })
  t.equal(b.requests.items.length, 1)
})

t.test('F-U13 such a stream to those who asked for a whole answer is refused', async t => {
  const { a, b, ask } = await stage(t)
  for (const up of [a, b]) up.answer(streams(wrapped))
  clientOf('messages').error(t, await ask(false), 502)
})

proveNoLeak(t)
