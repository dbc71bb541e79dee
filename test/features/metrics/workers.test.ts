import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { CountedFamilies, stateFamilies } from '../../../src/features/metrics/families.js'
import { WorkerMetrics } from '../../../src/features/metrics/workers.js'
import { fc } from '../../helpers/property.js'
import { Star } from '../../helpers/star.js'

/** What workers count, against a model of it, while they are asked, restarted and killed. */

interface Worker {
  readonly number: number
  readonly metrics: WorkerMetrics
  readonly families: CountedFamilies
  /** What it has counted, and how much of that the last scrape showed. */
  counted: number
  shown: number
}

class Crew {
  readonly #star = new Star()
  readonly #workers: Worker[] = []
  #last = 0
  /** Of workers that have ended: what may be missing no more. */
  #ended = 0

  async start(): Promise<void> {
    const number = ++this.#last
    const families = new CountedFamilies()
    const peers = await this.#star.join(number)
    const metrics = new WorkerMetrics(peers, families, async () => stateFamilies())
    this.#workers.push({ number, families, metrics, counted: 0, shown: 0 })
  }

  count(at: number, amount: number): void {
    const worker = this.#at(at)
    worker.families.requests.fallbacks.of().add(amount)
    worker.counted += amount
  }

  /** What a worker shows, and what it has to show. */
  async scrape(at: number): Promise<readonly [shown: number, wanted: number]> {
    const shown = (await this.#at(at).metrics.merged()).find(({ spec }) => spec === FALLBACKS)
    const sum = Array.from(shown?.series ?? []).reduce((sum, { numbers }) => sum + (numbers[0] ?? 0), 0)
    for (const worker of this.#workers) worker.shown = worker.counted
    return [sum, this.#workers.reduce((sum, { counted }) => sum + counted, this.#ended)]
  }

  /** A worker ends, and another one takes its place. A killed one hands over nothing. */
  async replace(at: number, isKilled: boolean): Promise<void> {
    const worker = this.#at(at)
    if (!isKilled) worker.metrics.farewell()
    // What it says arrives before its end does.
    for (let turns = 0; turns < 3; turns++) await turn()
    this.#workers.splice(this.#workers.indexOf(worker), 1)
    this.#star.leave(worker.number)
    this.#ended += isKilled ? worker.shown : worker.counted
    await this.start()
  }

  #at(at: number): Worker {
    const worker = this.#workers[at % this.#workers.length]
    if (worker === undefined) throw new Error('no workers')
    return worker
  }
}

const FALLBACKS = new CountedFamilies().requests.fallbacks.spec
const COUNT = 3

const worker = fc.nat({ max: COUNT - 1 })
const action = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ does: fc.constant('count' as const), worker, amount: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('scrape' as const), worker }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('restart' as const), worker }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('kill' as const), worker, scraped: worker }) },
)

t.test('what a scrape has shown stays, no matter which worker is asked next and which is killed', async t => {
  const property = fc.asyncProperty(fc.array(action, { maxLength: 25, size: 'max' }), async actions => {
    const crew = new Crew()
    for (let started = 0; started < COUNT; started++) await crew.start()
    const scrape = async (at: number): Promise<void> => {
      const [shown, wanted] = await crew.scrape(at)
      if (shown !== wanted) throw new Error(`${shown} shown, and not ${wanted}`)
    }
    for (const one of actions) {
      if (one.does === 'count') crew.count(one.worker, one.amount)
      else if (one.does === 'scrape') await scrape(one.worker)
      else {
        // What only workers have heard that are killed before the next scrape is lost: here, one is killed at a time.
        if (one.does === 'kill') await scrape(one.scraped)
        await crew.replace(one.worker, one.does === 'kill')
      }
    }
  })
  await t.resolves(fc.assert(property, { numRuns: 15 }))
})
