import { type Peers, topic } from '../../core/peers.js'
import type { Canaries, Known } from './canaries.js'
import type { Heard } from './watch.js'

/** What a worker tells of a canary: outcomes that it has seen, or that the canary rests. */
interface CanaryNews {
  readonly name: string
  readonly heard?: Heard
  /** Milliseconds of the clock that the workers share. */
  readonly restsUntil?: number
}

const SEEN = topic<CanaryNews>('canaries: seen')
/** A worker that has just begun asks which canaries rest. */
const RESTING = topic<null, readonly CanaryNews[]>('canaries: resting')

/** Outcomes without a failure wait until there are so many. */
const MAX_WAITING_OUTCOMES = 100
/** Failures are sent at once, but not more often than this, milliseconds; what waits is sent with the next outcome. */
const MIN_PAUSE_MS = 50

class Waiting {
  canary = { requests: 0, failures: 0 }
  others = { requests: 0, failures: 0 }
  toldAt = Number.NEGATIVE_INFINITY

  get isUrgent(): boolean {
    const { canary, others } = this
    return canary.failures + others.failures > 0 || canary.requests + others.requests >= MAX_WAITING_OUTCOMES
  }
}

/** Tells the other workers of a gateway how requests end that canaries are judged by, and takes over what they tell. Best effort. */
export class CanarySharing {
  readonly #peers: Peers
  readonly #waiting = new WeakMap<Known, Waiting>()

  /** `onRest`: what others have seen is enough, together with what was seen here. */
  constructor(peers: Peers, canaries: Canaries, now: () => number, onRest: (known: Known) => void) {
    this.#peers = peers
    if (peers.number === 0) return
    const hear = ({ name, heard, restsUntil }: CanaryNews): void => {
      const known = canaries.named(name)
      if (known === undefined) return
      const { canary, watch } = known
      if (restsUntil !== undefined) watch.restUntil(restsUntil)
      else if (heard !== undefined && watch.hear(heard, now(), canary.rest)) {
        onRest(known)
        this.rests(known)
      }
    }
    peers.on(SEEN, hear)
    peers.on(RESTING, () => canaries.all.flatMap(resting))
    peers.ask(RESTING, null).then(
      answers => answers.forEach(({ answer }) => void answer.forEach(hear)),
      () => undefined,
    )
  }

  /** A request has ended here. */
  saw(known: Known, isCanary: boolean, hasFailed: boolean, now: number): void {
    if (this.#peers.number === 0) return
    const waiting = this.#waiting.get(known) ?? new Waiting()
    this.#waiting.set(known, waiting)
    const counts = isCanary ? waiting.canary : waiting.others
    counts.requests++
    if (hasFailed) counts.failures++
    if (!waiting.isUrgent || now - waiting.toldAt < MIN_PAUSE_MS) return
    const { canary, others } = waiting
    this.#peers.tell(SEEN, { name: known.name, heard: { canary, others } })
    const next = new Waiting()
    next.toldAt = now
    this.#waiting.set(known, next)
  }

  /** This process has noticed that one fails more often. */
  rests(known: Known): void {
    this.#waiting.delete(known)
    for (const news of resting(known)) this.#peers.tell(SEEN, news)
  }
}

function resting({ name, watch }: Known): readonly CanaryNews[] {
  const { restsUntil } = watch.standing
  return restsUntil === undefined ? [] : [{ name, restsUntil }]
}
