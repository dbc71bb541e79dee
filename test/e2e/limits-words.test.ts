import t from 'tap'
import type { Feature } from '../../src/kernel/stages.js'
import { startTestGateway } from '../helpers/gateway.js'
import { withFeature } from '../helpers/metered.js'

/** The words of the guide as people write them first: a rate by the minute, a budget by the day, a route of their own. */

const YAML = `version: 1
store: { type: memory }
groups:
  research: { limits: { requests: 600/min, tokens: 2M/min, in_flight: 50, budget: 500 USD/month } }
keys:
  caller: { secret: { env: CALLER_KEY }, group: research, models: ["*"], limits: { @LIMITS@ } }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
prices: { sim-text: { request: 1.00 } }
routes: { POST /own/chat: { protocol: chat, model: body.model, stream: body.stream } }
`
const body = { model: 'sim-text', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }

for (const path of ['/v1/chat/completions', '/own/chat']) {
  t.test(`requests: 3/min at ${path}`, async t => {
    const gateway = await startTestGateway(t, YAML.replace('@LIMITS@', 'requests: 3/min'))
    const answers: Awaited<ReturnType<typeof gateway.request>>[] = []
    // A minute may turn once meanwhile: six pass at most.
    do answers.push(await gateway.request(path, { body }))
    while (answers.at(-1)?.status === 200 && answers.length < 8)
    const last = answers.at(-1)
    t.ok(answers.length > 3 && answers.length < 8, `number ${answers.length} is refused`)
    t.equal(last?.status, 429)
    const seconds = Number(last?.header('retry-after'))
    t.ok(seconds >= 1 && seconds <= 60, `retry after ${seconds} s`)
    t.match(last?.json(), { error: { code: 'rate_limit_exceeded' } })
  })

  t.test(`budget: 2 USD/day at ${path}`, async t => {
    const gateway = await startTestGateway(t, YAML.replace('@LIMITS@', 'budget: 2 USD/day'))
    const before = new Date().getUTCDate()
    const statuses: number[] = []
    for (let n = 0; n < 3; n++) statuses.push((await gateway.request(path, { body })).status)
    t.same(statuses.slice(0, 2), [200, 200])
    // At midnight all three may pass.
    if (new Date().getUTCDate() === before) t.equal(statuses[2], 429)
  })
}

t.test('a limit in total does not renew, and its refusal says so', async t => {
  for (const [limit, size] of [
    ['requests: 1/total', '1 request in total'],
    ['tokens: 10/total', '10 tokens in total'],
  ] as const) {
    const gateway = await startTestGateway(t, YAML.replace('@LIMITS@', limit))
    const answers: Awaited<ReturnType<typeof gateway.request>>[] = []
    do answers.push(await gateway.request('/v1/chat/completions', { body }))
    while (answers.at(-1)?.status === 200 && answers.length < 3)
    const last = answers.at(-1)
    t.equal(last?.status, 429)
    t.equal(last?.header('retry-after'), undefined)
    t.equal(last?.header('x-should-retry'), 'false')
    const message = `Rate limit reached for this key: ${size}. This limit does not renew.`
    t.match(last?.json(), { error: { message, code: 'rate_limit_exceeded' } })
  }
})

t.test('pages of other origins may read the rate-limit headers, and what any other feature names', async t => {
  const yaml = `${YAML.replace('@LIMITS@', 'requests: 3/min')}listen: { cors: { origins: [https://app.example] } }\n`
  const own: Feature = {
    name: 'own',
    compile: () => ({
      name: 'own',
      exposes: ['x-gateway-own'],
      onAnswerHead: (_call, _status, headers) => void headers.push('x-gateway-own', '1'),
    }),
  }
  const gateway = await startTestGateway(t, yaml, { features: withFeature(own) })
  const headers = { origin: 'https://app.example' }
  for (const path of ['/v1/chat/completions', '/v1/nothing']) {
    const answer = await gateway.request(path, { body, headers })
    const exposed = answer.header('access-control-expose-headers')?.split(', ') ?? []
    for (const name of [
      'x-request-id',
      'x-ratelimit-remaining-requests',
      'anthropic-ratelimit-requests-reset',
      'x-gateway-own',
    ])
      t.ok(exposed.includes(name), `${path}: ${name}`)
    t.equal(answer.header('x-gateway-own'), '1')
    t.equal(new Set(exposed).size, exposed.length)
  }
  const bare = await gateway.request('/v1/chat/completions', { body })
  t.equal(bare.header('access-control-expose-headers'), undefined)
})
