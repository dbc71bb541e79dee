import t from 'tap'
import type { Window } from '../../../src/core/bounds.js'
import { Windows } from '../../../src/features/limits/windows.js'

const HOUR_MS = 3_600_000

function spanOf(zone: string, window: Window, at: string): readonly [string, string, string] {
  const { start, end, label } = new Windows(zone).at(window, Date.parse(at))
  return [new Date(start).toISOString(), new Date(end).toISOString(), label]
}

function hoursOf(zone: string, window: Window, at: string): number {
  const { start, end } = new Windows(zone).at(window, Date.parse(at))
  return (end - start) / HOUR_MS
}

t.test('windows of UTC', async t => {
  const at = '2026-11-23T10:41:07.250Z'
  for (const [window, start, end, label] of [
    ['second', '2026-11-23T10:41:07.000Z', '2026-11-23T10:41:08.000Z', '2026-11-23T10:41:07'],
    ['minute', '2026-11-23T10:41:00.000Z', '2026-11-23T10:42:00.000Z', '2026-11-23T10:41'],
    ['hour', '2026-11-23T10:00:00.000Z', '2026-11-23T11:00:00.000Z', '2026-11-23T10:00'],
    ['day', '2026-11-23T00:00:00.000Z', '2026-11-24T00:00:00.000Z', '2026-11-23'],
    ['month', '2026-11-01T00:00:00.000Z', '2026-12-01T00:00:00.000Z', '2026-11'],
  ] as const)
    t.same(spanOf('UTC', window, at), [start, end, label])
  t.same(new Windows('UTC').at('total', 0).label, '')
  t.same(spanOf('UTC', 'month', '2027-12-31T23:59:59.999Z')[1], '2028-01-01T00:00:00.000Z')
})

t.test('days and months begin by the clock of their time zone', async t => {
  t.same(spanOf('Asia/Tokyo', 'day', '2026-11-23T15:00:00Z'), [
    '2026-11-23T15:00:00.000Z',
    '2026-11-24T15:00:00.000Z',
    '2026-11-24',
  ])
  t.same(spanOf('America/New_York', 'month', '2026-12-01T04:59:59Z'), [
    '2026-11-01T04:00:00.000Z',
    '2026-12-01T05:00:00.000Z',
    '2026-11',
  ])
  t.same(spanOf('Asia/Kathmandu', 'hour', '2026-11-23T10:41:00Z'), [
    '2026-11-23T10:15:00.000Z',
    '2026-11-23T11:15:00.000Z',
    '2026-11-23T10:15',
  ])
})

t.test(
  'hours follow each other, and are the same for each moment in them, in all zones that are off by parts of an hour',
  async t => {
    const isPartial = (zone: string): boolean =>
      [0, 6].some(
        month => spanOf(zone, 'hour', new Date(Date.UTC(2026, month, 10)).toISOString())[2].slice(-2) !== '00',
      )
    const zones = Intl.supportedValuesOf('timeZone').filter(isPartial)
    t.ok(zones.includes('Australia/Lord_Howe'))
    const seasons = [Date.UTC(2026, 2, 25), Date.UTC(2026, 8, 20)]
    for (const [zone, season] of zones.flatMap(zone => seasons.map(season => [zone, season] as const))) {
      const windows = new Windows(zone)
      const labels = new Set<string>()
      let cut = 0
      for (let { start: at } = windows.find('hour', season); at < season + 20 * 24 * HOUR_MS; ) {
        const span = windows.find('hour', at)
        const length = span.end - span.start
        if (length !== HOUR_MS) cut++
        if (span.start !== at || labels.has(span.label)) t.fail(`${zone}: ${span.label} does not follow the one before`)
        labels.add(span.label)
        if (length !== HOUR_MS || labels.size % 50 === 0)
          for (const moment of [span.start + length / 2, span.end - 1]) t.same(windows.find('hour', moment), span, zone)
        at = span.end
      }
      t.equal(cut, zone === 'Australia/Lord_Howe' ? 1 : 0, zone)
    }
  },
)

t.test('days in which summer time begins or ends have 23 or 25 hours', async t => {
  t.equal(hoursOf('Europe/Berlin', 'day', '2026-03-29T10:00:00Z'), 23)
  t.equal(hoursOf('Europe/Berlin', 'day', '2026-10-25T10:00:00Z'), 25)
  t.equal(hoursOf('Australia/Lord_Howe', 'day', '2026-04-05T03:00:00Z'), 24.5)
  t.equal(hoursOf('Europe/Berlin', 'month', '2026-10-25T10:00:00Z'), 31 * 24 + 1)
  // The clock is put forward at midnight: the day begins at one.
  t.equal(hoursOf('America/Havana', 'day', '2026-03-08T12:00:00Z'), 23)
  t.equal(spanOf('America/Havana', 'day', '2026-03-08T12:00:00Z')[0], '2026-03-08T05:00:00.000Z')
  // It is put back at one to midnight: the first midnight counts.
  t.equal(hoursOf('America/Havana', 'day', '2026-11-01T12:00:00Z'), 25)
  t.equal(spanOf('America/Havana', 'day', '2026-11-01T12:00:00Z')[0], '2026-11-01T04:00:00.000Z')
})

t.test('an hour that the local clock shows twice is two windows', async t => {
  const windows = new Windows('Europe/Berlin')
  const [first, second] = ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'].map(at => windows.at('hour', Date.parse(at)))
  t.not(first?.label, second?.label)
  t.equal(first?.end, second?.start)
})

t.test('windows of a zone follow each other without a gap, for years', async t => {
  for (const zone of [
    'UTC',
    'Europe/Berlin',
    'America/Havana',
    'Australia/Lord_Howe',
    'Africa/Casablanca',
    'Asia/Gaza',
  ])
    for (const window of ['day', 'month'] as const) {
      const windows = new Windows(zone)
      const labels = new Set<string>()
      let { start, end, label } = windows.at(window, Date.UTC(2024, 0, 1, 12))
      for (let count = 0; count < 800 && start < Date.UTC(2028, 0); count++) {
        labels.add(label)
        const next = windows.at(window, end)
        if (next.start !== end || labels.has(next.label) || windows.find(window, next.end - 1).label !== next.label)
          t.fail(`${zone} ${window} ${label}, then ${next.label}`)
        ;({ start, end, label } = next)
      }
      t.ok(labels.size > 40, `${zone} ${window}: ${labels.size}`)
    }
})

t.test('a window is worked out once, and again when the clock jumps out of it', async t => {
  const windows = new Windows('Europe/Berlin')
  const noon = Date.parse('2026-11-23T12:00:00Z')
  const span = windows.at('day', noon)
  t.equal(windows.at('day', noon + HOUR_MS), span)
  t.same(windows.at('hour', noon).label, '2026-11-23T12:00')
  t.same(windows.at('hour', noon - HOUR_MS).label, '2026-11-23T11:00')
  t.same(windows.at('hour', noon + HOUR_MS).label, '2026-11-23T13:00')
  t.throws(() => new Windows('Mars/Olympus'), RangeError)
})
