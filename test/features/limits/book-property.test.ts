import t from 'tap'
import type { Scope } from '../../../src/core/bounds.js'
import type { LedgerRecord } from '../../../src/core/ledger.js'
import { claimOf } from '../../../src/features/limits/reservation.js'
import { MemoryAccounts } from '../../../src/stores/memory-accounts.js'
import { fc } from '../../helpers/property.js'
import { boundOf, Process } from './book-model.js'
import type { Fate } from './unreliable-accounts.js'
import { VirtualTime } from './virtual-time.js'

const RUNS = Number(process.env.BOOK_RUNS ?? 150)
const HOUR_MS = 3_600_000
/** A clock is put right again before leases follow it. */
const JUMP_LASTS_MS = 90_000

const group: Scope = {
  type: 'group',
  name: 'research',
  limits: {
    bounds: [
      { unit: 'budget', amount: 90, window: 'total' },
      { unit: 'requests', amount: 15, window: 'minute' },
    ],
    when_store_fails: 'closed',
  },
}
const alice: Scope = {
  type: 'key',
  name: 'alice',
  limits: {
    bounds: [
      { unit: 'requests', amount: 10, window: 'minute' },
      { unit: 'tokens', amount: 100, window: 'minute' },
      { unit: 'budget', amount: 60, window: 'day' },
    ],
    in_flight: 4,
    when_store_fails: 'closed',
  },
}
const bob: Scope = {
  type: 'key',
  name: 'bob',
  limits: {
    bounds: [
      { unit: 'tokens', amount: 50, window: 'second' },
      { unit: 'budget', amount: 5000, window: 'hour' },
    ],
    in_flight: 3,
    when_store_fails: 'closed',
  },
}
const SCOPES = [group, alice, bob]

type Step =
  | {
      readonly kind: 'reserve'
      readonly at: number
      readonly key: Scope
      readonly tokens: number
      readonly budget: number
    }
  | { readonly kind: 'settle'; readonly at: number; readonly nth: number; readonly share: number }
  | { readonly kind: 'extend'; readonly at: number; readonly nth: number; readonly more: number }
  | { readonly kind: 'pass'; readonly milliseconds: number }
  | { readonly kind: 'turn' }
  | { readonly kind: 'fate'; readonly at: number; readonly fate: Fate }
  | { readonly kind: 'kill' | 'stop' | 'go'; readonly at: number }
  | { readonly kind: 'jump'; readonly at: number; readonly by: number }

const at = fc.nat(3)
const CALM: readonly fc.WeightedArbitrary<Step>[] = [
  {
    weight: 8,
    arbitrary: fc.record({
      ...{ kind: fc.constant('reserve' as const), at, key: fc.constantFrom(alice, bob) },
      ...{ tokens: fc.nat(30), budget: fc.nat(20) },
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ kind: fc.constant('settle' as const), at, nth: fc.nat(9) },
      share: fc.constantFrom(0, 0.3, 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('extend' as const), at, nth: fc.nat(9), more: fc.nat(9) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      milliseconds: fc.constantFrom(0, 1, 10, 30, 300, 1100, 20_000, 70_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('turn' as const) }) },
]
const ROUGH: readonly fc.WeightedArbitrary<Step>[] = [
  ...CALM,
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ kind: fc.constant('fate' as const), at },
      fate: fc.constantFrom<Fate>('ok', 'ok', 'ok', 'lost', 'answer_lost', 'hangs', 'hangs_applied'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('kill' as const, 'stop' as const, 'go' as const, 'go' as const), at }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('jump' as const), at, by: fc.constantFrom(-HOUR_MS, HOUR_MS) }),
  },
]

/** A run: processes on one store, and what must hold after every step. */
class Run {
  readonly time = new VirtualTime()
  readonly accounts = new MemoryAccounts(() => {})
  readonly all: Process[] = []
  readonly live: Process[] = []
  /** What was settled after its lease had gone. */
  readonly late = new Map<string, number>()
  readonly aheads: readonly number[]
  #jumps = 0
  granted = 0
  asked = 0

  constructor(aheads: readonly number[]) {
    this.aheads = aheads
    for (const at of aheads.keys()) this.start(at)
  }

  start(at: number): void {
    const process = new Process(this.time, this.accounts, {
      name: `p${this.all.length}`,
      ahead: this.aheads[at] as number,
    })
    this.all.push(process)
    this.live[at] = process
  }

  async step(step: Step): Promise<void> {
    if (step.kind === 'pass') return this.pass(step.milliseconds)
    if (step.kind === 'turn') return this.pass(60_000 - (this.time.now % 60_000))
    const index = step.at % this.live.length
    const process = this.live[index] as Process
    // A stopped process does nothing of its own.
    if (process.clock.state === 'stopped' && step.kind !== 'go' && step.kind !== 'kill') return
    switch (step.kind) {
      case 'reserve': {
        const amounts = { requests: 1, in_flight: 1, tokens: step.tokens, budget: step.budget }
        this.asked++
        process.reserve([claimOf([step.key, group], amounts)], isGranted => {
          if (isGranted) this.granted++
        })
        break
      }
      case 'settle':
        this.#settle(process, step.nth, step.share)
        break
      case 'extend':
        process.extend(step.nth, { tokens: step.more, budget: step.more })
        break
      case 'fate':
        process.fail(step.fate)
        break
      case 'jump':
        // Each by another minute, so that the clock does not seem to have stood there all the time.
        process.clock.ahead = (this.aheads[index] as number) + step.by + 60_000 * ++this.#jumps
        process.jumpedAt ??= this.time.elapsed
        break
      case 'kill':
        process.kill()
        this.start(index)
        break
      case 'stop':
        process.clock.state = 'stopped'
        break
      case 'go':
        process.clock.state = 'runs'
    }
    return this.pass(0)
  }

  async pass(milliseconds: number): Promise<void> {
    for (let left = milliseconds; ; ) {
      const part = Math.min(left, 10_000)
      await this.time.pass(part)
      this.live.forEach((process, at) => {
        if (process.jumpedAt === undefined || this.time.elapsed - process.jumpedAt < JUMP_LASTS_MS) return
        process.clock.ahead = this.aheads[at] as number
        process.jumpedAt = undefined
      })
      left -= part
      if (left <= 0) return
    }
  }

  #settle(process: Process, nth: number, share: number): void {
    const open = process.open[nth % Math.max(1, process.open.length)]
    for (const [name, amount] of open?.parts ?? [])
      if (process.needs(name) > process.holds(name)) this.late.set(name, (this.late.get(name) ?? 0) + amount)
    process.settle(nth, share)
  }

  /** What is wrong now. */
  async faults(isCalm: boolean): Promise<readonly string[]> {
    const found = this.all.flatMap(({ faults, store }) => [...faults, ...store.faults])
    const names = [...new Set(this.all.flatMap(process => process.names))]
    const tallies = await this.accounts.read(names, this.time.now)
    names.forEach((name, at) => {
      const { spent, held } = tallies[at] ?? { spent: 0, held: 0 }
      const bound = boundOf(name, SCOPES)
      if (spent > bound + (this.late.get(name) ?? 0)) found.push(`${name}: ${spent} spent of ${bound}`)
      if (held > Math.max(0, bound - spent)) found.push(`${name}: ${spent} spent and ${held} held of ${bound}`)
      if (!isCalm) return
      const needed = this.live.reduce((sum, process) => sum + process.needs(name), 0)
      if (spent + needed > bound) found.push(`${name}: ${spent} used and ${needed} reserved of ${bound}`)
    })
    return found
  }

  /** Ends all processes in order, and compares the ledger with the accounts. */
  async end(): Promise<readonly string[]> {
    for (const process of this.live) {
      process.clock.state = 'runs'
      process.fail('ok')
    }
    await this.pass(30_000)
    for (const process of this.live) while (process.open.length > 0) this.#settle(process, 0, 0.7)
    await Promise.all(this.live.map(({ book }) => this.time.until(book.close())))
    await this.pass(70_000)
    const found: string[] = []
    const sums = new Map<string, number>()
    const ids = new Map<string, number>()
    for (const day of await this.accounts.days())
      for (const { value } of await this.accounts.entries(day, { after: 0, limit: 100_000 })) {
        const { id, charges } = JSON.parse(Buffer.from(value).toString()) as LedgerRecord
        ids.set(id, (ids.get(id) ?? 0) + 1)
        for (const [name, amount] of Object.entries(charges)) sums.set(name, (sums.get(name) ?? 0) + amount)
      }
    for (const [id, times] of ids) if (times > 1) found.push(`${id} is ${times} times in the ledger`)
    for (const { settled } of this.live)
      for (const id of settled) if (!ids.has(id)) found.push(`${id} is not in the ledger`)
    const names = [...new Set([...this.all.flatMap(process => process.names), ...sums.keys()])]
    const tallies = await this.accounts.read(names, this.time.now)
    names.forEach((name, at) => {
      const { spent = 0, held = 0 } = tallies[at] ?? {}
      if (held > 0) found.push(`${name}: ${held} is still held`)
      if (name.includes(' budget ') && spent !== (sums.get(name) ?? 0))
        found.push(`${name}: ${spent} spent, ${sums.get(name) ?? 0} in the ledger`)
    })
    return found
  }
}

async function check(steps: readonly Step[], aheads: readonly number[], isCalm: boolean): Promise<Run> {
  const run = new Run(aheads)
  for (const [at, step] of steps.entries()) {
    await run.step(step)
    const faults = await run.faults(isCalm)
    if (faults.length > 0) throw new Error(`after step ${at}, ${step.kind}: ${faults.join('; ')}`)
  }
  const faults = [...(await run.end()), ...(await run.faults(isCalm))]
  if (faults.length > 0) throw new Error(`at the end: ${faults.join('; ')}`)
  return run
}

const aheads = fc.array(fc.integer({ min: -4000, max: 4000 }), { minLength: 1, maxLength: 4 })

for (const [title, steps, isCalm] of [
  ['used and reserved never pass a bound, over one to four processes with clocks of their own', CALM, true],
  ['nor when processes are killed and stopped, clocks jump, and the store fails or hangs', ROUGH, false],
] as const) {
  t.test(title, async t => {
    const totals = { asked: 0, granted: 0, processes: 0, commits: 0 }
    const steps_ = fc.array(fc.oneof(...steps), { minLength: 20, maxLength: 80 })
    await fc.assert(
      fc.asyncProperty(steps_, aheads, async (steps, aheads) => {
        const { asked, granted, all } = await check(steps, aheads, isCalm)
        totals.asked += asked
        totals.granted += granted
        totals.processes += all.length
        totals.commits += all.reduce((sum, { store }) => sum + store.commits, 0)
      }),
      { numRuns: RUNS },
    )
    console.log(`# MEASURED: ${JSON.stringify(totals)}, seed ${fc.readConfigureGlobal().seed}`)
    t.ok(totals.granted > totals.asked / 10, 'some were let pass')
    t.ok(totals.granted < totals.asked, 'and some were not')
  })
}
