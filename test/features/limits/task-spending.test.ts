import t, { type Test } from 'tap'
import type { Demand } from '../../../src/core/amounts.js'
import type { Price, Scope } from '../../../src/core/bounds.js'
import type { Json } from '../../../src/core/json.js'
import { Book } from '../../../src/features/limits/book.js'
import { holdDebt, keepDebt, settleDebt, type TaskDebt } from '../../../src/features/limits/task-spending.js'
import type { AttemptView } from '../../../src/kernel/stages.js'
import type { TaskEnd } from '../../../src/kernel/task-end.js'
import { MemoryAccounts } from '../../../src/stores/memory-accounts.js'
import { VirtualTime } from './virtual-time.js'

const DEMAND: Demand = {
  ...{ input: 900, likelyInput: 300, links: 0, output: undefined, choices: 1, images: 0, characters: 0, searches: 0 },
  ...{ requests: 1, seconds: 0, saysSeconds: false, audioSeconds: 0, likelyAudioSeconds: 0 },
}
const WORST = { input: 900, output: 0, tokens: 900, cost: 80 }
const LIMITS = { bounds: [{ unit: 'budget', amount: 100, window: 'day' } as const] }
const TODAY = ['key:alice budget day 2026-11-24']

/** A task of alice's that costs 80, begun a second before midnight. */
function stage(t: Test) {
  const time = new VirtualTime(Date.UTC(2026, 10, 23, 23, 59, 59))
  const { now } = Date
  Date.now = () => time.now
  t.teardown(() => {
    Date.now = now
  })
  const store = new MemoryAccounts(() => {})
  const onFault = (error: unknown) => void t.fail(`${error}`)
  const book = new Book(store, { clock: time.clock(), isShared: true, isDurable: false, onFault })
  let kept: Json = null
  const attempt = {
    ...{ call: {}, exchange: {} },
    keep(_feature: string, value: Json) {
      kept = value
    },
  } as unknown as AttemptView
  const begin = () => keepDebt(attempt, [{ type: 'key', name: 'alice', limits: LIMITS }], WORST, DEMAND)
  const of = {
    submit: '1',
    owner: 'alice',
    model: 'm',
    target: 'm',
    upstream: 'up',
    route: 'POST /v1/videos',
    generation: 1,
  }
  const end = (state: string, fields = {}) => settleDebt(book, { ...of, kept, state, fields } as unknown as TaskEnd)
  return { time, store, book, attempt, begin, end, hold: (debt: TaskDebt) => time.until(holdDebt(book, attempt, debt)) }
}

t.test('a task whose submit takes past midnight is held in the new day, and nothing of it stays there', async t => {
  const { time, store, book, begin, end, hold } = stage(t)
  const debt = begin()
  await time.pass(2000)
  await hold(debt)
  t.match(await time.until(book.read(debt.scopes)), [{ reserved: 80 }])
  await end('cancelled')
  await time.until(book.close())
  t.same(await store.read(TODAY, time.now), [{ spent: 0, held: 0 }])
})

t.test('a task that was given up, and then accepted after all, is charged once when it succeeds', async t => {
  const { time, store, book, begin, end, hold } = stage(t)
  const debt = { ...begin(), price: { request: 80_000_000 }, units: { request: 1 } }
  await end('failed')
  await time.pass(2000)
  await hold(debt)
  for (let report = 0; report < 2; report++) await end('succeeded')
  await time.until(book.close())
  t.same(await store.read(TODAY, time.now), [{ spent: 80, held: 0 }])
})

for (const [what, price, asked, output, units, cost, estimated] of [
  [
    'tokens alone',
    { input: 10, output: 40 },
    { images: 1 },
    8192,
    { image: 1, input: 300, output: 8192 },
    330_680,
    true,
  ],
  ['tokens alone, where nothing is counted', { input: 10 }, {}, 0, { input: 300 }, 3000, true],
  ['tokens of a long input', { above: [{ tokens: 200, rates: { input: 10 } }] }, {}, 0, { input: 300 }, 3000, true],
  ['images and tokens', { input: 10, image: 9 }, { images: 2 }, 16_384, { image: 2 }, 18, undefined],
  ['characters', { character: 5 }, { characters: 7 }, 28, { character: 7 }, 35, undefined],
  [
    'seconds of sound',
    { audio_second: 4 },
    { audioSeconds: 60, likelyAudioSeconds: 10 },
    0,
    { audio_second: 10 },
    40,
    true,
  ],
  ['nothing', {}, { images: 1 }, 8192, { image: 1 }, 0, undefined],
] as const)
  t.test(`a task whose price has ${what} costs what was reserved for that`, async t => {
    const { book, end, attempt } = stage(t)
    const micro = (rates: object): object =>
      JSON.parse(JSON.stringify(rates), (key, value) =>
        typeof value === 'number' && key !== 'tokens' ? value * 1e6 : value,
      )
    Object.assign(attempt.exchange, { tariff: { price: micro(price) as Price } })
    keepDebt(attempt, [], { ...WORST, output }, { ...DEMAND, ...asked })
    const record = await end('succeeded')
    t.strictSame([record?.units, record?.cost, record?.estimated], [units, cost, estimated])
    await book.close()
  })

for (const [what, price, asked, estimated] of [
  ['seconds', { video_second: 4 }, {}, undefined],
  ['tokens', { input: 10, output: 40 }, {}, true],
  ['seconds of film and of sound', { video_second: 4, audio_second: 1 }, { audioSeconds: 60 }, true],
] as const)
  t.test(`a video with a price by ${what}, whose upstream says how long it is`, async t => {
    const { book, end, attempt } = stage(t)
    const micro = Object.fromEntries(Object.entries(price).map(([unit, rate]) => [unit, rate * 1e6]))
    Object.assign(attempt.exchange, { tariff: { price: micro as Price } })
    const demand = { ...DEMAND, seconds: 10, likelyAudioSeconds: 5, ...asked }
    keepDebt(attempt, [], { ...WORST, output: 100 }, demand)
    t.equal((await end('succeeded'))?.estimated, true, 'it does not')
    const record = await end('succeeded', { seconds: '6' })
    t.strictSame([record?.units.video_second, record?.estimated], [6, estimated])
    await book.close()
  })

t.test('of scopes with a budget that alone is kept', async t => {
  const { attempt } = stage(t)
  const tokens = { unit: 'tokens', amount: 5, window: 'day' } as const
  const limits = { bounds: [tokens, ...LIMITS.bounds], in_flight: 4, when_store_fails: 'open' } as const
  const scopes: readonly Scope[] = [
    { type: 'key', name: 'alice', limits },
    { type: 'group', name: 'all', limits: { bounds: [tokens] } },
  ]
  const kept = [{ type: 'key', name: 'alice', limits: { ...LIMITS, when_store_fails: 'open' } }]
  t.strictSame(keepDebt(attempt, scopes, WORST, DEMAND).scopes, kept)
})
