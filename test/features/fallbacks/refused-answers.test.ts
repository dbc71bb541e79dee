import t from 'tap'
import { body, CHAT_ANSWER, chatEvent, DONE, stream as events, json } from '../../helpers/answers.js'
import { startTestGateway, upstreamYaml } from '../../helpers/gateway.js'
import { ledgerRecords } from '../../helpers/ledger-records.js'
import { type RawUpstream, type Script, startRawUpstream } from '../../helpers/raw-upstream.js'
import { streams, upstreamOf } from '../../helpers/text-upstreams.js'

type Test = Pick<typeof t, 'teardown'>

/** The model `m` of each protocol leads what it refuses to `careful`, which speaks chat. */
async function started(t: Test, more = '', keys = 'models: ["*"]', careful = 'other') {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  b.answer(json(CHAT_ANSWER))
  const kind = (name: string): string => `{ kind: ${name}, base: "${a.origin}", secret: { env: UPSTREAM_KEY } }`
  const gateway = await startTestGateway(
    t,
    `version: 1
keys: { caller: { secret: { env: CALLER_KEY }, ${keys} } }
upstreams:
  chat: ${upstreamYaml(a.origin)}
  native: ${kind('native-generate')}
  messages: ${kind('messages')}
  converse: ${kind('bedrock-key')}
  other: ${upstreamYaml(b.origin)}
models:
  chat: { targets: [chat], fallbacks: { content_refused: [careful] } }
  native: { targets: [native], fallbacks: { content_refused: [careful] } }
  messages: { targets: [messages], traits: { max_output: 4096 }, fallbacks: { content_refused: [careful] } }
  converse: { targets: [converse], fallbacks: { content_refused: [careful] } }
  plain: chat
  careful: ${careful}
${more}`,
  )
  return { gateway, a, b }
}

const asked = (...all: readonly RawUpstream[]): readonly number[] => all.map(one => one.requests.items.length)

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`

const chatRefused = (content: unknown): object => ({
  ...{ id: 'x', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, finish_reason: 'content_filter', message: { role: 'assistant', content } }],
  usage: { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 },
})
const chatEnd = (reason: string): string => data({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })
const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 7 } }
const unsafe = { candidates: [{ finishReason: 'SAFETY', index: 0 }], usageMetadata: { promptTokenCount: 7 } }
const refusal = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_sequence: null },
  ...{ stop_reason: 'refusal', usage: { input_tokens: 7, output_tokens: 0 } },
}
const refusalEvents = [
  `event: message_start\n${data({ type: 'message_start', message: { ...refusal, stop_reason: null } })}`,
  `event: message_delta\n${data({ type: 'message_delta', delta: { stop_reason: 'refusal' }, usage: { output_tokens: 1 } })}`,
  `event: message_stop\n${data({ type: 'message_stop' })}`,
]

const { answer: said, piece, pieces } = upstreamOf('converse')
const filtered = { ...said, output: { message: { role: 'assistant', content: [] } }, stopReason: 'content_filtered' }
const filteredEvents = [
  pieces[0] ?? '',
  piece('{"stopReason":"guardrail_intervened"}', 'messageStop'),
  pieces.at(-1) ?? '',
]

const REFUSALS: readonly (readonly [string, string, boolean, Script])[] = [
  ['a whole answer of chat', 'chat', false, json(chatRefused(null))],
  ['one whose content is empty', 'chat', false, json(chatRefused(''))],
  ['a stream of chat', 'chat', true, events([data({ choices: [] }), chatEnd('content_filter'), DONE])],
  ['a prompt that the native protocol blocks', 'native', false, json(blocked)],
  ['one in a stream', 'native', true, events([data(blocked)])],
  ['an unsafe answer of the native protocol', 'native', false, json(unsafe)],
  ['a refusal of messages', 'messages', false, json(refusal)],
  ['one in a stream of messages', 'messages', true, events(refusalEvents)],
  ['an answer of converse that is filtered', 'converse', false, json(filtered)],
  ['one in a stream of converse', 'converse', true, streams(upstreamOf('converse'), filteredEvents)],
]

for (const [what, model, isStream, script] of REFUSALS) {
  t.test(`${what}: the fallback is asked, and its answer is all that the client gets`, async t => {
    const { gateway, a, b } = await started(t)
    a.answer(script)
    if (isStream) b.answer(events([chatEvent('careful words'), chatEnd('stop'), DONE]))
    const answer = await gateway.chat({ model, stream: isStream })
    t.equal(answer.status, 200)
    t.same(asked(a, b), [1, 1])
    t.notMatch(answer.text, /content_filter|PROHIBITED|SAFETY|refusal"/)
    if (isStream) t.match(answer.text, /careful words/)
    const line = await gateway.log.find(one => one.msg === 'request')
    t.match(line, { status: 200, outcome: 'ok', upstream: 'other', attempts: [{ phase: 'status', status: 200 }, {}] })
  })
}

t.test('what has content is passed on, also where it ends with a refusal', async t => {
  const { gateway, a, b } = await started(t)
  const text = chatEvent('some words')
  a.answer(
    json(chatRefused('some words')),
    events([text, chatEnd('content_filter'), DONE]),
    // The content and the refusal in one piece of the transfer.
    events([text + chatEnd('content_filter') + DONE]),
    json({ candidates: [{ finishReason: 'SAFETY', content: { parts: [{ text: 'some words' }] } }] }),
  )
  for (const [model, stream] of [
    ['chat', false],
    ['chat', true],
    ['chat', true],
    ['native', false],
  ] as const) {
    const answer = await gateway.chat({ model, stream })
    t.equal(answer.status, 200)
    t.match(answer.text, /some words/)
    t.match(answer.text, /content_filter/)
  }
  t.same(asked(a, b), [4, 0])
})

t.test('a refused answer passes unchanged where no fallback is left', async t => {
  const { gateway, a, b } = await started(t, 'retry: { attempts: 2 }\n')
  a.answer(json(chatRefused(null)))
  b.answer(json(chatRefused(null)))
  const plain = await gateway.chat({ model: 'plain' })
  t.same(plain.json(), chatRefused(null))
  const both = await gateway.chat({ model: 'chat' })
  t.equal(both.status, 200)
  t.same(both.json(), chatRefused(null), 'the fallback refuses, too: its own answer')
  t.same(asked(a, b), [2, 1])
})

/** What keeps the fallback from answering, and how often it is asked. */
const DENIED: readonly (readonly [string, string, Script, number])[] = [
  ['has no room', '{ upstream: other, limits: { requests: 1/day } }', json(CHAT_ANSWER), 1],
  ['fails', 'other', json({ error: { message: 'busy' } }, { status: 503 }), 1],
]

for (const [what, careful, script, times] of DENIED) {
  const room = async (t: Test) => {
    const staged = await started(t, 'retry: { attempts: 2 }\n', undefined, careful)
    if (careful !== 'other') await staged.gateway.chat({ model: 'careful' })
    staged.b.answer(script)
    return staged
  }
  t.test(`where the fallback ${what}, the client gets the refused answer, unchanged`, async t => {
    for (const [model, isStream, refused] of [
      ['chat', false, json(chatRefused(null))],
      ['chat', true, events([data({ choices: [] }), chatEnd('content_filter'), DONE])],
    ] as const) {
      const { gateway, a, b } = await room(t)
      a.answer(refused)
      const answer = await gateway.chat({ model, stream: isStream })
      t.equal(answer.status, 200)
      if (isStream) t.equal(answer.text, data({ choices: [] }) + chatEnd('content_filter') + DONE)
      else t.same(answer.json(), chatRefused(null))
      t.same(asked(a, b), [1, times])
      const line = await gateway.log.find(one => one.msg === 'request' && one.model === 'chat')
      t.match(line, { status: 200, error: 'upstream_rejected' })
    }
  })

  t.test(`where the fallback ${what}, a client of another protocol gets a refusal in its family`, async t => {
    const { gateway, a } = await room(t)
    a.answer(json(chatRefused(null)))
    const messages = [{ role: 'user', content: 'hi' }]
    const answer = await gateway.request('/v1/messages', { body: { model: 'chat', max_tokens: 9, messages } })
    t.equal(answer.status, 400)
    t.match(answer.json(), { type: 'error', error: { type: 'invalid_request_error', message: /content policy/ } })
    const native = await gateway.request('/v1beta/models/chat:generateContent', {
      body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    })
    t.equal(native.status, 400)
    t.match(native.json(), { error: { code: 400, status: 'INVALID_ARGUMENT', message: /content policy/ } })
  })
}

t.test('where the key may not use the fallback, and with one attempt, the answer passes', async t => {
  const { gateway, a, b } = await started(t, 'retry: { attempts: 1 }\n')
  a.answer(json(chatRefused(null)))
  t.same((await gateway.chat({ model: 'chat' })).json(), chatRefused(null))
  t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'ok', upstream: 'chat' })
  t.same(asked(a, b), [1, 0])
  const barred = await started(t, '', 'models: [chat]')
  barred.a.answer(json(chatRefused(null)))
  t.same((await barred.gateway.chat({ model: 'chat' })).json(), chatRefused(null))
  t.same(asked(barred.a, barred.b), [1, 0])
})

t.test('a good answer passes byte for byte, however it is cut', async t => {
  const { gateway, a, b } = await started(t)
  const text = JSON.stringify({ ...CHAT_ANSWER, filler: 'x'.repeat(100_000) })
  a.answer(body(text, { headers: { 'content-type': 'application/json' } }))
  const answer = await gateway.chat({ model: 'chat' })
  t.equal(answer.text, text)
  const empty = { ...CHAT_ANSWER, choices: [] }
  a.answer(json(empty))
  t.same((await gateway.chat({ model: 'chat' })).json(), empty)
  t.same(asked(a, b), [2, 0])
})

t.test('what the refused prompt used is charged', async t => {
  const { gateway, a } = await started(t, 'prices: { "*": { input: 1, output: 1 } }\n')
  a.answer(json(chatRefused(null)))
  await gateway.chat({ model: 'chat' })
  const records = await ledgerRecords(gateway)
  t.match(
    records.find(one => one.upstream === 'chat'),
    { cost: 7, units: { input: 7 } },
  )
})
