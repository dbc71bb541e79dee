import t from 'tap'
import { DEFAULTS } from '../../../src/core/defaults.generated.js'
import { GatewayError } from '../../../src/core/errors.js'
import type { RetryCondition } from '../../../src/core/limits.js'
import type { Exchange, Route } from '../../../src/core/plan.js'
import { RetryBudget } from '../../../src/features/retries/budget.js'
import { RetriesStage } from '../../../src/features/retries/stage.js'
import type { Call } from '../../../src/kernel/call.js'
import { GatedAttempt } from '../../../src/kernel/gated-attempt.js'
import { Slots } from '../../../src/kernel/slot.js'
import { Walk } from '../../../src/kernel/walk.js'
import { mergeRetry } from '../../../src/plan/settings.js'
import { seeded } from '../../helpers/random.js'

// A walk over targets that fail as they were drawn, beside a model of what it should do. Time is virtual.

const CONDITIONS: readonly RetryCondition[] = [
  'connect',
  'reset',
  'first_byte',
  'bad_response',
  'queue',
  400,
  404,
  429,
  503,
]
const ON: readonly RetryCondition[] = ['connect', 'reset', 'bad_response', 404, 429, 503]

interface Failed {
  readonly condition: RetryCondition
  /** What the upstream asks for, milliseconds. */
  readonly wait: number | undefined
}

interface Step {
  readonly target: number
  readonly at: number
}

interface Case {
  readonly targets: number
  readonly attempts: number
  readonly total: number
  readonly isImage: boolean
  /** By attempt. */
  readonly failures: readonly Failed[]
}

const MAX_WAIT_MS = 8000
const WAIT_MS = 250
/** What the draw gives: half of each bound. */
const DRAWN = 0.5

function drawnCase(random: () => number): Case {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const attempts = 1 + Math.floor(random() * 8)
  return {
    targets: 1 + Math.floor(random() * 3),
    attempts,
    total: pick([500, 5000, 1_800_000]),
    isImage: random() < 0.3,
    failures: Array.from({ length: 30 }, () => ({
      condition: pick(CONDITIONS),
      wait: pick([undefined, undefined, 0, 100, 7999, 8000, 8001, 60_000]),
    })),
  }
}

/** What should be asked when, written down as plainly as it can be. */
function expected({ targets, attempts, total, isImage, failures }: Case): readonly Step[] {
  const steps: Step[] = []
  const unasked = Array.from({ length: targets }, (_, index) => index)
  const failed = new Map<number, { times: number; ready: number }>()
  let now = 0
  let target = unasked.shift()
  while (target !== undefined) {
    steps.push({ target, at: now })
    const { condition, wait } = failures[steps.length - 1] as Failed
    const times = (failed.get(target)?.times ?? 0) + 1
    const passes = isImage ? ['connect', 429, 503] : ['connect', 'reset', 'bad_response', 429, 503]
    let ready = Number.POSITIVE_INFINITY
    if (condition === 'reset' && times === 1 && !isImage) ready = now
    else if (passes.includes(condition as string) && wait === undefined)
      ready = now + DRAWN * Math.min(MAX_WAIT_MS, WAIT_MS * 2 ** (times - 1))
    else if (passes.includes(condition as string) && wait !== undefined && wait <= MAX_WAIT_MS)
      ready = now + Math.min(MAX_WAIT_MS, wait + DRAWN * WAIT_MS)
    failed.delete(target)
    failed.set(target, { times, ready })
    target = undefined
    if (steps.length >= attempts || !ON.includes(condition)) break
    if (unasked.length > 0) {
      target = unasked.shift()
      continue
    }
    const soonest = Math.min(...[...failed.values()].map(one => one.ready))
    const at = Math.max(now, soonest)
    if (at > total) break
    const candidates = [...failed].filter(([, one]) => one.ready === soonest).map(([index]) => index)
    target = Number.isFinite(soonest) ? Math.min(...candidates) : undefined
    now = at
  }
  return steps
}

function walked({ targets, attempts, total, isImage, failures }: Case): readonly Step[] {
  let now = 0
  const budgets = new Map<string, RetryBudget>()
  const protocol = isImage ? { amounts: { images: [['n']], seconds: [], batch: false } } : undefined
  const stage = new RetriesStage({ lane: 'exchange', protocol } as unknown as Route, {
    budget: ({ name }) => budgets.set(name, budgets.get(name) ?? new RetryBudget()).get(name) as RetryBudget,
    now: () => now,
    random: () => DRAWN,
  })
  const chain = { onFailure: [stage.onFailure.bind(stage)], pairs: [stage], onUsage: [] }
  const call = Object.assign(new Slots(), { chain, started: 0 }) as unknown as Call
  const retry = mergeRetry(DEFAULTS.retry, { attempts, on: ON })
  const exchanges = Array.from({ length: targets }, (_, index) => {
    return { upstream: { name: `u${index}` }, retry, timeouts: { total } } as unknown as Exchange
  })
  const walk = new Walk(call, exchanges)
  const steps: Step[] = []
  for (let exchange = walk.take(); exchange !== undefined; exchange = walk.take()) {
    const attempt = new GatedAttempt(call, exchange)
    attempt.enter()
    steps.push({ target: exchanges.indexOf(exchange), at: now })
    const { condition, wait } = failures[steps.length - 1] as Failed
    const error = new GatewayError('upstream_failed', 'It failed.', { retryAfter: wait })
    now += walk.failed(attempt, { condition, error }).waitMs
  }
  stage.settle(call)
  return steps
}

t.test('a walk asks the targets, and waits, as the model says', async t => {
  const longest = { steps: 0, repeats: 0 }
  for (let seed = 0; seed < 20_000; seed++) {
    const one = drawnCase(seeded(seed))
    const [is, should] = [walked(one), expected(one)]
    longest.steps = Math.max(longest.steps, is.length)
    longest.repeats += is.length - new Set(is.map(({ target }) => target)).size
    if (JSON.stringify(is) !== JSON.stringify(should)) {
      t.same(is, should, `seed ${seed}: ${JSON.stringify(one)}`)
      return
    }
  }
  t.equal(longest.steps, 8, 'attempts are used up')
  t.ok(longest.repeats > 1000, `targets are asked again: ${longest.repeats} times`)
})

t.test('a call that has ended, as that of a task whose client has left, holds no repetition', async t => {
  const budget = new RetryBudget()
  let now = 0
  const stage = new RetriesStage({ lane: 'exchange' } as unknown as Route, {
    budget: () => budget,
    now: () => now,
    random: () => DRAWN,
  })
  const chain = { onFailure: [stage.onFailure.bind(stage)], pairs: [stage], onUsage: [] }
  const retry = mergeRetry(DEFAULTS.retry, { attempts: 8, on: ON })
  const upstream = { name: 'u' }
  const [one, other] = ['one', 'other'].map(
    model => ({ upstream, model, retry, timeouts: { total: 5000 } }) as unknown as Exchange,
  ) as [Exchange, Exchange]
  const error = new GatewayError('upstream_failed', 'It failed.')
  const failed = (ended: number, exchanges: readonly Exchange[]): readonly Exchange[] => {
    const call = Object.assign(new Slots(), { chain, started: now, ended }) as unknown as Call
    const walk = new Walk(call, exchanges)
    const attempt = new GatedAttempt(call, walk.take() as Exchange)
    attempt.enter()
    return walk.failed(attempt, { condition: 429, error }).left
  }
  for (let calls = 0; calls < 100; calls++) t.same(failed(1, [one]), [], 'no one waits for it')
  t.same(failed(1, [one, other]), [other], 'another target is still asked')
  now += 20_000
  for (let calls = 0; calls < 10; calls++) t.same(failed(0, [one]), [one])
})
