import t from 'tap'
import { CHAT_ANSWER, json } from '../../helpers/answers.js'
import { CALLER, startTestGateway, upstreamYaml } from '../../helpers/gateway.js'
import { Journal } from '../../helpers/journal.js'
import { type Peer, startRawUpstream } from '../../helpers/raw-upstream.js'

const models = (a: string, b: string, text: string): string =>
  `version: 1\n${CALLER}\nupstreams:\n  a: ${upstreamYaml(a)}\n  b: ${upstreamYaml(b)}\nmodels:\n  ${text}\n`

t.test('least_in_flight asks the target with the fewest attempts under way', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  let release = (): void => undefined
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  const arrivals = new Journal<true>('arrivals')
  const hold = async (peer: Peer): Promise<void> => {
    arrivals.push(true)
    await held
    await json(CHAT_ANSWER)(peer)
  }
  for (const one of [a, b]) one.answer(hold)
  const gateway = await startTestGateway(
    t,
    models(a.origin, b.origin, 'm: { targets: [a, b], strategy: least_in_flight }'),
  )
  const calls: Promise<{ status: number }>[] = []
  for (let call = 1; call <= 6; call++) {
    calls.push(gateway.chat())
    await arrivals.count(call)
    t.ok(Math.abs(a.requests.items.length - b.requests.items.length) <= 1, `after ${call} they are level`)
  }
  release()
  for (const call of calls) t.equal((await call).status, 200)
})

t.test('fastest leaves a target that fails at once to others', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(json({ error: { message: 'overloaded' } }, { status: 503 }))
  b.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, models(a.origin, b.origin, 'm: { targets: [a, b], strategy: fastest }'))
  for (let call = 0; call < 40; call++) t.equal((await gateway.chat()).status, 200)
  t.equal(b.requests.items.length, 40)
  t.ok(a.requests.items.length <= 2, `a was asked ${a.requests.items.length} times of 40`)
})

t.test('weighted draws among all targets, also those without a weight', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(
    t,
    models(a.origin, b.origin, 'm: { targets: [a, { upstream: b, weight: 3 }], strategy: weighted }'),
  )
  for (let call = 0; call < 60; call++) t.equal((await gateway.chat()).status, 200)
  const [first, second] = [a.requests.items.length, b.requests.items.length]
  t.ok(first > 2 && second > first, `${first} and ${second}`)
})

t.test('a model without a strategy has no stage of it', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, models(a.origin, b.origin, 'm: [a, b]'))
  for (let call = 0; call < 5; call++) await gateway.chat()
  t.equal(b.requests.items.length, 0, 'the order decides')
})
