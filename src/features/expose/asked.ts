import type { Call } from '../../kernel/call.js'
import { CHARGED } from '../../kernel/charged.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView } from '../../kernel/stages.js'

const ASKED = slot<Asked>('asked')

/** One attempt, and what is known of it. Times by `performance.now()`. */
interface Noted {
  readonly attempt: AttemptView
  readonly begun: number
  /** Absent: it is under way. */
  phase?: string
  ended?: number
}

/** The attempts of a call whose answer says who answered. */
export class Asked {
  readonly #noted: Noted[] = []

  static of(call: Call): Asked | undefined {
    return call.get(ASKED)
  }

  static begin(attempt: AttemptView): void {
    const { call } = attempt
    let asked = call.get(ASKED)
    if (asked === undefined) {
      asked = new Asked()
      call.set(ASKED, asked)
    }
    asked.#noted.push({ attempt, begun: performance.now() })
  }

  end(attempt: AttemptView, phase: string): void {
    const noted = this.#noted.find(one => one.attempt === attempt)
    if (noted === undefined) return
    noted.phase = phase
    noted.ended = performance.now()
  }

  /** How many upstreams were asked for the request; the further calls of one attempt are a part of it. */
  get count(): number {
    return this.#noted.filter(noted => isMade(noted) && !noted.attempt.isFurther).length
  }

  /** The attempt whose answer the client gets: the one under way, else the one that ended well, else the last that failed. */
  get answering(): AttemptView | undefined {
    const made = this.#noted.filter(noted => isMade(noted) && noted.phase !== 'cancelled')
    const one =
      made.find(({ phase }) => phase === undefined) ??
      made.find(({ phase }) => phase !== undefined && GOOD.has(phase)) ??
      made.at(-1)
    return one?.attempt
  }

  /** Millionths of a USD, as the ledger has them. Undefined while an attempt is under way, or has no price. */
  get cost(): number | undefined {
    let sum = 0
    for (const { attempt, phase } of this.#noted) {
      if (phase === undefined || OPEN.has(phase)) return undefined
      const charged = attempt.get(CHARGED)
      if (charged === undefined) continue
      if (attempt.exchange.tariff?.price === undefined) return undefined
      sum += charged.cost
    }
    return sum
  }

  /** How long upstreams were asked, milliseconds; where attempts overlap, the time counts once. */
  busy(now: number): number {
    let [sum, until] = [0, 0]
    for (const { begun, ended = now } of this.#noted) {
      sum += Math.max(0, ended - Math.max(begun, until))
      until = Math.max(until, ended)
    }
    return sum
  }
}

/** Phases of attempts that ended well. */
const GOOD: ReadonlySet<string> = new Set(['ok', 'accepted', 'unconfirmed'])
/** The task that began costs what it makes. */
const OPEN: ReadonlySet<string> = new Set(['accepted', 'unconfirmed'])

/** Whether an upstream was asked, or at least called. */
function isMade({ phase, attempt }: Noted): boolean {
  return phase !== 'skipped' && (phase !== 'cancelled' || attempt.isSent)
}
