import t from 'tap'
import { parseDuration, parseMoment, parseSize } from '../../src/config/units.js'

t.test('sizes are bytes, or carry a binary unit', async t => {
  t.equal(parseSize(1024), 1024)
  t.equal(parseSize('1024'), 1024)
  t.equal(parseSize('1B'), 1)
  t.equal(parseSize('16KiB'), 16_384)
  t.equal(parseSize('32 MiB'), 33_554_432)
  t.equal(parseSize('3GiB'), 3_221_225_472)
})

t.test('other units, nothing and too much are not sizes', async t => {
  for (const text of ['32MB', '1.5MiB', '-1', '', 'MiB', '4GiB', '0', '0KiB', '99999999999999999999', '1e3', ' 1'])
    t.equal(parseSize(text), undefined, text)
})

t.test('durations carry their unit', async t => {
  t.equal(parseDuration('500ms'), 500)
  t.equal(parseDuration('30s'), 30_000)
  t.equal(parseDuration('1.5 m'), 90_000)
  t.equal(parseDuration('24h'), 86_400_000)
})

t.test('durations without a unit, too short or beyond what timers take are none', async t => {
  for (const text of ['30', '30 sec', '0s', '0.1ms', '600h', '-1s', '', '1d', '1e3s', 's'])
    t.equal(parseDuration(text), undefined, text)
})

t.test('a day lasts until its end in UTC', async t => {
  t.equal(parseMoment('2026-12-31'), Date.parse('2027-01-01T00:00:00Z'))
})

t.test('a moment carries its zone', async t => {
  t.equal(parseMoment('2026-12-31T12:00:00Z'), Date.parse('2026-12-31T12:00:00Z'))
  t.equal(parseMoment('2026-12-31T12:00+02:00'), Date.parse('2026-12-31T10:00:00Z'))
})

t.test('days that do not exist and moments without a zone are none', async t => {
  for (const text of [
    '2026-02-30',
    '2026-13-01',
    '2026-12-31T12:00:00',
    '2026-12-31T25:00:00Z',
    '31.12.2026',
    '2026',
    '',
    'never',
  ])
    t.equal(parseMoment(text), undefined, text)
})
