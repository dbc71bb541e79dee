import t from 'tap'
import type { HealthRule } from '../../../src/core/health.js'
import type { Upstream } from '../../../src/core/plan.js'
import { Circuit } from '../../../src/features/health/circuit.js'
import { Circuits } from '../../../src/features/health/circuits.js'
import { HalfWindows } from '../../../src/features/health/half-windows.js'
import type { Fault } from '../../../src/features/health/verdict.js'
import { fc } from '../../helpers/property.js'

const RULE: HealthRule = {
  failures: 3,
  rate: 0.5,
  requests: 1_000_000,
  window: 10_000,
  cooldown: 1000,
  max_cooldown: 8000,
}

/** The same in the plainest words: the whole history, looked at anew each time. */
class Model {
  row = 0
  openings = 0
  until = Number.NEGATIVE_INFINITY
  changed = Number.NEGATIVE_INFINITY
  isOpen = false

  state(now: number): string {
    if (!this.isOpen) return 'closed'
    return now < this.until ? 'open' : 'half_open'
  }

  end(how: 'good' | 'content' | 'bad', now: number, begun: number, asked: number | undefined): void {
    if (begun < this.changed && (this.isOpen || how === 'good' || asked === undefined)) return
    if (how === 'good') {
      if (this.isOpen) this.change(now, false)
      this.row = 0
    } else if (how === 'content') {
      if (!this.isOpen) return
      this.change(now, false)
      this.row = RULE.failures - 1
    } else if (!this.isOpen) {
      this.row++
      if (asked === undefined && this.row < RULE.failures) return
      if (now - this.changed >= RULE.max_cooldown) this.openings = 0
      this.opens(now, asked)
    } else if (now >= this.until) this.opens(now, asked)
    else if (asked !== undefined && now + asked > this.until) {
      this.openings--
      this.opens(now, asked)
    }
  }

  opens(now: number, asked: number | undefined): void {
    this.openings++
    const pause = asked ?? Math.min(RULE.max_cooldown, RULE.cooldown * 2 ** (this.openings - 1))
    this.change(now, true)
    this.until = now + pause
  }

  change(now: number, isOpen: boolean): void {
    this.isOpen = isOpen
    this.changed = now
    this.row = 0
  }
}

const step = fc.record({
  pass: fc.integer({ min: 0, max: 3000 }),
  how: fc.constantFrom('good', 'bad', 'bad', 'content') as fc.Arbitrary<'good' | 'bad' | 'content'>,
  /** How long before its end the attempt began. */
  took: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4000 })),
  asked: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined, freq: 8 }),
})

t.test('a circuit is in the state of the model after any history', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const circuit = new Circuit()
      const model = new Model()
      let now = 1_000_000
      for (const { pass, how, took, asked } of steps) {
        now += pass
        const begun = now - took
        if (how === 'good') circuit.succeeded(now, begun, RULE)
        else if (how === 'content') circuit.answered(now, begun, RULE)
        else circuit.failed(now, begun, RULE, 'status 503', 0, asked)
        model.end(how, now, begun, asked)
        if (circuit.state(now) !== model.state(now)) return false
        if (model.isOpen && circuit.standing?.until !== model.until) return false
      }
      return true
    }),
  )
})

t.test('attempts that began before it was well again do not open it once more, however they end', async t => {
  const circuit = new Circuit()
  const fails = (begun: number, now: number, asked?: number): void => {
    for (let time = 0; time < 3; time++) circuit.failed(now, begun, RULE, 'first_byte', 0, asked)
  }
  fails(Number.NEGATIVE_INFINITY, 0)
  circuit.answered(1000, 1000, RULE)
  t.equal(circuit.state(1000), 'closed')
  for (const begun of [Number.NEGATIVE_INFINITY, 0, 999]) fails(begun, 2000)
  t.equal(circuit.state(2000), 'closed')
  fails(2000, 2000)
  t.equal(circuit.state(2000), 'open')
  circuit.succeeded(4000, 4000, RULE)
  fails(3000, 5000, 1000)
  t.equal(circuit.state(5000), 'open', 'a pause that is asked for is news')
})

t.test('pauses are twice as long each time, and by chance up to a fifth longer', async t => {
  const pauses = [0, 0.5, 1].map(random => {
    const circuit = new Circuit()
    let now = 0
    const lengths: number[] = []
    for (let i = 0; i < 3; i++) circuit.failed(now, now, RULE, 'connect', random)
    for (let i = 0; i < 5; i++) {
      const { until = 0 } = circuit.standing ?? {}
      lengths.push(until - now)
      now = until
      circuit.failed(now, now, RULE, 'connect', random)
    }
    return lengths
  })
  t.same(pauses, [
    [1000, 2000, 4000, 8000, 8000],
    [1100, 2200, 4400, 8800, 8800],
    [1200, 2400, 4800, 9600, 9600],
  ])
})

t.test('half of at least so many requests within the window open it', async t => {
  const rule = { ...RULE, failures: 1000, requests: 20 }
  const circuit = new Circuit()
  for (let i = 0; i < 19; i++) {
    if (i % 2 === 0) circuit.failed(i, i, rule, 'reset', 0)
    else circuit.succeeded(i, i, rule)
  }
  t.equal(circuit.state(19), 'closed', '10 of 19 are too few requests')
  circuit.failed(19, 19, rule, 'reset', 0)
  t.equal(circuit.state(19), 'open')

  const sound = new Circuit()
  for (let i = 0; i < 200; i++) {
    if (i % 3 === 0) sound.failed(i, i, rule, 'reset', 0)
    else sound.succeeded(i, i, rule)
  }
  t.equal(sound.state(200), 'closed', 'a third is less than half')
})

t.test('a longest asked pause is ten minutes', async t => {
  const circuit = new Circuit()
  circuit.failed(0, 0, RULE, 'status 429', 0, 24 * 3_600_000)
  t.equal(circuit.standing?.until, 600_000)
})

t.test('half windows count all of the last half, and nothing that is older than the whole', async () => {
  const ends = fc.array(fc.record({ pass: fc.integer({ min: 0, max: 900 }), isGood: fc.boolean() }), { maxLength: 80 })
  fc.assert(
    fc.property(ends, fc.integer({ min: 0, max: 2500 }), (list, wait) => {
      const windows = new HalfWindows()
      const seen: { at: number; isGood: boolean }[] = []
      let now = 5000
      for (const { pass, isGood } of list) {
        now += pass
        windows.add(isGood, now, 2000)
        seen.push({ at: now, isGood })
      }
      now += wait
      const within = (span: number): number => seen.filter(one => now - one.at < span).length
      const badWithin = (span: number): number => seen.filter(one => now - one.at < span && !one.isGood).length
      const [all, bad] = [windows.all(now, 2000), windows.bad(now, 2000)]
      return all >= within(1000) && all <= within(2000) && bad >= badWithin(1000) && bad <= badWithin(2000)
    }),
  )
})

t.test('an upstream that is away stays so where there is no credential for it: nothing was sent', async t => {
  const circuits = new Circuits(() => 0)
  const target = { upstream: { name: 'up', definition: 'd' } as Upstream, model: 'm' }
  const fails = (now: number, more: Pick<Fault, 'part' | 'isUnsent'>): void =>
    circuits.failed(target, { reason: 'x', asked: undefined, isLimit: false, ...more }, now, now, RULE)
  for (let time = 0; time < 3; time++) fails(0, { part: 'upstream' })
  fails(2000, { part: 'credential', isUnsent: true })
  t.equal(circuits.ofUpstream(target.upstream)?.isOpen, true)
  fails(3000, { part: 'credential' })
  t.equal(circuits.ofUpstream(target.upstream)?.isOpen, false, 'one that refuses a secret was reached')
})
