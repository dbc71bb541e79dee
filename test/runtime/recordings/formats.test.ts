import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { PlayedExchange } from '../../../src/runtime/recordings/exchange.js'
import { Player } from '../../../src/runtime/recordings/player.js'
import { readExchanges } from '../../../src/runtime/recordings/read.js'
import { textFrame } from '../../../src/wire/frames.js'
import { CALLER, startTestGateway } from '../../helpers/gateway.js'
import { tryPlan } from '../../helpers/plans.js'
import { ask } from '../../helpers/realtime.js'
import { referenceFolder } from '../../helpers/recordings.js'

const URL = 'https://api.example.com/v1/chat/completions'
const ASKED = '{"model":"m","messages":[{"role":"user","content":"hello"}]}'
const ANSWER =
  '{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi from FORMAT"},"finish_reason":"stop"}]}'
const answer = (format: string): string => ANSWER.replace('FORMAT', format)
const packed = gzipSync(answer('packed')).toString('base64')

/** The same exchange, as each recorder writes it. */
const FILES: Readonly<Record<string, string>> = {
  'har.har': JSON.stringify({
    log: {
      entries: [
        {
          time: 12,
          request: {
            method: 'POST',
            url: URL,
            headers: [{ name: 'Content-Type', value: 'application/json' }],
            postData: { text: ASKED },
          },
          response: {
            status: 200,
            headers: [
              { name: 'Content-Type', value: 'application/json' },
              { name: 'Content-Length', value: '3' },
            ],
            content: { text: Buffer.from(answer('har')).toString('base64'), encoding: 'base64' },
          },
        },
      ],
    },
  }),
  'vcrpy.yaml': `interactions:
- request: { body: '${ASKED}', headers: { content-type: [application/json] }, method: POST, uri: '${URL}' }
  response:
    body: { string: '${answer('vcrpy')}' }
    headers: { Content-Type: [application/json], Transfer-Encoding: [chunked] }
    status: { code: 200, message: OK }
version: 1
`,
  'packed.yaml': `interactions:
- request: { body: '${ASKED}', headers: {}, method: POST, uri: '${URL}' }
  response:
    body: { string: !!binary '${packed}' }
    headers: { content-type: [application/json], content-encoding: [gzip] }
    status: { code: 200, message: OK }
`,
  'ruby.yml': `---
http_interactions:
- request: { method: post, uri: '${URL}', body: { encoding: UTF-8, string: '${ASKED}' }, headers: { Content-Type: [application/json] } }
  response:
    status: { code: 200, message: OK }
    headers: { Content-Type: [application/json] }
    body: { encoding: UTF-8, string: '${answer('ruby')}' }
recorded_with: VCR 6.4.0
`,
  'go.yaml': `version: 1
interactions:
- request: { body: '${ASKED}', url: '${URL}', method: POST, headers: {} }
  response: { body: '${answer('go')}', headers: { Content-Type: [application/json] }, status: 200 OK, code: 200 }
`,
  'segments.json': JSON.stringify({
    interactions: [
      {
        request: { method: 'POST', url: '/v1/chat/completions', headers: {}, bodySegments: [JSON.parse(ASKED)] },
        response: {
          statusCode: 200,
          headers: { 'content-type': 'application/json' },
          bodySegments: [JSON.parse(answer('segments'))],
        },
      },
    ],
  }),
  'lines.jsonl': `${JSON.stringify({ request: { method: 'POST', url: URL, headers: {}, body: JSON.parse(ASKED) }, response: { status: 200, headers: { 'content-type': 'application/json' }, body: answer('lines') } })}\n`,
}

t.test('recordings of other programs are played as they are', async t => {
  const folder = t.testdir(FILES)
  const names = Object.keys(FILES)
  const config = `version: 1
${CALLER}
upstreams:
${names.map((name, at) => `  up${at}: { kind: recorded, recordings: "${join(folder, name)}" }\n`).join('')}models:
${names.map((_, at) => `  m${at}: { upstream: up${at}, as: m }\n`).join('')}`
  const gateway = await startTestGateway(t, config)
  for (const [at, name] of names.entries()) {
    const { status, text } = await gateway.chat({ model: `m${at}` })
    t.equal(status, 200, text)
    t.match(text, `hi from ${name.replace(/\..*/, '')}`)
  }
})

t.test('what cannot be played stops the start: a broken file, a folder without recordings', async t => {
  const folder = t.testdir({ broken: { 'a.json': '{' }, none: { 'a.json': '{}' } })
  await t.rejects(readExchanges(join(folder, 'broken')), /recordings: a\.json cannot be read/)
  await t.rejects(readExchanges(join(folder, 'none')), /no exchange was found/)
  const config = (more: string): string =>
    `version: 1\n${CALLER}\nupstreams: { up: { kind: recorded${more} } }\nmodels: { m: up }\n`
  const told = async (more: string): Promise<unknown> =>
    (await tryPlan(t, config(more))).problems.map(one => one.message)
  t.match(await told(', recordings: away'), ['there is no folder or file "away"'])
  t.match(await told(''), [/^recordings is missing here/])
})

t.test('the timing of a recording is kept where it is asked for', async t => {
  const chunks = [1, 2].map(n => ({ after_ms: 20 * n, text: `data: {"n":${n}}\n\n` }))
  const folder = t.testdir({
    'a.json': JSON.stringify({
      request: { method: 'POST', url: URL, body: JSON.parse(ASKED) },
      response: { status: 200, headers: { 'content-type': 'text/event-stream' }, after_ms: 10, chunks },
    }),
  })
  const [exchange] = await readExchanges(folder)
  t.match(exchange, { headAt: 10, pieces: [{ at: 20 }, { at: 40 }] })
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: { kind: recorded, recordings: { from: "${folder}", timing: recorded, match: [model] } } }\nmodels: { m: up }\n`,
  )
  const { text } = await gateway.chat({ model: 'm', stream: true })
  t.match(text, 'data: {"n":2}')
})

/** The same session, as each recorder writes it. */
const SESSIONS: Readonly<Record<string, string>> = {
  'cassette.yaml': `version: 1
interactions:
- { kind: message, direction: received, data: { type: session.created } }
- { kind: message, direction: sent, data: { type: hello } }
- { kind: message, direction: received, data: { type: said, by: cassette } }
`,
  'browser.har': JSON.stringify({
    log: {
      entries: [
        {
          request: { method: 'GET', url: 'wss://api.example.com/v1/realtime?model=m&key=secret', headers: [] },
          response: { status: 101, headers: [], content: {} },
          _webSocketMessages: [
            { type: 'receive', time: 1700000000.1, opcode: 1, data: '{"type":"session.created"}' },
            { type: 'send', time: 1700000000.2, opcode: 1, data: '{"type":"hello"}' },
            { type: 'receive', time: 1700000000.25, opcode: 1, data: '{"type":"said","by":"browser"}' },
          ],
        },
      ],
    },
  }),
}

t.test('sessions of other programs are played as they are', async t => {
  const folder = t.testdir(SESSIONS)
  t.match((await readExchanges(join(folder, 'browser.har')))[0]?.session?.frames, [{ at: 0 }, { at: 100 }, { at: 150 }])
  for (const name of Object.keys(SESSIONS)) {
    const gateway = await startTestGateway(
      t,
      `version: 1\n${CALLER}\nupstreams: { up: { kind: recorded, recordings: "${join(folder, name)}" } }\nmodels: { m: up }\n`,
    )
    const { end } = await ask(t, gateway)
    end.send(textFrame('{"type":"hello"}', true))
    t.same(await end.texts.count(2), [
      '{"type":"session.created"}',
      `{"type":"said","by":"${name.replace(/\..*/, '')}"}`,
    ])
  }
})

t.test('each recorded session of the reference is played to its own client', async t => {
  const folder = join(referenceFolder(), 'recordings/pydantic-ai/tests/realtime/cassettes')
  if (!existsSync(folder)) return t.comment('SKIPPED: no recordings (set REFERENCE_DIR)')
  const sessions = (await readExchanges(folder)).filter(({ session }) => session !== undefined)
  t.ok(sessions.length >= 25, `${sessions.length} sessions`)
  const models = 'models: { m: up, "gpt-*": up, "grok-*": up, "whisper-*": up, "azure-*": up }'
  for (const { file, session } of sessions) {
    const recordings = `recordings: "${join(folder, file)}"`
    const gateway = await startTestGateway(
      t,
      `version: 1\n${CALLER}\nupstreams: { up: { kind: recorded, ${recordings} } }\n${models}\n`,
    )
    const { end } = await ask(t, gateway)
    const texts: string[] = []
    for (const frame of session?.frames ?? []) {
      if (frame.from === 'client') end.send(textFrame(JSON.stringify(frame.said), true))
      else if ('bytes' in frame) await end.texts.count(texts.push(frame.bytes.toString('utf8')))
    }
    t.same(end.texts.items, texts, file)
    end.socket.destroy()
  }
})

/** A folder of each recorder. */
const SAMPLE = ['exchanges.jsonl', 'llm-gemini', 'envoy-ai-gateway', 'js-genai', 'ruby-openai', 'dd-trace-py']

t.test('each recording of the reference is found by its own request', async t => {
  const folder = join(referenceFolder(), 'recordings')
  if (!existsSync(folder)) return t.comment('SKIPPED: no recordings (set REFERENCE_DIR)')
  const places = process.env.ALL_RECORDINGS === '1' ? [''] : SAMPLE
  const read = await Promise.all(places.map(place => readExchanges(join(folder, place))))
  console.log(`# MEASURED: ${read.map((found, at) => `${places[at]} ${found.length}`).join(', ')} exchanges`)
  const exchanges = read.flat()
  t.ok(exchanges.length > 2000, `${exchanges.length} exchanges`)
  const player = new Player(exchanges, { from: folder, match: 'strict', timing: 'none' })
  const missed: PlayedExchange[] = []
  for (const exchange of exchanges.filter((_, at) => at % 9 === 0))
    if ('miss' in player.find(exchange)) missed.push(exchange)
  t.same(
    missed.map(({ file }) => file),
    [],
  )
})
