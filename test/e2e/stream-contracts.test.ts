import t, { type Test } from 'tap'
import { brokenStream, chatEvent, chunk, DONE, hang, startStream, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { streamError } from '../helpers/expect.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

// Events here are cut short.
relaysAnything()

const event = (delta: object): string => {
  const choice = { index: 0, delta, finish_reason: null }
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] })}\n\n`
}
const ROLE = event({ role: 'assistant', content: '' })
const LAST = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`
const GOOD = stream([ROLE, chatEvent('from b'), LAST, DONE])

const chat = (origin: string): string => `{ base: "${origin}", speaks: { chat: POST /v1/chat/completions } }`

interface Stage {
  readonly gateway: TestGateway
  readonly a: RawUpstream
  readonly b: RawUpstream
}

async function stage(t: Test, contract: string, script: Script, more = ''): Promise<Stage> {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(script)
  b.answer(GOOD)
  const upstreams = `upstreams:\n  a: ${chat(a.origin)}\n  b: ${chat(b.origin)}\n`
  const models = `models: { m: { targets: [a, b], stream: ${contract} } }\n`
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}${models}${more}`)
  return { gateway, a, b }
}

/** Bytes that pass, and streams that are translated, by the family of the client. */
const LANES: Readonly<
  Record<string, (gateway: TestGateway) => Promise<{ readonly text: string; readonly status: number }>>
> = {
  relayed: gateway => gateway.chat({ stream: true }),
  messages: gateway =>
    gateway.request('/v1/messages', {
      body: { model: 'm', stream: true, max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
    }),
  responses: gateway => gateway.request('/v1/responses', { body: { model: 'm', stream: true, input: 'hi' } }),
  native: gateway =>
    gateway.request('/v1beta/models/m:streamGenerateContent?alt=sse', {
      body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
    }),
}

const SILENT: Readonly<Record<string, Script>> = {
  'says nothing': hang,
  'sends its head alone': async peer => {
    await startStream(peer)
    await peer.gone()
  },
  'sends pings and a role, and no content': brokenStream([': ping\n\n', ROLE, ': ping\n\n'], hang),
}

for (const [lane, ask] of Object.entries(LANES)) {
  for (const [title, script] of Object.entries(SILENT)) {
    t.test(`F-U3 ${lane}: an upstream that ${title} is left for the next target`, async t => {
      const { gateway, a, b } = await stage(t, '{ first_token: 200ms }', script)
      const { text, status } = await ask(gateway)
      t.equal(status, 200)
      t.match(text, 'from b')
      t.same([a.requests.items.length, b.requests.items.length], [1, 1])
      await a.closes.count(1)
      const line = await gateway.log.find(line => line.msg === 'request')
      t.match(line, {
        attempts: [
          { upstream: 'a', phase: 'first_token' },
          { upstream: 'b', phase: 'ok' },
        ],
      })
    })
  }

  t.test(`${lane}: a gap after content ends the stream with an error event, and no other target is asked`, async t => {
    const { gateway, b } = await stage(t, '{ gap: 200ms }', brokenStream([ROLE, chatEvent('a'), ': ping\n\n'], hang))
    const { text, status } = await ask(gateway)
    t.equal(status, 200)
    t.match(text, '"a"')
    t.match(text, 'error')
    t.equal(b.requests.items.length, 0)
    t.match(await gateway.log.find(line => line.msg === 'request'), { attempts: [{ upstream: 'a', phase: 'gap' }] })
  })

  t.test(`${lane}: then: error leaves it at that before the first content, too`, async t => {
    const { gateway, b } = await stage(t, '{ first_token: 200ms, then: error }', hang)
    const { status } = await ask(gateway)
    t.equal(status, 504)
    t.equal(b.requests.items.length, 0)
  })
}

t.test('events in good time pass unchanged, with what was held before them', async t => {
  const { gateway, b } = await stage(t, '{ first_token: 5s, gap: 5s, min_rate: 1/s }', async peer => {
    await startStream(peer)
    for (const piece of [': ping\n\n', ROLE, chatEvent('a'), chatEvent('b'), LAST, DONE]) await peer.send(chunk(piece))
    await peer.send('0\r\n\r\n')
  })
  const { text } = await gateway.chat({ stream: true })
  t.equal(text, `: ping\n\n${ROLE}${chatEvent('a')}${chatEvent('b')}${LAST}${DONE}`)
  t.equal(b.requests.items.length, 0)
})

t.test('without a contract a silent stream is left by default, a silent whole answer is not', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(hang)
  b.answer(GOOD)
  const upstreams = `upstreams:\n  a: ${chat(a.origin)}\n  b: ${chat(b.origin)}\n`
  const settings = 'timeouts: { first_event: 200ms, first_byte: 400ms }\nhealth: off\n'
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}models: { m: [a, b] }\n${settings}`)
  t.match((await gateway.chat({ stream: true })).text, 'from b')
  t.equal((await gateway.chat()).status, 504)
  t.same([a.requests.items.length, b.requests.items.length], [2, 1])
})

t.test('the error event of a stream that is too slow has the form of its family', async t => {
  const { gateway } = await stage(t, '{ gap: 200ms }', brokenStream([ROLE, chatEvent('a')], hang))
  streamError(t, await gateway.chat({ stream: true }))
})

proveNoLeak(t)
