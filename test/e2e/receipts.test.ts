import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Plan } from '../../src/core/plan.js'
import { FEATURES } from '../../src/features/index.js'
import { ReceiptsService } from '../../src/features/receipts/service.js'
import type { Kernel } from '../../src/kernel/kernel.js'
import type { Feature } from '../../src/kernel/stages.js'
import { run } from '../cli/bin.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { type AnyReceipt, receiptsOf, verifyFolder } from '../helpers/receipts.js'

const SECRET = 'the-key-of-captured-content-0123456789'
const ENV = { RECEIPTS_KEY: SECRET }

const BASE = `version: 1
store: { type: memory }
prices: { "sim-*": { input: 1, output: 2 } }
upstreams: { sim: { kind: simulator } }
models: { "sim-*": sim }
`
const yaml = (receipts = 'on', caller = CALLER): string => `${BASE}${caller}\nreceipts: ${receipts}\n`
const CAPTURING =
  'keys: { caller: { secret: { env: CALLER_KEY }, capture: { mask: [emails, cards], words: ["Project Heron"] } } }'

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

interface Served {
  readonly gateway: TestGateway
  readonly folder: string
}

async function serve(t: Test, text: string, at = 'data/receipts'): Promise<Served> {
  const gateway = await startTestGateway(t, text, { env: ENV })
  return { gateway, folder: join(gateway.folder, at) }
}

const chat = ({ gateway }: Served, more: object = {}): Promise<Answer> =>
  gateway.request('/v1/chat/completions', { body: bodyOf(more) })
const bodyOf = (more: object = {}): object => ({
  model: 'sim-a',
  messages: [{ role: 'user', content: 'Tell me.' }],
  ...more,
})

const cli = (args: readonly string[], { gateway }: Served) =>
  run(['receipts', ...args], { cwd: gateway.folder, env: { ...ENV, CALLER_KEY: gateway.key } })

t.test('a receipt says who asked what, what became of it, and what it cost', async t => {
  const served = await serve(t, yaml())
  const body = bodyOf({ temperature: 0.5, max_tokens: 40, user: 'someone', card: 4_111_111_111_111_111 })
  const answer = await served.gateway.request('/v1/chat/completions', { body })
  const [receipt] = await receiptsOf(served.folder, 1)
  const { usage } = answer.json() as { usage: { prompt_tokens: number; completion_tokens: number } }
  const sent = JSON.stringify(body)
  const cost = usage.prompt_tokens + 2 * usage.completion_tokens
  t.match(receipt, {
    kind: 'request',
    id: answer.header('x-request-id'),
    key: 'caller',
    route: 'POST /v1/chat/completions',
    model: 'sim-a',
    stream: false,
    body: { bytes: sent.length, sha256: sha256(sent) },
    generation: 1,
    plan: served.gateway.gateway.plan.digest,
    usage: { input: usage.prompt_tokens, output: usage.completion_tokens },
    cost,
    status: 200,
    outcome: 'ok',
    answer: { bytes: answer.body.length, sha256: sha256(answer.body) },
    attempts: [
      {
        number: 1,
        upstream: 'sim',
        model: 'sim-a',
        phase: 'ok',
        status: 200,
        cost,
        price: { input: 1_000_000, output: 2_000_000 },
      },
    ],
  })
  t.same(receipt?.parameters, {
    model: 'text',
    messages: 'list of 1',
    temperature: 0.5,
    max_tokens: 40,
    user: 'text',
    card: 'number',
  })
})

t.test('of a stream, a refusal, a fall-back and a request that was given up there is a receipt each', async t => {
  const more =
    'models: { "sim-*": sim, two: [{ upstream: sim, as: "sim-text?status=503" }, { upstream: sim, as: sim-b }] }'
  const served = await serve(t, yaml().replace('models: { "sim-*": sim }', more))
  const stream = await chat(served, { stream: true })
  const refused = await chat(served, { max_tokens: 'many' })
  const unknown = await chat(served, { model: 'nothing' })
  const fallen = await chat(served, { model: 'two' })
  t.same([stream.status, refused.status, unknown.status, fallen.status], [200, 400, 404, 200])
  const client = await served.gateway.open('/v1/chat/completions', {
    body: bodyOf({ model: 'sim-text?hang-after=2', stream: true }),
  })
  await client.head()
  client.socket.destroy()
  const receipts = await receiptsOf(served.folder, 5)
  const byStatus = (status: number): AnyReceipt | undefined => receipts.find(one => one.status === status)
  t.match(byStatus(200), { stream: true, answer: { sha256: sha256(stream.body) } })
  t.match(
    receipts.find(({ model }) => model === 'two'),
    {
      attempts: [
        { number: 1, model: 'sim-text?status=503', phase: 'status', status: 503 },
        { number: 2, model: 'sim-b', phase: 'ok' },
      ],
    },
  )
  t.match(byStatus(400), { outcome: 'client_error', attempts: [], answer: { sha256: sha256(refused.body) } })
  t.match(byStatus(404), { model: 'nothing', attempts: [] })
  t.match(byStatus(499), { outcome: 'client_abort', error: 'client_gone' })
  t.equal((await served.gateway.request('/v1/models', { key: 'not-a-key' })).status, 401)
  await served.gateway.gateway.close()
  const report = await verifyFolder(served.folder)
  t.match(report, { receipts: 5, faulty: 0 }, 'callers without a good key have no receipt')
})

t.test('what comes after a client has left changes only what its attempt used', async t => {
  const drained = yaml().replace('kind: simulator }', 'kind: simulator, on_client_abort: drain }')
  const served = await serve(t, drained)
  const { gateway, folder } = served
  const fails = bodyOf({ model: 'sim-text?pace=50ms&error-after=30&tokens=40', stream: true })
  const contents = [{ role: 'user', parts: [{ text: 'Tell me.' }] }]
  const model = encodeURIComponent('sim-generate?pace=50ms&tokens=40')
  const asked: readonly (readonly [string, object])[] = [
    ['/v1/chat/completions', fails],
    [`/v1beta/models/${model}:streamGenerateContent`, { contents }],
  ]
  for (const [path, body] of asked) {
    const client = await gateway.open(path, { body })
    await client.head()
    client.socket.destroy()
  }
  const lines = await gateway.log.count(2, line => line.msg === 'request')
  for (const receipt of await receiptsOf(folder, 2)) {
    const line = lines.find(({ id }) => id === receipt.id)
    t.match(receipt, { status: 499, outcome: 'client_abort', error: 'client_gone', attempts: [{ phase: 'cancelled' }] })
    t.equal(receipt.answer?.events, line?.events, `events of ${receipt.route}`)
  }
})

t.test('translated requests say to which protocol, and what was dropped', async t => {
  const other =
    'upstreams: { sim: { kind: simulator }, other: { kind: simulator-messages, traits: { max_output: 16000 } } }'
  const text = yaml()
    .replace('upstreams: { sim: { kind: simulator } }', other)
    .replace('models: {', 'models: { other: { upstream: other, as: sim-messages }, ')
  const served = await serve(t, text)
  const answer = await chat(served, { model: 'other', seed: 7 })
  t.equal(answer.status, 200)
  const [receipt] = await receiptsOf(served.folder, 1)
  t.match(receipt, { dropped: ['seed'], attempts: [{ translated: 'messages' }] })
})

t.test(
  'F-D2 without capture no receipt has anything of the content; with it there is none but masked and sealed',
  async t => {
    const prompt = 'canary-prompt-no-one-says-this'
    const said = `${prompt} a.person@example.com 4111 1111 1111 1111 project heron sk-a1b2c3d4e5f6a7b8`
    const body = { messages: [{ role: 'user', content: said }], user: said, metadata: { [prompt]: said } }
    for (const caller of [CALLER, CAPTURING]) {
      const receipts = caller === CALLER ? 'on' : '{ key: { env: RECEIPTS_KEY } }'
      const served = await serve(t, yaml(receipts, caller))
      const answer = await chat(served, body)
      t.equal(answer.status, 200, answer.text)
      await served.gateway.gateway.close()
      const written = readdirSync(served.folder)
        .map(name => readFileSync(join(served.folder, name), 'utf8'))
        .join('\n')
      for (const canary of [prompt, 'a.person', '4111', 'heron', 'a1b2c3d4', served.gateway.key, SECRET])
        t.notMatch(written, canary, `${canary} is in no file`)
      const id = answer.header('x-request-id') ?? ''
      const shown = await cli(['show', id, '--content'], served)
      if (caller === CALLER) {
        t.match(shown, { code: 1, stderr: /no content of .* was captured/ })
        continue
      }
      t.equal(shown.code, 0, shown.stderr)
      t.match(shown.stdout, `${prompt} [email] [card] [word] [key]`)
      for (const canary of ['a.person', '4111 1111', 'heron', 'a1b2c3d4']) t.notMatch(shown.stdout, canary)
      const other = await run(['receipts', 'show', id, '--content'], {
        cwd: served.gateway.folder,
        env: { RECEIPTS_KEY: 'another-key-of-captured-content-01234', CALLER_KEY: served.gateway.key },
      })
      t.match(other, { code: 1, stderr: /sealed with another key, or changed/ })
    }
  },
)

t.test('a request whose key stops capturing while it runs gives back the room of its content', async t => {
  let service: ReceiptsService | undefined
  const features = FEATURES.map((feature): Feature => {
    if (feature.name !== 'receipts') return feature
    return {
      ...feature,
      open(kernel) {
        service = new ReceiptsService(kernel)
        return service
      },
    }
  })
  const gateway = await startTestGateway(t, yaml('{ key: { env: RECEIPTS_KEY } }', CAPTURING), { env: ENV, features })
  const body = bodyOf({ model: 'sim-text?hang-after=2', stream: true })
  const client = await gateway.open('/v1/chat/completions', { body })
  await client.head()
  t.ok((service?.content.held ?? 0) > 0)
  await gateway.write('gateway.yaml', yaml())
  await gateway.gateway.reload()
  client.socket.destroy()
  const [receipt] = await receiptsOf(join(gateway.folder, 'data/receipts'), 1)
  t.match(receipt, { status: 499, content: undefined })
  t.equal(service?.content.held, 0)
})

t.test('gateway receipts list, show and verify read what was written, and verify finds a changed one', async t => {
  const served = await serve(t, yaml('{ to: here, keep: 5d }'), 'here')
  t.match(await cli(['list'], served), { code: 1, stderr: /no receipts have been written yet/ })
  const answers = [await chat(served), await chat(served, { model: 'sim-b' })]
  await receiptsOf(served.folder, 2)
  t.match(await cli(['verify'], served), {
    code: 0,
    stdout: /^2 receipts in 1 chain, 1 day: none is missing or changed/,
  })
  const listed = await cli(['list', '--model', 'sim-b'], served)
  const ids = answers.map(answer => answer.header('x-request-id') ?? '')
  t.match(listed.stdout, new RegExp(`^ID .*\\n${ids[1]} .* caller  sim-b  sim       200     ok       0\\.000`))
  t.notMatch(listed.stdout, ids[0])
  t.match(JSON.parse((await cli(['show', ids[0] ?? '', '--json'], served)).stdout), { id: ids[0], model: 'sim-a' })
  t.match(await cli(['show', 'unknown'], served), { code: 1, stderr: /there is no receipt of unknown/ })

  await served.gateway.gateway.close()
  const [name = ''] = readdirSync(served.folder)
  const file = join(served.folder, name)
  writeFileSync(file, readFileSync(file, 'utf8').replace('"model":"sim-b"', '"model":"sim-c"'))
  const found = await cli(['verify', '--json'], served)
  t.equal(found.code, 1)
  t.match(JSON.parse(found.stdout), { isGood: false, faults: [{ fault: 'changed' }] })
})

t.test(
  'F-P15 when_full: refuse answers 503 while receipts cannot be written and much waits, and serves again later',
  async t => {
    const served = await serve(
      t,
      yaml('{ to: here, when_full: refuse, key: { env: RECEIPTS_KEY } }', CAPTURING),
      'here',
    )
    writeFileSync(served.folder, 'a file is where the folder should be')
    const long = Array.from({ length: 15_000 }, (_, n) => `word ${n}`).join(' ')
    let refused: Answer | undefined
    for (let n = 0; n < 100 && refused === undefined; n++) {
      const answer = await chat(served, { model: 'unknown', messages: [{ role: 'user', content: long }] })
      if (answer.status === 503) refused = answer
    }
    t.match(refused?.json(), { error: { message: /cannot record this request/ } })
    t.ok(refused?.header('retry-after'))
    const id = refused?.header('x-request-id') ?? ''
    renameSync(served.folder, `${served.folder}.away`)
    for (;;) if ((await chat(served)).status === 200) break
    await served.gateway.gateway.close()
    t.match(await verifyFolder(served.folder), { faulty: 0, lost: 0 })
    const written = readdirSync(served.folder).map(name => readFileSync(join(served.folder, name), 'utf8'))
    t.notMatch(written.join(''), id, 'the room that is left is not for refusals')
  },
)

t.test('receipts that move to another folder, and are kept shorter there, stay where they were', async t => {
  const folder = t.testdir()
  const [here, there] = [join(folder, 'here'), join(folder, 'there')]
  const kernel = { generation: { plan: {} }, peers: { number: 0 }, onNotice: () => undefined } as unknown as Kernel
  const DAY_MS = 86_400_000
  const plan = (path: string, days: number): Plan =>
    ({ receipts: { to: { type: 'folder', path }, keep: days * DAY_MS, when_full: 'drop' } }) as Plan
  const real = Date.now
  const now = real()
  t.teardown(() => {
    Date.now = real
  })
  for (const ago of [100, 0]) {
    Date.now = () => now - ago * DAY_MS
    const service = new ReceiptsService(kernel)
    service.adopt(plan(here, 400))
    service.taskCharged({ at: Date.now(), id: 'task/1' } as Parameters<ReceiptsService['taskCharged']>[0])
    if (ago === 0) service.adopt(plan(there, 7))
    await service.close()
  }
  t.match(await verifyFolder(here), { receipts: 2, chains: 2, faulty: 0 })
})

t.test('a request that began under a former configuration has its receipt where that one says', async t => {
  const served = await serve(t, yaml())
  const { gateway } = served
  const to = async (receipts: string): Promise<void> => {
    await gateway.write('gateway.yaml', yaml(receipts))
    await gateway.gateway.reload()
  }
  const begin = () =>
    gateway.open('/v1/chat/completions', { body: bodyOf({ model: 'sim-a?hang-after=2', stream: true }) })
  const clients = []
  for (const next of ['off', 'on', '{ to: there }']) {
    const client = await begin()
    clients.push(client)
    await client.head()
    await to(next)
  }
  for (const { socket } of clients) socket.destroy()
  await gateway.log.count(3, line => line.msg === 'request')
  await gateway.gateway.close()
  t.match(await verifyFolder(served.folder), { receipts: 2, chains: 1, faulty: 0, lost: 0 })
  t.equal((await receiptsOf(served.folder, 2)).length, 2)
})

t.test('receipts can be switched on, off, and elsewhere by a reload', async t => {
  const served = await serve(t, yaml('off'))
  await chat(served)
  const to = async (receipts: string): Promise<void> => {
    await served.gateway.write('gateway.yaml', yaml(receipts))
    await served.gateway.gateway.reload()
  }
  await to('on')
  await chat(served)
  await to('{ to: there }')
  await chat(served)
  await to('off')
  await chat(served)
  await served.gateway.gateway.close()
  t.match(await verifyFolder(served.folder), { receipts: 1, faulty: 0 })
  t.match(await verifyFolder(join(served.gateway.folder, 'there')), { receipts: 1, faulty: 0 })
})
