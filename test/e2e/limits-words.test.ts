import t from 'tap'
import { startTestGateway } from '../helpers/gateway.js'

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
