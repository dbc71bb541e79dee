import t from 'tap'
import { CHAT_ANSWER, json } from '../../helpers/answers.js'
import { startTestGateway, type TestGateway, upstreamYaml } from '../../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../../helpers/raw-upstream.js'

type Test = Pick<typeof t, 'teardown'>

interface Started {
  readonly gateway: TestGateway
  readonly a: RawUpstream
  readonly b: RawUpstream
  readonly c: RawUpstream
}

/** The model `m` at `a` and `b`, and `next` at `c`, where it is called `theirs`. */
async function started(t: Test, canary: string, key = 'models: ["*"]', more = 'health: off\n'): Promise<Started> {
  const [a, b, c] = [await startRawUpstream(t), await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b, c]) one.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(
    t,
    `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, ${key} }
upstreams:
  a: ${upstreamYaml(a.origin)}
  b: ${upstreamYaml(b.origin)}
  c: ${upstreamYaml(c.origin)}
models:
  m: { targets: [a, b], canary: ${canary} }
  next: { upstream: c, as: theirs }
${more}`,
  )
  return { gateway, a, b, c }
}

const asked = (...all: readonly RawUpstream[]): readonly number[] => all.map(one => one.requests.items.length)

/** The first turn tells conversations apart. */
const turn = (name: string): object => ({ model: 'm', messages: [{ role: 'user', content: name }] })

async function ask(gateway: TestGateway, names: readonly string[], more: object = {}): Promise<void> {
  for (let at = 0; at < names.length; at += 20) {
    const some = names.slice(at, at + 20)
    await Promise.all(some.map(name => gateway.request('/v1/chat/completions', { body: { ...turn(name), ...more } })))
  }
}

const conversations = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `conversation ${n}`)

const contents = ({ requests }: RawUpstream): readonly string[] =>
  requests.items.map(one => (one.json() as { messages: [{ content: string }] }).messages[0].content).toSorted()

t.test('a share of the conversations goes to the other model, and each stays where it is', async t => {
  const { gateway, a, b, c } = await started(t, '{ to: next, share: 25% }')
  await ask(gateway, conversations(200))
  const first = contents(c)
  t.ok(first.length > 25 && first.length < 75, `${first.length} of 200, 50 ± 6 expected`)
  t.match(c.requests.items[0]?.json(), { model: 'theirs' })
  await ask(gateway, conversations(200))
  t.same(
    contents(c),
    first.flatMap(one => [one, one]),
  )
  t.same(asked(a, b), [400 - 2 * first.length, 0])
})

t.test('a larger share keeps those that were in the smaller one', async t => {
  const { gateway, c } = await started(t, '{ to: next, share: 10% }')
  await ask(gateway, conversations(100))
  const before = new Set(contents(c))
  await gateway.write('gateway.yaml', (await textOf(gateway)).replace('share: 10%', 'share: 40%'))
  await gateway.gateway.reload()
  await ask(gateway, conversations(100))
  const after = contents(c)
  for (const one of before) t.ok(after.filter(name => name === one).length === 2, `${one} stays`)
  t.ok(new Set(after).size > before.size)
})

t.test('by key all requests of a key go one way', async t => {
  const { gateway, a, c } = await started(t, '{ to: next, share: 50%, by: key }')
  await ask(gateway, conversations(40))
  t.ok(asked(a).includes(40) || asked(c).includes(40), `${asked(a, c)}`)
})

t.test('one of the targets is asked first by its share, and last by the others', async t => {
  const { gateway, a, b } = await started(t, '{ to: a, share: 20%, by: request }')
  await ask(gateway, conversations(200))
  const [ofA = 0, ofB = 0] = asked(a, b)
  t.equal(ofA + ofB, 200)
  t.ok(ofA > 15 && ofA < 70, `${ofA} of 200, 40 ± 6 expected, although it is written first`)
  b.answer(json({ error: {} }, { status: 503 }))
  t.equal((await gateway.request('/v1/chat/completions', { body: turn('x') })).status, 200, 'a is still asked after b')
})

t.test('one that fails gets no more requests, the others answer for it, and the log says so', async t => {
  const { gateway, a, c } = await started(t, '{ to: next, share: 50%, by: request }')
  c.answer(json({ error: { message: 'Broken.' } }, { status: 500 }))
  await ask(gateway, conversations(200))
  await gateway.log.count(200, line => line.msg === 'request' && line.status === 200)
  t.equal(asked(a)[0], 200)
  const [failed = 0] = asked(c)
  t.ok(failed >= 8 && failed < 60, `${failed} failures; some 17 are enough, more were under way`)
  const line = await gateway.log.find(({ msg }) => msg?.startsWith('a canary fails') === true)
  t.match(line, { level: 'warn', model: 'm', canary: { to: 'next' }, others: { failures: 0 } })
  await ask(gateway, conversations(100))
  t.equal(asked(c)[0], failed, 'it rests')
  const ready = (await gateway.request('/readyz?verbose')).json() as { canaries: { m: string } }
  t.match(ready.canaries.m, /failed, of the others 0 of \d+; rests until 20/)
})

t.test('failures of answers that the gateway keeps count for the canary, too', async t => {
  const { gateway, c } = await started(t, '{ to: next, share: 50%, by: request }')
  c.answer(json({ error: { message: 'Broken.' } }, { status: 500 }))
  await ask(gateway, conversations(100), { store: true })
  const line = await gateway.log.find(({ msg }) => msg?.startsWith('a canary fails') === true)
  t.match(line, { canary: { to: 'next' }, others: { failures: 0 } })
})

t.test('one that fails as often as the others stays', async t => {
  const { gateway, a, b, c } = await started(t, '{ to: next, share: 50%, by: request }')
  for (const one of [a, b, c]) one.answer(json({ error: { message: 'Broken.' } }, { status: 500 }))
  // One after the other: of requests that begin together, the canary's failures come together, and look like more than chance.
  for (const name of conversations(200)) await ask(gateway, [name])
  t.notOk(gateway.log.items.some(({ msg }) => msg?.startsWith('a canary') === true))
})

t.test('what requests themselves do wrong does not count', async t => {
  const { gateway, c } = await started(t, '{ to: next, share: 50%, by: request }')
  c.answer(json({ error: { message: 'A bad field.' } }, { status: 400 }))
  await ask(gateway, conversations(100))
  t.notOk(gateway.log.items.some(({ msg }) => msg?.startsWith('a canary') === true))
})

t.test('after its rest it is tried again', async t => {
  const { gateway, c } = await started(t, '{ to: next, share: 50%, by: request, rest: 1ms }')
  c.answer(json({ error: { message: 'Broken.' } }, { status: 500 }))
  await ask(gateway, conversations(100))
  await gateway.log.find(({ msg }) => msg === 'a canary is tried again')
  t.ok(asked(c)[0])
})

t.test('keys and regions hold', async t => {
  const allowed = await started(t, '{ to: next, share: 90%, by: request }', 'models: [m]')
  await ask(allowed.gateway, conversations(20))
  t.same(asked(allowed.a, allowed.c), [20, 0], 'a key that may not use the model')
})

/** The configuration as it is on disk. */
async function textOf({ folder }: TestGateway): Promise<string> {
  const { readFile } = await import('node:fs/promises')
  return readFile(`${folder}/gateway.yaml`, 'utf8')
}
