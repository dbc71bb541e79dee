import { type Check, HOUR_MS, START } from '../../src/contracts/store-stage.js'
import type { Commit, LeaseChange } from '../../src/core/accounts.js'
import { fc } from '../helpers/property.js'
import { AccountModel } from './account-model.js'

const BOUND = 100
const WRITERS = ['a', 'b', 'c']
const DAY = '2027-01-15'
const MINUTE = 60_000
const RUNS = 25

/** What one writer does next: it spends a part of what it holds, and wants to hold something. */
interface Step {
  readonly writer: string
  readonly account: 0 | 1
  /** Thousandths of what it holds; over 1000: more than that. */
  readonly spends: number
  readonly hold: number
  /** Milliseconds that pass before. */
  readonly passes: number
  /** The answer is lost: it sends the same again, now or after what others do. */
  readonly again: 'no' | 'now' | 'later'
  /** Gives everything back, as a process that ends in order. */
  readonly returns: boolean
}

const step = (most: number): fc.Arbitrary<Step> =>
  fc.record({
    writer: fc.constantFrom(...WRITERS),
    account: fc.constantFrom(0, 1),
    spends: fc.integer({ min: 0, max: most }),
    hold: fc.integer({ min: 0, max: 130 }),
    passes: fc.constantFrom(0, 0, 0, 1, MINUTE / 2, MINUTE),
    again: fc.constantFrom('no', 'no', 'now', 'later'),
    returns: fc.boolean(),
  })

/** Interleavings of several writers, against {@link AccountModel}. */
export function accountPropertyContract(check: Check): void {
  for (const [title, most] of [
    ['spent and held stay within the bound, and the entries add up to what was spent', 1000],
    ['where writers overspend, every driver still answers as the model does', 1800],
  ] as const) {
    check(`in any interleaving ${title}`, async (t, store, _, again) => {
      const clients = [store, await again()]
      let runs = 0
      const interleaving = fc.asyncProperty(fc.array(step(most), { minLength: 5, maxLength: 25 }), async steps => {
        const run = new Run(`${runs++}`)
        for (const [n, one] of steps.entries()) {
          for (const commit of run.commits(one)) {
            const answers = await (clients[n % 2] ?? store).accounts.commit(commit)
            expectSame(answers, run.model.commit(commit))
            run.heard(commit, answers[0]?.lease ?? 0)
          }
          const tallies = await store.accounts.read(run.accounts, run.now)
          expectSame(
            tallies,
            run.accounts.map(name => run.model.read(name, run.now)),
          )
          if (most <= 1000 && tallies.some(({ spent, held }) => spent + held > BOUND)) throw new Error('overshoot')
        }
        const tallies = await store.accounts.read(run.accounts, run.now)
        const entries = await store.accounts.entries(DAY, { after: 0, limit: 100_000 })
        const own = entries
          .map(({ value }) => JSON.parse(Buffer.from(value).toString()) as { name: string; spend: number })
          .filter(({ name }) => run.accounts.includes(name))
        const sums = run.accounts.map(account =>
          own.filter(({ name }) => name === account).reduce((sum, { spend }) => sum + spend, 0),
        )
        expectSame(
          sums,
          tallies.map(({ spent }) => spent),
        )
        expectSame(
          own.map(one => JSON.stringify(one)),
          run.model.entries,
        )
      })
      await fc.assert(interleaving, { numRuns: RUNS })
      t.equal(runs >= RUNS, true)
    })
  }
}

/** Writers on two accounts of their own. */
class Run {
  readonly accounts: readonly [string, string]
  readonly model = new AccountModel()
  now = START
  readonly #numbers = new Map<string, number>()
  readonly #held = new Map<string, { readonly amount: number; readonly until: number }>()
  #late: Commit[] = []
  readonly #name: string

  constructor(name: string) {
    this.#name = name
    this.accounts = [`run ${name} first`, `run ${name} second`]
  }

  /** What is sent: the step's commit, again where its answer is lost, and after it what was lost before. */
  commits({ writer: name, account, spends, hold, passes, again, returns }: Step): readonly Commit[] {
    this.now += passes
    const writer = `${this.#name}/${name}`
    const number = (this.#numbers.get(writer) ?? 0) + 1
    this.#numbers.set(writer, number)
    const change: LeaseChange = {
      account: this.accounts[account],
      expires: START + 24 * HOUR_MS,
      bound: BOUND,
      lease: writer,
      spend: Math.floor((this.held(this.accounts[account], writer) * spends) / 1000),
      hold: returns ? 0 : hold,
      until: this.now + MINUTE,
    }
    const value = Buffer.from(JSON.stringify({ name: change.account, spend: change.spend }))
    const entries = change.spend > 0 ? [{ day: DAY, value }] : []
    const commit = { writer, number, remembered: START + 24 * HOUR_MS, now: this.now, leases: [change], entries }
    const late = this.#late.map(one => ({ ...one, now: this.now }))
    this.#late = again === 'later' ? [commit] : []
    return [commit, ...(again === 'now' ? [commit] : []), ...late]
  }

  /** A writer spends what its lease holds, until that ends. */
  heard({ leases: [change] }: Commit, amount: number): void {
    if (change !== undefined) this.#held.set(`${change.account} ${change.lease}`, { amount, until: change.until })
  }

  private held(account: string, writer: string): number {
    const known = this.#held.get(`${account} ${writer}`)
    return known !== undefined && known.until > this.now ? known.amount : 0
  }
}

function expectSame(found: unknown, wanted: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)]
  if (one !== other) throw new Error(`${one} instead of ${other}`)
}
