import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { command } from '../../cli/in-process.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../../helpers/admin.js'
import { CHAT_ANSWER, chatEvent, DONE, json, stream } from '../../helpers/answers.js'
import { oneUpstream, startTestGateway } from '../../helpers/gateway.js'
import { startRawUpstream } from '../../helpers/raw-upstream.js'

const FITS = `{ type: object, required: [id, choices], properties: { id: { type: string, maxLength: 40 }, choices: { type: array, items: { type: object, required: [message] } } } }`
const DIFFERS = 'an answer does not fit its schema'
const SECRET_TEXT = 'what-the-model-said'

t.test('answers are compared after they have been sent, and none is refused', async t => {
  const { line, origin } = await adminLine(', metrics: {}')
  const up = await startRawUpstream(t)
  const checks = `response_schemas:\n  POST /v1/chat/completions: { schema: ${FITS}, check: 100% }\n${line}\n`
  const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const gateway = await startTestGateway(t, oneUpstream(up.origin, checks), { env })
  const { choices, ...rest } = CHAT_ANSWER
  up.answer(
    json(CHAT_ANSWER),
    json({ ...rest, choices: [{ text: SECRET_TEXT }] }),
    json({ ...CHAT_ANSWER, id: SECRET_TEXT.repeat(10) }),
    json({ ...rest, choices: [{ text: SECRET_TEXT }] }),
    json({ ...CHAT_ANSWER, more: 'x'.repeat(1024 * 1024) }),
    json({ error: { message: 'no' } }, { status: 400 }),
    stream([chatEvent('hello'), DONE]),
  )
  for (let at = 0; at < 5; at++) {
    const answer = await gateway.chat()
    t.equal(answer.status, 200)
    t.ok(answer.whole, 'as the upstream sent it')
  }
  t.equal((await gateway.chat()).status, 400)
  t.equal((await gateway.chat({ stream: true })).status, 200)
  t.same((await gateway.chat({ n: 'none' })).status, 400, 'a refusal of the gateway')
  await gateway.log.find(one => one.msg === DIFFERS && one.rule === 'length')
  const lines = gateway.log.items.filter(one => one.msg === DIFFERS)
  t.match(lines[0], { route: 'POST /v1/chat/completions', model: 'm', upstream: 'up', rule: 'required', level: 'warn' })
  t.match(lines[0]?.param, /^choices\[0\]/)
  t.match(lines[0]?.next, /response_schemas/)
  t.match(lines[1], { param: 'id', rule: 'length' })
  t.equal(lines.length, 2, 'the same difference is logged once a minute')
  t.notMatch(JSON.stringify(gateway.log.items), SECRET_TEXT, 'nothing of the content')

  const admin = adminOf(t, origin)
  const metrics = (await admin('GET', '/metrics')).text
  const counted = Object.fromEntries(
    [...metrics.matchAll(/^gateway_response_checks_total\{.*result="(\w+)".*\} (\d+)$/gm)].map(([, result, count]) => [
      result,
      Number(count),
    ]),
  )
  t.same(counted, { fits: 1, differs: 3, unchecked: 1 })
})

t.test('the plan shows it, and a member that is missing is reported', async t => {
  const up = await startRawUpstream(t)
  const checks = `response_schemas:\n  GET /v1/models: { schema: { type: object }, check: 0.001% }\n  POST /v1/rerank: { schema: { type: object, required: [results] }, check: 100% }\n`
  const gateway = await startTestGateway(t, oneUpstream(up.origin, checks))
  const shown = await command(['explain', '-f', join(gateway.folder, 'gateway.yaml')], {
    env: { CALLER_KEY: 'x'.repeat(20), UPSTREAM_KEY: 'y'.repeat(20) },
  })
  t.match(shown.stdout, 'answers compared with POST /v1/rerank response, 100% of answers')
  up.answer(json({ nothing: true }))
  t.equal((await gateway.request('/v1/rerank', { body: { model: 'm', query: 'q', documents: ['d'] } })).status, 200)
  t.match(await gateway.log.find(one => one.msg === DIFFERS), { param: 'results', rule: 'required' })
})

t.test('gateway test compares all, and fails', async t => {
  const folder = t.testdir({
    'gateway.yaml': `version: 1
keys: { app: { secret: { env: APP_KEY } } }
upstreams: { up: { base: "https://up.example", speaks: { chat: POST /v1/chat/completions } } }
models: { m: up }
schemas: { answer: answer.json }
response_schemas: { POST /v1/chat/completions: { schema: answer, check: 0.001% } }
`,
    'answer.json': JSON.stringify({ type: 'object', required: ['choices'] }),
  })
  const testOf = (body: object): void =>
    writeFileSync(
      join(folder, 'one.test.yaml'),
      JSON.stringify({
        config: 'gateway.yaml',
        tests: {
          answers: {
            request: {
              to: 'POST /v1/chat/completions',
              body: { model: 'm', messages: [{ role: 'user', content: 'hello' }] },
            },
            upstream: { up: { answer: { body } } },
            expect: { status: 200 },
          },
        },
      }),
    )
  testOf({ choices: [] })
  const good = await command(['test', join(folder, 'one.test.yaml')])
  t.equal(good.code, 0, good.stdout)
  testOf({ chioces: [] })
  const bad = await command(['test', join(folder, 'one.test.yaml')])
  t.equal(bad.code, 1)
  t.match(bad.stdout, /the answer of POST \/v1\/chat\/completions does not fit its schema at choices: required/)
})
