import t from 'tap'
import { json } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { DURABLE, redisConfig, storeYaml, temporary } from '../helpers/store-kinds.js'
import { startRedis, withoutRedis } from '../helpers/store-servers.js'

// Conversations of the responses protocol, on every type of store, and what becomes of requests while one is away.

type Test = Pick<typeof t, 'teardown' | 'comment'>

const ANSWER = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'well' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
}

async function gatewayOn(test: Test, up: RawUpstream, store: string): Promise<TestGateway> {
  const yaml = `version: 1
keys: { ann: { secret: { env: CALLER_KEY } } }
upstreams: { up: { base: "${up.origin}", speaks: { chat: POST /v1/chat/completions } } }
models: { m: up }
store: ${store}
`
  return startTestGateway(test, yaml)
}

const respond = (gateway: TestGateway, body: object): ReturnType<TestGateway['request']> =>
  gateway.request('/v1/responses', { body: { model: 'm', ...body } })

const kinds = [
  { type: 'memory', skip: false as const, yaml: async () => '{ type: memory }' },
  ...DURABLE.map(({ type, skip, make }) => ({
    type,
    skip,
    yaml: async (test: Test) => storeYaml(await make(test)),
  })),
]

for (const { type, skip, yaml } of kinds) {
  t.test(
    `a conversation goes on, on another gateway as well where the store is shared (${type})`,
    { skip },
    async t => {
      const store = await yaml(t)
      const up = await startRawUpstream(t)
      up.answer(json(ANSWER), json(ANSWER))
      const one = await gatewayOn(t, up, store)
      const other = type === 'memory' ? one : await gatewayOn(t, up, store)
      const first = (await respond(one, { input: 'first' })).json() as { id: string; store: boolean }
      t.equal(first.store, true)
      const second = await respond(other, { input: 'second', previous_response_id: first.id })
      t.equal(second.status, 200)
      const sent = up.requests.items.at(-1)?.json() as { messages: readonly unknown[] } | undefined
      t.equal(sent?.messages.length, 3, JSON.stringify(sent))
      t.equal((await other.request(`/v1/responses/${first.id}`, { method: 'GET' })).status, 200)
      t.equal((await other.request(`/v1/responses/${first.id}`, { method: 'DELETE' })).status, 200)
      t.equal((await one.request(`/v1/responses/${first.id}`, { method: 'GET' })).status, 404)
    },
  )
}

t.test(
  'F-S1 requests that need no store continue without it, others are refused, and all is well after',
  {
    skip: withoutRedis,
  },
  async t => {
    const server = await startRedis(t)
    const up = await startRawUpstream(t)
    up.answer(...Array.from({ length: 12 }, () => json(ANSWER)))
    const gateway = await gatewayOn(t, up, storeYaml(redisConfig(temporary(t), server.port)))
    const { id } = (await respond(gateway, { input: 'first' })).json() as { id: string }
    const ready = async (): Promise<unknown> =>
      ((await gateway.request('/readyz?verbose', { method: 'GET' })).json() as { store: unknown }).store
    t.same(await ready(), { type: 'redis', usable: true })

    await server.kill()
    await gateway.log.find(line => line.msg === 'the store cannot be used')
    for (let n = 0; n < 5; n++) t.equal((await gateway.chat({ model: 'm' })).status, 200)
    const unkept = await respond(gateway, { input: 'second' })
    t.match([unkept.status, unkept.json()], [200, { store: false }])
    t.equal((await respond(gateway, { input: 'third', previous_response_id: id })).status, 503)
    t.match(await ready(), { type: 'redis', usable: false, reason: /cannot be reached/ })
    t.equal((await gateway.request('/readyz', { method: 'GET' })).status, 200)
    t.equal(gateway.log.items.filter(line => line.msg === 'the store cannot be used').length, 1)

    await server.restart()
    await gateway.log.find(line => line.msg === 'the store can be used again')
    t.same(await ready(), { type: 'redis', usable: true })
    t.match((await respond(gateway, { input: 'fourth' })).json(), { store: true })
  },
)
