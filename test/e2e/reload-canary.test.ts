import t from 'tap'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { CHAT, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type Answer, request } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { compatible, FILM, startTaskUpstream, type TaskUpstream } from '../helpers/task-upstream.js'

t.setTimeout(180_000)

const ALICE = 'the-key-of-alice-0123456789'
const BOB = 'the-key-of-bob-0123456789'
const LONG = 'reload: { canary: 5%, for: 1h }'
const HALF = 'reload: { canary: 50%, for: 1h, back_if: { errors: "+1%", ttft_p95: "+1000%" } }'

function yaml(up: RawUpstream, reload: string, more = ''): string {
  return `version: 1
keys:
  alice: { secret: { env: ALICE_KEY }, generations: pin }
  bob: { secret: { env: BOB_KEY } }
upstreams:
  up: ${upstreamYaml(up.origin)}
models: { m: up }
expose: [generation]
retry: { attempts: 1 }
health: off
${reload}
${more}`
}

interface Started {
  readonly gateway: TestGateway
  readonly admin: ReturnType<typeof adminOf>
  readonly old: RawUpstream
  readonly fresh: RawUpstream
  /** Writes the file with the new upstream, and reloads. */
  change(reload: string, more?: string): Promise<void>
  /** The generation that answers. */
  ask(key: string, headers?: Readonly<Record<string, string>>): Promise<Answer>
}

async function started(t: Parameters<typeof startRawUpstream>[0], reload: string): Promise<Started> {
  const [old, fresh] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [old, fresh]) one.answer(json(CHAT_ANSWER))
  const { line, origin } = await adminLine(', metrics: open')
  const env = { ALICE_KEY: ALICE, BOB_KEY: BOB, GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const gateway = await startTestGateway(t, yaml(old, reload, line), { env })
  return {
    gateway,
    admin: adminOf(t as never, origin),
    old,
    fresh,
    change: async (next, more = '') => {
      await gateway.write('gateway.yaml', yaml(fresh, next, `${line}\n${more}`))
      await gateway.gateway.reload()
    },
    ask: (key, headers = {}) =>
      request(t as never, gateway.origin, '/v1/chat/completions', { key, body: CHAT, headers }),
  }
}

const served = (answer: Answer): string => answer.header('x-gateway-generation') ?? ''

interface Listed {
  readonly number: number
  readonly serving: boolean
  readonly ready: boolean
  readonly canary?: { readonly state: string; readonly reason?: string; readonly new: { readonly requests: number } }
  readonly difference?: { readonly changes: number; readonly lines: readonly string[] }
}

async function listed({ admin }: Started): Promise<readonly Listed[]> {
  return (await admin('GET', '/admin/generations')).json().data as unknown as readonly Listed[]
}

/** Asks until a line of the log has come. */
async function askUntil(all: Started, message: string): Promise<number> {
  const has = (): boolean => all.gateway.log.items.some(({ msg }) => msg === message)
  let asked = 0
  while (!has() && asked < 4000) {
    await Promise.all(Array.from({ length: 16 }, (_, at) => all.ask(at % 2 === 0 ? ALICE : BOB)))
    asked += 16
  }
  t.ok(has(), `${message} after ${asked} requests`)
  return asked
}

t.test("a changed file gets its share of each key's requests, and both serve side by side", async t => {
  const all = await started(t, LONG)
  await all.change(LONG)
  const begun = await all.gateway.log.find(({ msg }) => msg === 'a canary of the configuration has begun')
  t.match(begun, { generation: 2, share: 0.05, for: 3_600_000, upstreams: { changed: ['up'] } })
  const asked = (await all.admin('POST', '/admin/reload')).json()
  t.match(asked, { generation: 1, canary: { generation: 2, share: 0.05 } }, 'the same files change nothing')
  const counts: Record<string, number> = {}
  for (const [key, times] of [
    [ALICE, 100],
    [BOB, 40],
  ] as const) {
    for (let at = 0; at < times; at++) {
      const answer = await all.ask(key)
      t.equal(answer.status, 200)
      const name = `${key === ALICE ? 'alice' : 'bob'} ${served(answer)}`
      counts[name] = (counts[name] ?? 0) + 1
    }
  }
  t.same(counts, { 'alice 1': 95, 'alice 2': 5, 'bob 1': 38, 'bob 2': 2 })
  t.equal(all.fresh.requests.items.length, 7)
  const [two, one] = await listed(all)
  t.match(two, { number: 2, serving: false, ready: true, canary: { state: 'running', share: 0.05 } })
  t.match(one, { number: 1, serving: true, ready: true })
  const metrics = (await all.admin('GET', '/metrics')).text
  t.match(metrics, /gateway_reload_canary_ratio 0.05\n/)
  t.match(metrics, /gateway_reload_canary_requests_total\{part="new",outcome="good"\} 7\n/)
  t.match(metrics, /gateway_config_reloads_total\{result="tried"\} 1\n/)

  await all.gateway.write('gateway.yaml', 'version: 1\nmodels: { broken')
  await all.gateway.gateway.reload()
  t.match((await listed(all))[0], { number: 2, canary: { state: 'running' } }, 'a broken file changes nothing')

  await all.change(LONG, '# another one')
  const again = await listed(all)
  t.match(again[0], { number: 3, canary: { state: 'running' } })
  t.match(again[1], { number: 2, ready: false, canary: { state: 'replaced', reason: 'generation 3 came' } })

  t.equal((await all.admin('POST', '/admin/rollback', { generation: 1 })).status, 200)
  const back = await listed(all)
  t.match(back[0], { number: 3, serving: false, canary: { state: 'replaced' } }, 'going back to what serves ends it')
  t.match(back[2], { number: 1, serving: true })
  for (let at = 0; at < 40; at++) t.equal(served(await all.ask(BOB)), '1')
  await all.gateway.gateway.reload()
  t.match((await all.admin('POST', '/admin/rollback', { generation: 3 })).json(), { generation: 5 })
  t.equal(served(await all.ask(BOB)), '5', 'going to the one that is tried makes it whole at once')
})

t.test('a new upstream that fails 5 % takes the file back within its window', async t => {
  const all = await started(t, HALF)
  let count = 0
  const bad = json({ error: { message: 'broken', type: 'server_error' } }, { status: 500 })
  const good = json(CHAT_ANSWER)
  all.fresh.answer(peer => (++count % 20 === 0 ? bad : good)(peer))
  await all.change(HALF)
  await askUntil(all, 'the new configuration went back')
  const line = await all.gateway.log.find(({ msg }) => msg === 'the new configuration went back')
  t.match(line, { generation: 2, serving: 1, reason: /requests failed, 0 of \d+ of the others: more than \+1%/ })
  t.match(line, { next: /mend the file/, new: { failures: Number }, old: { failures: 0 } })
  const before = all.fresh.requests.items.length
  for (let at = 0; at < 40; at++) t.equal(served(await all.ask(BOB)), '1')
  t.equal(all.fresh.requests.items.length, before)
  t.match((await listed(all))[0], { number: 2, serving: false, canary: { state: 'back', reason: /failed/ } })
  t.match(all.gateway.gateway.health.reloads, { applied: 0, tried: 1, back: 1 })
  t.match(all.gateway.gateway.health, { generation: 1, valid: true })

  all.fresh.answer(good)
  await all.gateway.gateway.reload()
  t.match((await listed(all))[0], { number: 3, canary: { state: 'running' } }, 'who asks gets another try')
})

t.test('a slower first token takes the file back, too', async t => {
  const reload = 'reload: { canary: 50%, for: 1h, back_if: { ttft_p95: "+300%" } }'
  const all = await started(t, reload)
  all.fresh.answer(peer => new Promise(resolve => setTimeout(() => resolve(json(CHAT_ANSWER)(peer)), 500)))
  await all.change(reload)
  await askUntil(all, 'the new configuration went back')
  const line = await all.gateway.log.find(({ msg }) => msg === 'the new configuration went back')
  t.match(line, { reason: /the time to the first token is \d+ ms at the 95th percentile/ })
})

t.test('a file against which nothing speaks gets all requests when its time is over', async t => {
  const short = 'reload: { canary: 50%, for: 300ms, keep: 2 }'
  const all = await started(t, short)
  await all.change(short, 'limits: { body: 1MiB }\n')
  await askUntil(all, 'reloaded')
  t.match(await all.gateway.log.find(({ msg }) => msg === 'reloaded'), { generation: 2 })
  for (let at = 0; at < 20; at++) t.equal(served(await all.ask(BOB)), '2')
  t.match(all.gateway.gateway.health, { generation: 2, reloads: { applied: 1, tried: 1, back: 0 } })
  const meant = await all.gateway.log.find(({ msg }) => msg === 'what the reload means')
  t.match(meant, { generation: 2, changes: Number, weaker: 0, loss: 0, unreachable: 0 })
  const [two] = await listed(all)
  t.match(two, { number: 2, serving: true, canary: { state: 'whole' } })
  t.match(two?.difference?.lines.join('\n'), /limits\.body/)
})

t.test('a request may name a generation that is kept, for keys that may', async t => {
  const kept = 'reload: { keep: 1 }'
  const all = await started(t, kept)
  await all.change(kept)
  const pinned = (key: string, generation: string): Promise<Answer> =>
    all.ask(key, { 'x-gateway-generation': generation })
  t.equal(served(await all.ask(ALICE)), '2')
  t.equal(served(await pinned(ALICE, '1')), '1')
  t.equal(served(await pinned(ALICE, '2')), '2')
  for (const { head } of [...all.old.requests.items, ...all.fresh.requests.items])
    t.notMatch(head.raw.toString().toLowerCase(), 'x-gateway-generation', 'no upstream gets the header')
  for (const [name, more, status] of [
    ['carol', { generations: 'pin' }, 200],
    ['dave', {}, 403],
  ] as const) {
    const { secret } = (await all.admin('POST', '/admin/keys', { name, ...more })).json()
    const answer = await pinned(secret, '1')
    t.equal(answer.status, status, `${name} has a key of the store`)
    if (status === 200) t.equal(served(answer), '1')
  }
  const refused = await pinned(BOB, '1')
  t.equal(refused.status, 403)
  t.match(refused.json(), { error: { message: /may not name a generation/ } })
  const unknown = await pinned(ALICE, '7')
  t.equal(unknown.status, 400)
  t.match(unknown.json(), { error: { message: /not kept; ready are: 2, 1\./ } })
  t.equal((await pinned('no-key-at-all-0123456789', '1')).status, 401)

  await all.change(kept, 'limits: { body: 1MiB }\n')
  t.equal((await pinned(ALICE, '1')).status, 400, 'one older generation is kept, and no more')
  t.equal(served(await pinned(ALICE, '2')), '2')
  await all.change('reload: { canary: 1%, for: 1h, keep: 1 }', 'limits: { body: 2MiB }\n')
  await all.change('reload: { canary: 1%, for: 1h, keep: 1 }', 'limits: { body: 3MiB }\n')
  t.equal(served(await pinned(ALICE, '5')), '5', 'the one that is tried, too')
  const messages = await request(t, all.gateway.origin, '/v1/messages', {
    headers: { 'x-api-key': BOB, 'anthropic-version': '2023-06-01', 'x-gateway-generation': '1' },
    body: { ...CHAT, max_tokens: 5 },
  })
  t.match([messages.status, messages.json()], [403, { type: 'error', error: { type: 'permission_error' } }])
})

t.test('tasks that a canary has begun are followed, fetched and cancelled at its upstream', async t => {
  let isDone = false
  const first = await startTaskUpstream(t, compatible({ status: 'running' }))
  const runs = compatible({ status: 'running' })
  const fresh = await startTaskUpstream(t, (asked, upstream) =>
    isDone && !asked.target.endsWith('/content') ? { body: { status: 'completed' } } : runs(asked, upstream),
  )
  const up = (name: string, { origin }: TaskUpstream): string =>
    `${name}: { kind: openai, base: "${origin}", secret: { env: UPSTREAM_KEY }, tasks: { poll: { every: 20ms } } }`
  const yamlOf = (upstreams: string, film: string): string => `version: 1
keys: { alice: { secret: { env: ALICE_KEY }, generations: pin } }
upstreams: { ${upstreams} }
models: { film: ${film} }
${LONG}
`
  const env = { ALICE_KEY: ALICE }
  const gateway = await startTestGateway(t, yamlOf(up('up', first), 'up'), { env })
  await gateway.write('gateway.yaml', yamlOf(`${up('up', first)}, ${up('fresh', fresh)}`, 'fresh'))
  await gateway.gateway.reload()
  const ask = (path: string, more: Partial<Parameters<typeof request>[3]> = {}): Promise<Answer> =>
    request(t, gateway.origin, path, { key: ALICE, ...more })
  const begin = async (): Promise<string> => {
    const options = { body: { model: 'film', prompt: 'A cat' }, headers: { 'x-gateway-generation': '2' } }
    return ((await ask('/v1/videos', options)).json() as { id: string }).id
  }
  const ids = [await begin(), await begin()]
  t.same([first.submits.length, fresh.submits.length], [0, 2])
  for (const id of ids) await gateway.log.find(({ task, to }) => task === id && to === 'running')
  t.equal((await ask(`/v1/videos/${ids[1]}`, { method: 'DELETE' })).status, 200)
  await fresh.requests.find(({ method, target }) => method === 'DELETE' && target === '/v1/videos/vid_2')
  isDone = true
  await gateway.log.find(({ task, to }) => task === ids[0] && to === 'succeeded')
  for (let n = 0; n < 3; n++) t.same((await ask(`/v1/videos/${ids[0]}/content`)).body, FILM)
})

t.test('what cannot serve side by side takes over at once, with the reason', async t => {
  const all = await started(t, '')
  await all.change(LONG)
  t.match(await all.gateway.log.find(({ msg }) => /without a canary/.test(msg ?? '')), {
    reason: 'the one that serves has no reload.canary',
  })
  t.equal(served(await all.ask(BOB)), '2')
  await all.change(LONG, 'time_zone: Europe/Berlin\nprices: { m: { request: 0.01 } }\n')
  t.match(await all.gateway.log.find(({ reason }) => /time_zone/.test(String(reason))), {})
  await all.change('')
  t.match(await all.gateway.log.find(({ reason }) => reason === 'it has no reload.canary'), {})
  t.equal(all.gateway.gateway.health.generation, 4)
})

t.test('a new upstream that fails takes none of the requests of the old one of its name', async t => {
  const spare = await startRawUpstream(t)
  spare.answer(json(CHAT_ANSWER))
  const reload = 'reload: { canary: 50%, for: 1h, back_if: { ttft_p95: "+1000%" } }'
  const text = (up: RawUpstream): string =>
    yaml(up, reload, 'retry: { attempts: 2 }\n')
      .replace('retry: { attempts: 1 }\nhealth: off\n', '')
      .replace('models: { m: up }', `  spare: ${upstreamYaml(spare.origin)}\nmodels: { m: [up, spare] }`)
  const [old, fresh] = [await startRawUpstream(t), await startRawUpstream(t)]
  old.answer(json(CHAT_ANSWER))
  fresh.answer(json({ error: { message: 'broken', type: 'server_error' } }, { status: 500 }))
  const env = { ALICE_KEY: ALICE, BOB_KEY: BOB }
  const gateway = await startTestGateway(t, text(old), { env })
  await gateway.write('gateway.yaml', text(fresh))
  await gateway.gateway.reload()
  const ask = (): Promise<Answer> => request(t, gateway.origin, '/v1/chat/completions', { key: ALICE, body: CHAT })
  for (let at = 0; at < 40; at++) t.equal((await ask()).status, 200)
  await gateway.log.find(({ msg }) => msg === 'an upstream fails and is asked last')
  t.equal(old.requests.items.length, 20, 'all that the old file serves')
  t.ok(fresh.requests.items.length < 20, `${fresh.requests.items.length} to the new one before it is asked last`)
  t.equal(spare.requests.items.length, 20)
  const verbose = await gateway.request('/readyz?verbose', { method: 'GET' })
  t.same((verbose.json() as { resting?: object }).resting ?? {}, {}, 'what serves does not rest')
})
