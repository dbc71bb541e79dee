import type { ReloadCanaryStanding } from '../../admin/host.js'
import type { ReloadCanary } from '../../core/reload.js'
import { type Measured, type MeasuredPair, NOTHING, percentile } from '../../features/generations/measured.js'
import { judge, type Verdict } from './judge.js'
import { Windows } from './windows.js'

/** How often the two are compared, milliseconds. */
const LOOK_EVERY_MS = 500

interface TrialOptions {
  readonly policy: ReloadCanary
  /** What all processes have counted since it began. Rejects where that is not known at the moment. */
  readonly measure: () => Promise<MeasuredPair>
  /** Called once. */
  readonly onVerdict: (verdict: NonNullable<Verdict>) => void
}

/** A new generation serves a share of the requests, and is compared with the one that serves the others. */
export class Trial {
  readonly #options: TrialOptions
  readonly #until: number
  #measured: MeasuredPair = { fresh: NOTHING, stable: NOTHING }
  readonly #windows: Windows
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(options: TrialOptions) {
    this.#options = options
    this.#windows = new Windows(options.policy.backIf.errors ?? 0)
    this.#until = Date.now() + options.policy.for
    this.#later()
  }

  /** It is compared no more. */
  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  standing(state: ReloadCanaryStanding['state'], reason?: string): ReloadCanaryStanding {
    const { share } = this.#options.policy
    return {
      ...{ state, share, until: this.#until },
      ...(reason === undefined ? {} : { reason }),
      new: shown(this.#measured.fresh),
      old: shown(this.#measured.stable),
    }
  }

  #later(): void {
    const wait = Math.max(0, Math.min(LOOK_EVERY_MS, this.#until - Date.now()))
    this.#timer = setTimeout(() => void this.#look(), wait)
  }

  async #look(): Promise<void> {
    this.#measured = await this.#options.measure().catch(() => this.#measured)
    if (this.#isOver) return
    this.#windows.add(this.#measured)
    const { policy, onVerdict } = this.#options
    const verdict = judge(policy.backIf, this.#measured, this.#windows.chance, Date.now() >= this.#until)
    if (verdict === undefined) return this.#later()
    this.stop()
    onVerdict(verdict)
  }
}

function shown(measured: Measured): ReloadCanaryStanding['new'] {
  const { requests, failures } = measured
  const ttft = percentile(measured, 0.95)
  return { requests, failures, ...(ttft === undefined ? {} : { ttft_p95: Math.round(ttft) }) }
}
