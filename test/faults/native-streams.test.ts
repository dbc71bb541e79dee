import t, { type Test } from 'tap'
import { stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** Native streams have no last event; they are complete once a message has said how the answer ended. */

const text = (words: string, more: object = {}) => ({
  candidates: [{ content: { role: 'model', parts: [{ text: words }] }, index: 0, ...more }],
})
const usage = (tokens: number) => ({
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: tokens, totalTokenCount: 3 + tokens },
})

/** The framing by which the client asks, and the one in which the upstream answers. */
const FRAMINGS: readonly (readonly [query: string, upstream: 'events' | 'array'])[] = [
  ['?alt=sse', 'events'],
  ['', 'events'],
  ['', 'array'],
  ['?alt=sse', 'array'],
]

async function streamed(
  t: Test,
  [query, framing]: (typeof FRAMINGS)[number],
  messages: readonly object[],
): Promise<{ answer: Answer; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t)
  const said = messages.map(message => JSON.stringify(message))
  upstream.answer(
    framing === 'events'
      ? stream(said.map(data => `data: ${data}\r\n\r\n`))
      : stream([`[${said.join(',\r\n')}]`], { headers: { 'content-type': 'application/json' } }),
  )
  const speaks =
    'speaks: { generate: { call: "POST /v1beta/models/{model}:generateContent", ' +
    'stream: "POST /v1beta/models/{model}:streamGenerateContent?alt=sse" } }'
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", ${speaks} } }\nmodels: { m: up }\n`,
  )
  const answer = await gateway.request(`/v1beta/models/m:streamGenerateContent${query}`, {
    body: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
  })
  return { answer, gateway }
}

for (const framing of FRAMINGS) {
  const name = `${framing[1]} to ${framing[0] === '' ? 'lines' : 'events'}`

  t.test(`F-U8 ${name}: a transfer that ends before the answer says that it is complete is broken off`, async t => {
    const { answer, gateway } = await streamed(t, framing, [text('one'), { ...text('two'), ...usage(5) }])
    t.equal(answer.status, 200)
    t.match(answer.text, /"one".*"two".*"error":\{"code":502/s, 'what was delivered stays, an error ends it')
    t.match(await gateway.log.find(line => line.msg === 'request'), {
      outcome: 'upstream_error',
      error: 'upstream_truncated',
      truncated: true,
      output_tokens: 5,
    })
  })

  t.test(`${name}: an answer that tells its end is whole, wherever its end is`, async t => {
    const ends = [
      [text('one'), text('two', { finishReason: 'STOP' })],
      [text('one', { finishReason: 'STOP' }), text('more'), usage(5)],
      [{ promptFeedback: { blockReason: 'SAFETY' }, ...usage(0) }],
    ]
    for (const messages of ends) {
      const { answer, gateway } = await streamed(t, framing, messages)
      t.notMatch(answer.text, /"error"/)
      t.match(await gateway.log.find(line => line.msg === 'request'), { outcome: 'ok' })
    }
  })

  t.test(`${name}: the last usage in the stream counts, wherever it is`, async t => {
    const messages = [
      { ...text('one'), ...usage(1) },
      { ...text('two'), ...usage(5) },
      text('', { finishReason: 'STOP' }),
    ]
    const { gateway } = await streamed(t, framing, messages)
    t.match(await gateway.log.find(line => line.msg === 'request'), {
      outcome: 'ok',
      input_tokens: 3,
      output_tokens: 5,
    })
  })

  t.test(`F-U8 ${name}: the words of an answer end nothing`, async t => {
    const { gateway } = await streamed(t, framing, [text('{"finishReason": "STOP"}')])
    t.match(await gateway.log.find(line => line.msg === 'request'), { error: 'upstream_truncated' })
  })
}

proveNoLeak(t)
