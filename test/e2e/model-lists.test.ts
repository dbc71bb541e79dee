import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** What models lists show of globs, and the bounds of pages. */

const idsOf = async (gateway: TestGateway, key = gateway.key): Promise<readonly string[]> => {
  const answer = await gateway.request('/v1/models', { method: 'GET', key })
  return (answer.json() as { data: { id: string }[] }).data.map(({ id }) => id)
}

t.test('declared names of a glob are listed in its place, for whom they are', async t => {
  const yaml = `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  narrow: { secret: { env: NARROW_KEY }, models: ["sim-text?seed=*", sim-text] }
upstreams: { sim: { kind: simulator }, off: { kind: openai, secret: { env: ABSENT } } }
models:
  first: { upstream: sim, as: sim-text }
  "sim-text*": { upstream: sim, list: [sim-text, "sim-text?seed=1"], owner: us }
  "gpt-*": { targets: [off], list: [gpt-4.1] }
  last: { upstream: sim, as: sim-text }
`
  const narrow = 'narrow-key-of-the-tests'
  const gateway = await startTestGateway(t, yaml, { env: { NARROW_KEY: narrow } })
  t.strictSame(await idsOf(gateway), ['first', 'sim-text', 'sim-text?seed=1', 'last'])
  t.strictSame(await idsOf(gateway, narrow), ['sim-text', 'sim-text?seed=1'])
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  t.match(await sdk.models.retrieve('sim-text?seed=1'), { id: 'sim-text?seed=1', owned_by: 'us' })
  const genai = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.origin } })
  const names = []
  for await (const { name } of await genai.models.list({ config: { pageSize: 2 } })) names.push(name)
  t.strictSame(names, ['models/first', 'models/sim-text', 'models/sim-text?seed=1', 'models/last'])
})

t.test('upstreams are asked once for what their globs stand for', async t => {
  const up = await startRawUpstream(t)
  const compatible = { object: 'list', data: [{ id: 'one-a' }, { id: 'other' }, { id: 'one-b' }] }
  const native = { models: [{ name: 'models/one-c' }] }
  up.answer(peer => json(peer.request.target.startsWith('/v1beta') ? native : compatible)(peer))
  const yaml = `version: 1
${CALLER}
upstreams:
  up: { kind: openai-compatible, base: "${up.origin}", secret: { env: UPSTREAM_KEY } }
  native: { kind: native-generate, base: "${up.origin}", secret: { env: UPSTREAM_KEY } }
  silent: { kind: openai-compatible, base: "http://127.0.0.1:1" }
models:
  "one-*": { upstream: up, list: upstream }
  "up/*": { upstream: up, as: "*", list: upstream }
  "native/*": { targets: [{ upstream: native, as: "*" }], list: upstream }
  "silent/*": { upstream: silent, as: "*", list: upstream }
  "not/*": up
`
  const gateway = await startTestGateway(t, yaml)
  const wanted = ['one-a', 'one-b', 'up/one-a', 'up/other', 'up/one-b', 'native/one-c']
  const lists = await Promise.all([idsOf(gateway), idsOf(gateway), idsOf(gateway)])
  for (const list of [...lists, await idsOf(gateway)]) t.strictSame(list, wanted)
  t.strictSame(up.requests.items.map(({ target }) => target).sort(), ['/v1/models', '/v1beta/models?pageSize=1000'])
  t.match(
    up.requests.items.map(request => request.header('authorization') ?? request.header('x-goog-api-key')),
    [/./, /./],
  )
})

t.test('zero is where the reference has it', async t => {
  const yaml = `version: 1
${CALLER}
store: { type: memory }
upstreams: { sim: { kind: simulator } }
models: { "sim-*": sim }
default_models: { videos: "sim-video" }
`
  const gateway = await startTestGateway(t, yaml)
  const get = async (path: string): Promise<unknown> => {
    const headers: Record<string, string> = path.includes('beta') ? { 'x-goog-api-key': gateway.key } : {}
    return (await gateway.request(path, { method: 'GET', headers })).json()
  }
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  const made = await sdk.videos.create({ prompt: 'A boat' })
  t.match(await get('/v1/videos?limit=0'), { object: 'list', data: [], first_id: null, last_id: null, has_more: true })
  t.match(await get('/v1/videos?limit=1'), { data: [{ id: made.id }], has_more: false })
  t.match(await get('/v1/videos?limit=-1'), { error: { param: 'limit' } })
  for (const path of ['/v1beta/files?pageSize=0', '/v1beta/models?pageSize=0', '/v1beta/batches?pageSize=0'])
    t.equal('error' in ((await get(path)) as object), false, path)
  t.match(await get('/v1beta/models?pageSize=-1'), { error: { code: 400 } })
  for (const best_of of [0, 1]) {
    const answer = await gateway.request('/v1/completions', { body: { model: 'sim-text', prompt: 'a', best_of } })
    t.equal(answer.status, 200, `best_of ${best_of}: ${answer.text}`)
  }
})

t.test('what is not a member of the glob is reported with its place', async t => {
  const start = (models: string): Promise<unknown> =>
    startTestGateway(t, `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels:\n${models}`).then(
      () => undefined,
      (error: unknown) => error,
    )
  t.match(await start('  "a-*": { upstream: sim, list: [a-1, b-1] }\n'), {
    problems: [{ message: '"b-1" does not match "a-*"', position: { line: 5 } }],
  })
  t.match(await start('  a: { upstream: sim, list: [a] }\n'), { problems: [{ message: /"a" is not a glob/ }] })
  t.match(await start('  "a-*": { upstream: sim, list: ["a-*"] }\n'), { problems: [{ message: /is a glob/ }] })
})

proveNoLeak(t)
