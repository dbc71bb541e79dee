import t from 'tap'
import type { LedgerRecord } from '../../../src/core/ledger.js'
import { makeEntry } from '../../../src/features/limits/ledger-entry.js'

type Uncharged = Omit<LedgerRecord, 'charges'>

const PLAIN: Uncharged = {
  ...{ id: '0b1c/1', at: Date.UTC(2026, 10, 23, 23, 59), key: 'alice', model: 'm', upstream: 'u', route: 'POST /v1/x' },
  ...{ units: { input: 12, output: 3 }, cost: 48, outcome: 'ok', generation: 7 },
}
/** Every member; a new one that is not written fails here, once `Required` asks for it. */
const WHOLE: Required<Uncharged> = {
  ...{ ...PLAIN, mirror_of: '0b1b', group: 'research/eu', target: 'm-2026', unpriced: true, estimated: true },
  units: { input: 1, cached: 2, audio_second: 1.5, image: 0 },
}

const read = (record: Uncharged, charges = ''): unknown =>
  JSON.parse(Buffer.from(makeEntry(record, charges).value).toString())

t.test('an entry has every member of its record, and what was charged', async t => {
  for (const record of [PLAIN, WHOLE]) {
    t.same(read(record), { ...record, charges: {} })
  }
  t.same(read(PLAIN, '"key:alice budget day":48'), { ...PLAIN, charges: { 'key:alice budget day': 48 } })
  t.equal(makeEntry(PLAIN, '').day, '2026-11-23')
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
