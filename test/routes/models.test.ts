import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, request } from '../helpers/raw-client.js'

const YAML = `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  few: { secret: { env: FEW_KEY }, models: [sim-text] }
upstreams:
  sim: { kind: simulator, base: "http://127.0.0.1:9" }
  off: { kind: bearer, base: https://off.example, secret: { env: NOT_SET }, speaks: { chat: POST /chat } }
models:
  sim-text: { upstream: sim, created: 1700000000, owner: us }
  vendor/big: sim
  gone: off
`

const VERSION = { 'anthropic-version': '2023-06-01' }
const FEW = 'few-0123456789abcdef'

async function started(t: Test, yaml = YAML): Promise<TestGateway> {
  return startTestGateway(t, yaml, { env: { FEW_KEY: FEW } })
}

/** A GET with the key in a header of its own. */
function get(t: Test, { origin, key }: TestGateway, path: string, header: string, more: object = {}): Promise<Answer> {
  return request(t, origin, path, { headers: { [header]: key, ...more } })
}

const idsOf = (answer: Answer): unknown => (answer.json() as { data: { id: string }[] }).data.map(({ id }) => id)
const namesOf = (answer: Answer): unknown =>
  (answer.json() as { models: { name: string }[] }).models.map(one => one.name)

t.test('a client of the compatible family is told of models in its shape', async t => {
  const gateway = await started(t)
  const list = await gateway.request('/v1/models')
  t.same(list.json(), {
    object: 'list',
    data: [
      { id: 'sim-text', object: 'model', created: 1_700_000_000, owned_by: 'us' },
      { id: 'vendor/big', object: 'model', created: 1_735_689_600, owned_by: 'sim' },
    ],
  })
  t.match((await gateway.request('/v1/models/vendor/big')).json(), { id: 'vendor/big', object: 'model' })
})

t.test('a client that sends the version of message blocks gets that shape, whichever key it uses', async t => {
  const gateway = await started(t)
  for (const answer of [
    await get(t, gateway, '/v1/models', 'x-api-key', VERSION),
    await gateway.request('/v1/models', { headers: VERSION }),
  ]) {
    t.same(answer.json(), {
      data: [
        { type: 'model', id: 'sim-text', display_name: 'sim-text', created_at: '2023-11-14T22:13:20.000Z' },
        { type: 'model', id: 'vendor/big', display_name: 'vendor/big', created_at: '2025-01-01T00:00:00.000Z' },
      ],
      has_more: false,
      first_id: 'sim-text',
      last_id: 'vendor/big',
    })
  }
  const one = await get(t, gateway, '/v1/models/vendor/big', 'x-api-key', VERSION)
  t.match(one.json(), { type: 'model', id: 'vendor/big' })
})

t.test('the native list has the native shape, with what can be asked of each model', async t => {
  const gateway = await started(t)
  for (const [path, header] of [
    ['/v1beta/models', 'x-goog-api-key'],
    ['/v1beta/models', 'authorization'],
    ['/v1/models', 'x-goog-api-key'],
  ] as const) {
    const answer = header === 'authorization' ? await gateway.request(path) : await get(t, gateway, path, header)
    t.match(answer.json(), {
      models: [
        {
          name: 'models/sim-text',
          displayName: 'sim-text',
          supportedGenerationMethods: [
            'generateContent',
            'streamGenerateContent',
            'countTokens',
            'embedContent',
            'batchEmbedContents',
          ],
        },
        { name: 'models/vendor/big' },
      ],
    })
    t.notOk('nextPageToken' in (answer.json() as object))
  }
  const one = await get(t, gateway, '/v1beta/models/vendor/big', 'x-goog-api-key')
  t.match(one.json(), { name: 'models/vendor/big' })
})

t.test('every family sees only the models of its key that some upstream serves', async t => {
  const gateway = await started(t)
  t.same(idsOf(await gateway.request('/v1/models', { key: FEW })), ['sim-text'])
  t.same(idsOf(await gateway.request('/v1/models', { key: FEW, headers: VERSION })), ['sim-text'])
  t.same(namesOf(await gateway.request('/v1beta/models', { key: FEW })), ['models/sim-text'])
})

t.test('a model that is not there, that is off and that the key may not use: one answer in each family', async t => {
  const gateway = await started(t)
  const ask = (path: string, headers = {}): Promise<Answer> => gateway.request(path, { key: FEW, headers })
  for (const name of ['nothing', 'gone', 'vendor/big']) {
    const compatible = await ask(`/v1/models/${name}`)
    t.equal(compatible.status, 404)
    t.same(compatible.json(), {
      error: {
        message: `The model '${name}' does not exist`,
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    })
    const messages = await ask(`/v1/models/${name}`, VERSION)
    t.equal(messages.status, 404)
    t.match(messages.json(), { type: 'error', error: { type: 'not_found_error', message: `model: ${name}` } })
    const native = await ask(`/v1beta/models/${name}`)
    t.equal(native.status, 404)
    t.match(native.json(), { error: { code: 404, status: 'NOT_FOUND' } })
    t.match((native.json() as { error: { message: string } }).error.message, `models/${name} is not found`)
  }
})

t.test('a key that is refused is refused in the shape of the family that asks', async t => {
  const { origin } = await started(t)
  const ask = (path: string, headers: Record<string, string>): Promise<Answer> => request(t, origin, path, { headers })
  t.match((await ask('/v1/models', { 'x-api-key': 'wrong', ...VERSION })).json(), {
    type: 'error',
    error: { type: 'authentication_error' },
  })
  t.match((await ask('/v1beta/models', { 'x-goog-api-key': 'wrong' })).json(), { error: { status: 'UNAUTHENTICATED' } })
  t.match((await ask('/v1/models', { authorization: 'Bearer wrong' })).json(), { error: { code: 'invalid_api_key' } })
})

/** Seven models, m1 to m7. */
const MANY = YAML.replace(
  /models:\n {2}sim-text[\s\S]*$/,
  `models: { ${[1, 2, 3, 4, 5, 6, 7].map(n => `m${n}: sim`)} }\n`,
).replace('[sim-text]', '[m1]')

t.test('pages of message clients go forwards and backwards', async t => {
  const gateway = await started(t, MANY)
  const page = async (query: string): Promise<unknown> => {
    const answer = await gateway.request(`/v1/models?${query}`, { headers: VERSION })
    const { first_id, last_id, has_more } = answer.json() as Record<string, unknown>
    return [first_id, last_id, has_more]
  }
  t.same(await page('limit=3'), ['m1', 'm3', true])
  t.same(await page('limit=3&after_id=m3'), ['m4', 'm6', true])
  t.same(await page('limit=3&after_id=m6'), ['m7', 'm7', false])
  t.same(await page('limit=3&after_id=m7'), [null, null, false])
  t.same(await page('limit=3&before_id=m6'), ['m3', 'm5', true])
  t.same(await page('limit=3&before_id=m3'), ['m1', 'm2', false])
  t.same(await page('limit=100000'), ['m1', 'm7', false])
})

t.test('pages of native clients are walked with tokens', async t => {
  const gateway = await started(t, MANY)
  const seen: unknown[] = []
  let token = ''
  do {
    const answer = await gateway.request(`/v1beta/models?pageSize=3&pageToken=${encodeURIComponent(token)}`)
    seen.push(namesOf(answer))
    token = (answer.json() as { nextPageToken?: string }).nextPageToken ?? ''
  } while (token !== '')
  t.same(seen, [['models/m1', 'models/m2', 'models/m3'], ['models/m4', 'models/m5', 'models/m6'], ['models/m7']])
})

t.test('a page that there is not is refused, naming the parameter', async t => {
  const gateway = await started(t, MANY)
  for (const query of ['limit=0', 'limit=-1', 'limit=many', 'limit=1.5', 'after_id=nothing', 'before_id=nothing']) {
    const answer = await gateway.request(`/v1/models?${query}`, { headers: VERSION })
    t.equal(answer.status, 400, query)
    t.match(answer.json(), { type: 'error', error: { type: 'invalid_request_error' } })
    t.match(answer.text, query.slice(0, query.indexOf('=')))
  }
  for (const query of ['pageSize=-1', 'pageSize=x', 'pageToken=bm90aGluZw', 'pageToken=%00%ff']) {
    const answer = await gateway.request(`/v1beta/models?${query}`)
    t.equal(answer.status, 400, query)
    t.match(answer.json(), { error: { status: 'INVALID_ARGUMENT' } })
  }
})

proveNoLeak(t)
