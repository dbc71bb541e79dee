import t from 'tap'
import type { LedgerRecord } from '../../../src/core/ledger.js'
import { Account } from '../../../src/features/limits/account.js'
import { linesOf, makeEntries, type Uncharged } from '../../../src/features/limits/ledger-entry.js'
import { type Part, Reservation } from '../../../src/features/limits/reservation.js'

const PLAIN: Uncharged = {
  ...{ id: '0b1c/1', at: Date.UTC(2026, 10, 23, 23, 59), key: 'alice', model: 'm', upstream: 'u', route: 'POST /v1/x' },
  ...{ units: { input: 12, output: 3 }, cost: 48, outcome: 'ok', generation: 7 },
}
/** Every member; a new one that is not written fails here, once `Required` asks for it. */
const WHOLE: Required<Omit<LedgerRecord, 'charges'>> = {
  ...{ ...PLAIN, mirror_of: '0b1b', group: 'research/eu', target: 'm-2026', unpriced: true, estimated: true },
  continues: true,
  units: { input: 1, cached: 2, audio_second: 1.5, image: 0 },
}

const readAll = (record: Uncharged, charges: readonly string[] = []): readonly LedgerRecord[] =>
  makeEntries(record, charges).map(({ value }) => JSON.parse(Buffer.from(value).toString()))
const read = (record: Uncharged, charges: readonly string[] = []): unknown => readAll(record, charges)[0]

t.test('an entry has every member of its record, and what was charged', async t => {
  for (const record of [PLAIN, WHOLE]) {
    t.same(read(record), { ...record, charges: {} })
  }
  t.same(read(PLAIN, ['"key:alice budget day":48']), { ...PLAIN, charges: { 'key:alice budget day': 48 } })
  t.equal(makeEntries(PLAIN, [])[0]?.day, '2026-11-23')
})

t.test('names may have any characters', async t => {
  for (const name of ['a "b" \\ c', '東京', '\u0000\n\u007f', '\ud800', '😀', '', ' '])
    t.same(read({ ...WHOLE, key: name, group: name, model: name, target: name, upstream: name }), {
      ...WHOLE,
      ...JSON.parse(JSON.stringify({ key: name, group: name, model: name, target: name, upstream: name })),
      charges: {},
    })
})

t.test('names that are too long are cut', async t => {
  const { model, target } = read({ ...WHOLE, model: 'x'.repeat(40_000), target: 'y'.repeat(300) }) as LedgerRecord
  t.equal(model, 'x'.repeat(256))
  t.equal(target, 'y'.repeat(256))
})

t.test('what one record has no room for is in further ones, which neither use nor cost anything', async t => {
  const names = Array.from({ length: 100 }, (_, at) => `group:${'%F0%9F%98%80'.repeat(40)}${at} budget month 2026-11`)
  const [first, ...further] = readAll(
    { ...WHOLE, model: '"'.repeat(255), continues: undefined },
    names.map((name, at) => `${JSON.stringify(name)}:${at + 1}`),
  )
  t.match(first, { id: '0b1c/1', cost: 48, units: WHOLE.units, estimated: true, unpriced: true })
  t.equal(first?.continues, undefined)
  for (const one of further) {
    t.match(one, { id: '0b1c/1', at: PLAIN.at, key: 'alice', cost: 0, continues: true })
    t.strictSame([one.units, one.estimated, one.unpriced], [{}, undefined, undefined])
  }
  const charges = Object.assign({}, ...[first, ...further].map(one => one?.charges))
  t.strictSame(charges, Object.fromEntries(names.map((name, at) => [name, at + 1])))
})

t.test('accounts of rates take no room in a record, so that many of them split none', async t => {
  const span = { start: 0, end: 1, label: 'w' }
  const used = { requests: 1, tokens: 15, budget: 48, in_flight: 0, streams: 0 }
  const part = (unit: 'requests' | 'budget', count: number): Part => ({
    meters: [],
    accounts: Array.from({ length: count }, (_, at) => new Account(`group:g${at} ${unit}`, unit, span, 9, true)),
    amounts: used,
  })
  const counts = (...parts: Part[]): number[] =>
    linesOf(PLAIN, new Reservation([], parts)).map(({ text }) => Object.keys(JSON.parse(text).charges).length)
  t.strictSame(counts(part('requests', 200), part('budget', 32)), [32])
  t.strictSame(counts(part('budget', 33)), [32, 1])
})
