import t from 'tap'
import type { RateLimitName, RateLimits } from '../../../src/core/rate-limits.js'
import type { ResetForm } from '../../../src/core/rate-limits-config.js'
import { renamedLimits } from '../../../src/kernel/translate/rate-limits.js'
import { compileRateLimits } from '../../../src/plan/rate-limits.js'
import { fc } from '../../helpers/property.js'

const NOW = Date.parse('2026-01-01T00:00:00Z')

const A = {
  reset: 'duration',
  headers: ['A-Limit-*'],
  requests: { limit: 'A-Limit-Requests', remaining: 'a-limit-requests-left', reset: 'a-limit-requests-reset' },
  tokens: { limit: 'a-limit-tokens', remaining: 'a-limit-tokens-left', reset: 'a-limit-tokens-reset' },
} as const

const B = {
  reset: 'time',
  headers: ['b-*'],
  requests: { limit: 'b-limit', remaining: 'b-left', reset: 'b-reset' },
  input_tokens: { limit: 'b-in', remaining: 'b-in-left', reset: 'b-in-reset' },
} as const

/** What becomes of one value of a reset. */
function reset(value: string, from: ResetForm, to: ResetForm): string | undefined {
  const name: RateLimitName = { name: 'out', reset: { from, to } }
  const limits: RateLimits = { names: new Map([['in', name]]), foreign: () => false }
  return renamedLimits(['in', value], limits, NOW)[1]
}

t.test('limits that both protocols know are renamed, others of the upstream are left out, the rest stays', async t => {
  const told = [
    ...['content-language', 'en', 'a-limit-requests', '100', 'a-limit-requests-left', '7'],
    ...['a-limit-requests-reset', '1m30s', 'a-limit-tokens', '4000', 'a-limit-images', '3', 'retry-after', '7'],
  ]
  t.same(renamedLimits(told, compileRateLimits(A, B), NOW), [
    ...['content-language', 'en', 'b-limit', '100', 'b-left', '7'],
    ...['b-reset', '2026-01-01T00:01:30Z', 'retry-after', '7'],
  ])
})

t.test('a protocol without such headers gets none, one whose upstream has none gets nothing made up', async t => {
  const told = ['a-limit-requests', '100', 'a-limit-images', '3', 'x-other', 'y']
  t.same(renamedLimits(told, compileRateLimits(A, undefined), NOW), ['x-other', 'y'])
  t.same(renamedLimits(['x-other', 'y'], compileRateLimits(undefined, A), NOW), ['x-other', 'y'])
  t.same(renamedLimits(told, compileRateLimits(undefined, undefined), NOW), told)
})

t.test('protocols of one family: all of them stay, with their values as they came', async t => {
  const told = ['a-limit-requests', '100', 'a-limit-requests-reset', '1m30.50s', 'a-limit-images', '3']
  t.same(renamedLimits(told, compileRateLimits(A, A), NOW), told)
})

t.test('counts are whole numbers', async t => {
  const limits = compileRateLimits(A, B)
  for (const value of ['0', '7', '999999999999999'])
    t.same(renamedLimits(['a-limit-requests', value], limits, NOW)[1], value)
  for (const value of ['', '-1', '1.5', '1e3', ' 7', '7 ', 'many', '9'.repeat(16), '100, 100;w=60'])
    t.same(renamedLimits(['a-limit-requests', value], limits, NOW), [], JSON.stringify(value))
})

t.test('durations become moments, rounded up to seconds', async t => {
  const cases: Readonly<Record<string, string | undefined>> = {
    '0s': '2026-01-01T00:00:00Z',
    '4ms': '2026-01-01T00:00:01Z',
    '1s': '2026-01-01T00:00:01Z',
    '7.66s': '2026-01-01T00:00:08Z',
    '1m30s': '2026-01-01T00:01:30Z',
    '2h0m5s': '2026-01-01T02:00:05Z',
    '1d': '2026-01-02T00:00:00Z',
    '30': '2026-01-01T00:00:30Z',
    '500us': '2026-01-01T00:00:01Z',
    '': undefined,
    s: undefined,
    '-1s': undefined,
    '1.2.3s': undefined,
    '1y': undefined,
    '1s ': undefined,
    soon: undefined,
    '999999999999h': undefined,
  }
  for (const [value, moment] of Object.entries(cases)) t.equal(reset(value, 'duration', 'time'), moment, value)
})

t.test('moments become durations, rounded up; those long gone are now', async t => {
  const cases: Readonly<Record<string, string | undefined>> = {
    '2026-01-01T00:00:00Z': '0s',
    '2026-01-01T00:00:00.250Z': '250ms',
    '2026-01-01T00:00:01Z': '1s',
    '2026-01-01T00:00:01.001Z': '2s',
    '2026-01-01T00:01:30Z': '1m30s',
    '2026-01-01T02:00:05Z': '2h0m5s',
    '2026-01-01T01:00:00+01:00': '0s',
    '2025-12-31T00:00:00Z': '0s',
    '1970-01-01T00:00:00Z': undefined,
    '2099-01-01T00:00:00Z': undefined,
    never: undefined,
  }
  for (const [value, duration] of Object.entries(cases)) t.equal(reset(value, 'time', 'duration'), duration, value)
})

t.test('a valid value in the form of the client stays unchanged', async t => {
  t.equal(reset('1m30.50s', 'duration', 'duration'), '1m30.50s')
  t.equal(reset('2026-01-01T01:00:00+01:00', 'time', 'time'), '2026-01-01T01:00:00+01:00')
  t.equal(reset('gibberish', 'duration', 'duration'), undefined)
  t.equal(reset('gibberish', 'time', 'time'), undefined)
})

t.test('a duration that becomes a moment and a duration again is the same, up to a second', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 300 * 24 * 3600 }), seconds => {
      const there = reset(`${seconds}s`, 'duration', 'time')
      const back = there && reset(there, 'time', 'duration')
      const again = back && reset(back, 'duration', 'time')
      return there !== undefined && there === again
    }),
  )
})

t.test('any upstream value becomes a valid value, or none', async () => {
  const value = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{1,12}(h|m|s|ms)([0-9.]{1,4}(m|s))?$/))
  fc.assert(
    fc.property(value, text => {
      const moment = reset(text, 'duration', 'time')
      const duration = reset(text, 'time', 'duration')
      return (
        (moment === undefined || /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(moment)) &&
        (duration === undefined || /^(\d+h)?(\d+m)?\d+m?s$/.test(duration))
      )
    }),
  )
})
