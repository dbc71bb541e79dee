import t from 'tap'
import { TraceContext, traceContextOf, traceparentOf } from '../../../src/core/trace.js'
import { Sampler } from '../../../src/features/traces/sampling.js'
import { fc } from '../../helpers/property.js'

const hex = (digits: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits })
const id = hex(32).filter(one => !/^0+$/.test(one))
const span = hex(16).filter(one => !/^0+$/.test(one))
const share = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }))
const config = fc.record({
  sample: fc.record({ errors: share, slow: share, rest: share, slow_after: fc.constant(1000) }),
  parent: fc.constantFrom('follow' as const, 'ignore' as const),
})
const flag = fc.constantFrom(undefined, true, false)
const ended = fc.record({ isError: fc.boolean(), isSlow: fc.boolean() })

t.test('the flag of the caller decides, unless it is ignored', async () => {
  fc.assert(
    fc.property(config, id, span, fc.boolean(), (config, id, parent, isSampled) => {
      const decided = new Sampler({ ...config, parent: 'follow' }).isSampled(new TraceContext(id, parent, isSampled))
      const ignored = new Sampler({ ...config, parent: 'ignore' })
      const same =
        ignored.isSampled(new TraceContext(id, parent, isSampled)) === ignored.isSampled(new TraceContext(id))
      return decided === isSampled && same
    }),
  )
})

t.test('a larger share holds what a smaller one held, 0 is none, 1 is all', async () => {
  fc.assert(
    fc.property(config, id, share, ended, (config, id, larger, ended) => {
      const trace = new TraceContext(id)
      const { sample } = config
      const [few, more] = [sample.rest, larger].toSorted((one, other) => one - other)
      const held = (rest: number | undefined): boolean =>
        new Sampler({ ...config, sample: { ...sample, rest: rest ?? 0 } }).isSampled(trace)
      if (held(0) || !held(1)) return false
      const kept = (errors: number): boolean =>
        new Sampler({ ...config, sample: { ...sample, errors, slow: 0 } }).isKept(trace, ended)
      if (kept(0) || kept(1) !== ended.isError) return false
      return !held(few) || held(more)
    }),
  )
})

t.test('of the shares that hold the largest decides', async () => {
  fc.assert(
    fc.property(config, id, flag, ended, ({ sample, parent }, id, isSampled, { isError, isSlow }) => {
      const sampler = new Sampler({ sample, parent })
      const trace = new TraceContext(id, undefined, isSampled)
      const alone = (errors: number, slow: number): boolean =>
        new Sampler({ sample: { ...sample, errors, slow }, parent }).isKept(trace, { isError, isSlow })
      return sampler.isKept(trace, { isError, isSlow }) === (alone(sample.errors, 0) || alone(0, sample.slow))
    }),
  )
})

t.test('of many made traces a share is held', async t => {
  const sampler = new Sampler({ parent: 'follow', sample: { errors: 0, slow: 0, slow_after: 1, rest: 0.25 } })
  const held = Array.from({ length: 20_000 }, () => sampler.isSampled(traceContextOf(undefined))).filter(Boolean).length
  // More than 16 standard deviations: never by chance.
  t.ok(held > 4000 && held < 6000, `${held} of 20,000`)
})

t.test('what is written of a context is read again, and nothing else is a context', async t => {
  fc.assert(
    fc.property(id, span, fc.boolean(), (id, span, isSampled) => {
      const read = traceContextOf(traceparentOf(id, span, isSampled))
      return read.id === id && read.parent === span && read.isSampled === isSampled && read.span !== span
    }),
  )
  for (const wrong of [undefined, '', 'ff-', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`, `00-${'A'.repeat(32)}-`, 7]) {
    const made = traceContextOf(wrong)
    t.match(made.id, /^[0-9a-f]{32}$/)
    t.same([made.parent, made.isSampled], [undefined, undefined])
  }
})
