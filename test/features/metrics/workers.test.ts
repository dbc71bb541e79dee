import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { ALONE, type PeerListener, type Peers } from '../../../src/core/peers.js'
import { CountedFamilies, stateFamilies } from '../../../src/features/metrics/families.js'
import { REQUEST_METRICS } from '../../../src/features/metrics/request-list.js'
import type { MetricSpec } from '../../../src/features/metrics/spec.js'
import { STATE_METRICS } from '../../../src/features/metrics/state-list.js'
import { COUNTED, TOTAL, WorkerTotals } from '../../../src/features/metrics/totals.js'
import { WorkerMetrics } from '../../../src/features/metrics/workers.js'
import { fc } from '../../helpers/property.js'
import { Star } from '../../helpers/star.js'

/** What workers count, against a model of it, while they are asked, restarted and killed. */

const { fallbacks: FALLBACKS, keyRequests: KEY_REQUESTS, ownDuration: OWN_DURATION } = REQUEST_METRICS
const { linesLost: LINES_LOST, reloads: RELOADS, inFlight: IN_FLIGHT, storeUp: STORE_UP } = STATE_METRICS

interface Worker {
  readonly number: number
  readonly metrics: WorkerMetrics
  readonly families: CountedFamilies
  readonly states: () => ReturnType<typeof stateFamilies>
  /** What it has counted, and how much of that the last scrape showed. */
  counted: number
  shown: number
  /** It does not answer others. */
  isSilent: boolean
}

class Crew {
  readonly #star = new Star()
  readonly #workers: Worker[] = []
  /** Of workers that have ended: what may be missing no more. */
  #ended = 0
  /** The largest sum that was seen. */
  #seen = 0

  static async of(count: number): Promise<Crew> {
    const crew = new Crew()
    new WorkerTotals(crew.#star.hub, 1234)
    for (let number = 1; number <= count; number++) await crew.start(number)
    return crew
  }

  async start(number: number): Promise<void> {
    const families = new CountedFamilies()
    const states = (): ReturnType<typeof stateFamilies> => {
      const shown = stateFamilies()
      shown.linesLost.of().add(worker.counted)
      shown.reloads.of('applied').add(worker.counted)
      shown.inFlight.of().add(1)
      shown.storeUp.of('postgres').add(number - 1)
      return shown
    }
    const metrics = new WorkerMetrics(await this.#star.join(number), families, async () => {
      if (worker.isSilent) throw new Error('it does not answer')
      return states()
    })
    const worker = { number, families, metrics, states, counted: 0, shown: 0, isSilent: false }
    this.#workers.push(worker)
  }

  count(at: number, amount: number): void {
    const worker = this.at(at)
    worker.families.requests.fallbacks.of().add(amount)
    worker.families.requests.ownDuration.of('/').observe(amount)
    worker.counted += amount
  }

  /** What a worker shows is what all have counted; of others that do not answer, what they had before. */
  async scrape(at: number, silent: number = at): Promise<void> {
    const other = this.at(silent)
    other.isSilent = other !== this.at(at)
    const sums = await this.#sums(at)
    for (const worker of this.#workers) if (!worker.isSilent) worker.shown = worker.counted
    other.isSilent = false
    const wanted = this.#workers.reduce((sum, { shown }) => sum + shown, this.#ended)
    for (const sum of sums) if (sum !== wanted) throw new Error(`${sums} shown, and not ${wanted}`)
  }

  /** One is killed while two others are scraped: what it counted last may have been heard, or not. */
  async killAmidScrapes(at: number, turns: number): Promise<void> {
    const worker = this.at(at)
    const asked = [this.#sums(at + 1), this.#sums(at + 2)]
    for (let turned = 0; turned < turns; turned++) await turn()
    this.#leave(worker)
    const least = this.#ended + worker.shown
    await Promise.all(asked)
    for (const other of this.#workers) other.shown = other.counted
    const [sum = 0] = await this.#sums(at + 1)
    this.#ended = sum - this.#workers.reduce((sum, { counted }) => sum + counted, 0)
    if (this.#ended < least || this.#ended > least - worker.shown + worker.counted)
      throw new Error(`${this.#ended} of ended ones, and ${least} had been shown`)
    await this.start(worker.number)
  }

  /** A worker ends, and another one takes its place. A killed one hands over nothing. */
  async replace(at: number, isKilled: boolean): Promise<void> {
    const worker = this.at(at)
    if (!isKilled) await worker.metrics.farewell(worker.states())
    this.#leave(worker)
    this.#ended += isKilled ? worker.shown : worker.counted
    await this.start(worker.number)
  }

  async shown(at: number): ReturnType<WorkerMetrics['merged']> {
    return await this.at(at).metrics.merged()
  }

  at(at: number): Worker {
    const worker = this.#workers[at % this.#workers.length]
    if (worker === undefined) throw new Error('no workers')
    return worker
  }

  #leave(worker: Worker): void {
    this.#workers.splice(this.#workers.indexOf(worker), 1)
    this.#star.leave(worker.number)
  }

  /** The same sum in what is counted, observed, and read when it is asked for. */
  async #sums(at: number): Promise<readonly number[]> {
    const shown = await this.shown(at)
    const sums = [FALLBACKS, OWN_DURATION, LINES_LOST].map(spec => sumOf(shown, spec))
    if (Math.min(...sums) < this.#seen) throw new Error(`${sums} shown after ${this.#seen}`)
    this.#seen = Math.max(...sums)
    return sums
  }
}

/** Of histograms: of what was observed. */
function sumOf(shown: Awaited<ReturnType<WorkerMetrics['merged']>>, { name }: MetricSpec): number {
  const series = Array.from(shown.find(({ spec }) => spec.name === name)?.series ?? [])
  return series.reduce((sum, { numbers }) => sum + (numbers.at(-1) ?? 0), 0)
}

const COUNT = 3

const worker = fc.nat({ max: COUNT - 1 })
const action = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('count' as const), worker, amount: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('scrape' as const), worker, silent: worker }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('race' as const), worker, turns: fc.nat({ max: 8 }) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constantFrom('restart' as const, 'kill' as const), worker }) },
)

t.test('sums are exact and never go back, whichever worker is asked, is silent, ends or is killed', async t => {
  const property = fc.asyncProperty(fc.array(action, { maxLength: 40, size: 'max' }), async actions => {
    const crew = await Crew.of(COUNT)
    for (const one of actions) {
      if (one.does === 'count') crew.count(one.worker, one.amount)
      else if (one.does === 'scrape') await crew.scrape(one.worker, one.silent)
      else if (one.does === 'race') await crew.killAmidScrapes(one.worker, one.turns)
      else await crew.replace(one.worker, one.does === 'kill')
    }
    await crew.scrape(0)
  })
  t.comment(`seed ${fc.readConfigureGlobal().seed}`)
  await t.resolves(fc.assert(property, { numRuns: 25 }))
})

t.test('200 processes count and end, one half of them killed after a scrape: the sums have all of it', async t => {
  const crew = await Crew.of(2)
  for (let ended = 0; ended < 200; ended++) {
    crew.count(ended, 1 + (ended % 7))
    if (ended % 2 === 0) await crew.scrape(ended + 1)
    await crew.replace(ended, ended % 2 === 0)
  }
  await t.resolves(crew.scrape(0))
  const counted = Array.from({ length: 200 }, (_, ended) => 1 + (ended % 7)).reduce((sum, one) => sum + one)
  const shown = await crew.shown(1)
  t.equal(sumOf(shown, FALLBACKS), counted)
  t.equal(sumOf(shown, LINES_LOST), counted)
  t.equal(sumOf(shown, RELOADS), 7, 'what all workers have in common is not added')
  t.equal(sumOf(shown, IN_FLIGHT), 2, 'of those that live')
  t.equal(sumOf(shown, STORE_UP), 0, 'one that cannot use it is enough')
})

t.test('the first worker says what the totals are of; so does its successor, and the next one meanwhile', async t => {
  const crew = await Crew.of(2)
  const origin = await crew.at(0).metrics.leads()
  t.match(origin, { gateway: /^[\da-f-]{36}$/, since: 1234 })
  t.same(await Promise.all([0, 1].map(at => crew.at(at).metrics.leads())), [origin, undefined])
  await crew.replace(0, true)
  t.same(await Promise.all([0, 1].map(at => crew.at(at).metrics.leads())), [undefined, origin])
})

t.test('a metric may have more series than a message', async t => {
  const crew = await Crew.of(2)
  for (let key = 0; key < 4000; key++)
    crew
      .at(key)
      .families.requests.keyRequests.of(`key-${key % 3000}`)
      .add(1)
  const series = [...((await crew.shown(0)).find(({ spec }) => spec.name === KEY_REQUESTS.name)?.series ?? [])]
  t.equal(series.length, 3000)
  t.equal(
    series.reduce((sum, { numbers }) => sum + (numbers[0] ?? 0), 0),
    4000,
  )
})

t.test('where the supervisor does not answer, no smaller sums are shown, but gauges are', async t => {
  const star = new Star()
  const families = new CountedFamilies()
  families.requests.fallbacks.of().add(1)
  const states = stateFamilies()
  states.inFlight.of().add(3)
  const metrics = new WorkerMetrics(await star.join(1), families, async () => states)
  const shown = await metrics.merged()
  t.same([...(shown.find(({ spec }) => spec.name === FALLBACKS.name)?.series ?? [])], [])
  t.equal(sumOf(shown, IN_FLIGHT), 3)
  t.equal(await metrics.leads(), undefined)
})

t.test('reports count once: those that come again, and those that come after the first one of a successor', async t => {
  const listeners = new Map<string, PeerListener<unknown, unknown>>()
  const on: Peers['on'] = ({ name }, listener) => void listeners.set(name, listener as PeerListener<unknown, unknown>)
  new WorkerTotals({ ...ALONE, on })
  const report = (process: string, counted: number): unknown =>
    listeners.get(COUNTED.name)?.({ process, spec: FALLBACKS, series: [[['m', 'n'], [counted]]] }, 1)
  const total = (): unknown => listeners.get(TOTAL.name)?.({ metric: FALLBACKS.name, from: 0 }, 2)
  for (const counted of [5, 5, 8, 7, 8]) report('first', counted)
  report('second', 2)
  report('first', 9)
  report('second', 3)
  report('first', 9)
  t.same(total(), [[['m', 'n'], [12]]])
})
