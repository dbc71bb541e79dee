import type { TracesConfig } from '../../core/telemetry.js'
import type { TraceContext } from '../../core/trace.js'

/** Digits of a trace's id that are read as a number: 52 random bits. */
const DIGITS = 13
const RANGE = 16 ** DIGITS

/** What is known of a request when it has ended. */
interface Ended {
  /** It, or an attempt of it, failed. */
  readonly isError: boolean
  readonly isSlow: boolean
}

/** Which traces are sent. All processes decide alike, by the id of the trace. */
export class Sampler {
  readonly #config: Pick<TracesConfig, 'sample' | 'parent'>

  constructor(config: Pick<TracesConfig, 'sample' | 'parent'>) {
    this.#config = config
  }

  get slowAfterMs(): number {
    return this.#config.sample.slow_after
  }

  /** Whether a trace is sent, however its request ends; upstreams hear of it. */
  isSampled(trace: Pick<TraceContext, 'id' | 'isSampled'>): boolean {
    const { parent, sample } = this.#config
    if (parent === 'follow' && trace.isSampled !== undefined) return trace.isSampled
    return isWithin(trace.id, sample.rest)
  }

  /** Whether a trace that was not {@link isSampled} is sent because of how its request ended. */
  isKept({ id }: Pick<TraceContext, 'id'>, { isError, isSlow }: Ended): boolean {
    const { errors, slow } = this.#config.sample
    return isWithin(id, Math.max(isError ? errors : 0, isSlow ? slow : 0))
  }
}

function isWithin(id: string, share: number): boolean {
  if (share <= 0 || share >= 1) return share >= 1
  return Number.parseInt(id.slice(-DIGITS), 16) < share * RANGE
}
