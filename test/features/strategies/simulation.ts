import type { Choice, Exchange } from '../../../src/core/plan.js'
import type { Order } from '../../../src/features/strategies/orders.js'
import { Targets } from '../../../src/features/strategies/target.js'
import { order as drawnOrder } from '../../../src/kernel/resolve.js'
import { requestOf } from './made.js'

/** An upstream of the simulation: places that serve at once, a queue behind them, and a time that a request takes. */
export interface SimulatedUpstream {
  readonly name: string
  readonly places: number
  /** Mean milliseconds of one request at a moment; `Infinity`: it hangs. */
  mean(now: number): number
}

export interface SimulatedRequest {
  readonly at: number
  readonly first: string
  readonly milliseconds: number
}

const STREAM = requestOf({ stream: true })

interface Event {
  readonly at: number
  readonly run: (now: number) => void
}

/** Requests wait for their first byte at most this long. */
const GIVE_UP_MS = 10_000

/**
 * Requests that come at random moments (Poisson), each to the first target of its order, in virtual time. `order` undefined: the
 * draw by weight alone. Returns what each request waited.
 */
export function simulate(
  upstreams: readonly SimulatedUpstream[],
  choice: Choice,
  order: Order | undefined,
  { minutes, perSecond, random }: { minutes: number; perSecond: number; random: () => number },
): readonly SimulatedRequest[] {
  const targets = new Targets()
  const events: Event[] = []
  const queues = new Map(upstreams.map(one => [one.name, { busy: 0, waiting: [] as ((now: number) => void)[] }]))
  const requests: SimulatedRequest[] = []
  const end = minutes * 60_000

  const push = (at: number, run: Event['run']): void => {
    let index = events.length
    while (index > 0 && (events[index - 1]?.at ?? 0) < at) index--
    events.splice(index, 0, { at, run })
  }

  const serve = (upstream: SimulatedUpstream, done: (at: number) => void): ((now: number) => void) => {
    const queue = queues.get(upstream.name) ?? { busy: 0, waiting: [] }
    const begin = (now: number): void => {
      queue.busy++
      const mean = upstream.mean(now)
      const takes = mean === Number.POSITIVE_INFINITY ? GIVE_UP_MS : mean * (0.5 - Math.log(1 - random()) / 2)
      push(now + takes, at => {
        queue.busy--
        done(at)
        queue.waiting.shift()?.(at)
      })
    }
    return now => (queue.busy < upstream.places ? begin(now) : void queue.waiting.push(begin))
  }

  const arrive = (now: number): void => {
    if (now > end) return
    push(now - (Math.log(1 - random()) * 1000) / perSecond, arrive)
    const view = {
      choice,
      request: STREAM,
      now,
      random,
      targetOf: (one: Exchange) => targets.of(one),
      losses: () => new Map(),
    }
    const candidates = drawnOrder(choice, random)
    const [first] = order === undefined ? candidates : order(candidates, view)
    const upstream = upstreams.find(({ name }) => name === first?.upstream.name)
    if (first === undefined || upstream === undefined) throw new Error('nothing to ask')
    const target = targets.of(first)
    target.inFlight++
    serve(upstream, at => {
      target.inFlight--
      const milliseconds = at - now
      if (milliseconds >= GIVE_UP_MS) target.failed(milliseconds, true, at)
      else target.answered(milliseconds, true, at)
      requests.push({ at: now, first: upstream.name, milliseconds: Math.min(milliseconds, GIVE_UP_MS) })
    })(now)
  }

  push(0, arrive)
  for (let next = events.pop(); next !== undefined; next = events.pop()) next.run(next.at)
  return requests
}

export function percentile(requests: readonly SimulatedRequest[], share: number): number {
  const sorted = requests.map(one => one.milliseconds).toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length * share)] ?? 0
}
