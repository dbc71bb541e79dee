import type { CheckConfig } from '../../core/check.js'
import { GatewayError } from '../../core/errors.js'
import type { Plan } from '../../core/plan.js'
import { digestOf } from '../../core/user-module.js'
import type { Generation } from '../../kernel/generation.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Service } from '../../kernel/stages.js'
import { OpenedCheck } from './opened-check.js'

/** The checks of the process. Generations that declare the same one share it. */
export class Checks implements Service {
  /** Called once for each check that a request passes, or not. */
  onResult: (check: string, result: CheckResult) => void = () => undefined
  readonly #kernel: Kernel
  readonly #opened = new Map<string, OpenedCheck>()
  /** Names of those whose failure was reported, and that have not answered since. */
  readonly #failing = new Set<string>()
  /** When the failure of each was last reported: milliseconds since the epoch. */
  readonly #reportedAt = new Map<string, number>()
  /** Runs while checks are open that the plan of new requests has not. */
  #sweeping: NodeJS.Timeout | undefined

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  openedFor(config: CheckConfig): OpenedCheck {
    const digest = digestOf(config)
    const known = this.#opened.get(digest)
    if (known !== undefined) return known
    const made = new OpenedCheck(config, {
      warn: (module, message) =>
        this.#kernel.onNotice({ check: config.name, module, cause: message }, 'a module warns'),
      // A generation on trial opens its checks, too, and may go back.
      onOpen: () => this.#sweepSoon(),
    })
    this.#opened.set(digest, made)
    return made
  }

  adopt({ checks }: Plan): void {
    const names = new Set(checks.map(({ name }) => name))
    for (const name of this.#reportedAt.keys()) if (!names.has(name)) this.#reportedAt.delete(name)
    for (const name of this.#failing) if (!names.has(name)) this.#failing.delete(name)
    this.prepare(checks)
    this.#sweepSoon()
  }

  /** Opens checks ahead of their first request, and reports those that cannot be opened. */
  prepare(checks: readonly CheckConfig[]): void {
    for (const config of checks) {
      this.openedFor(config)
        .opened()
        .catch((cause: unknown) => this.#failed(config, cause))
    }
  }

  ended({ name }: CheckConfig, result: 'passed' | 'refused'): void {
    this.#failing.delete(name)
    this.onResult(name, result)
  }

  /** The module has failed: lets the request pass, or throws. */
  failed(config: CheckConfig, cause: unknown): void {
    this.onResult(config.name, 'failed')
    this.#failed(config, cause)
    if (config.when_it_fails === 'open') return
    throw new GatewayError('unavailable', 'A check of this request cannot answer now. Try again soon.', {
      ...{ retryAfter: RETRY_AFTER_MS, phase: 'check', rule: config.name, cause },
    })
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeping)
    await Promise.all([...this.#opened.values()].map(check => check.close()))
  }

  #sweepSoon(): void {
    this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP_MS).unref()
  }

  /** Closes what is open and in no plan that serves, may serve again, or has requests in flight. */
  #sweep(): void {
    const { generation, trial, kept, former } = this.#kernel
    const current = digestsOf([generation])
    const used = digestsOf([...(trial === undefined ? [] : [trial.generation]), ...kept, ...former])
    let isWaiting = false
    for (const [digest, check] of this.#opened) {
      if (current.has(digest)) continue
      // One that is not open may be of a plan that is about to go live.
      if (used.has(digest) || !check.isOpen) isWaiting = true
      else {
        this.#opened.delete(digest)
        check.retire()
      }
    }
    if (isWaiting) return
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }

  /** Once, until it works again, and not too often: it may fail now and then. */
  #failed({ name, when_it_fails }: CheckConfig, cause: unknown): void {
    const now = Date.now()
    if (this.#failing.has(name) || now < (this.#reportedAt.get(name) ?? 0) + REPORT_PAUSE_MS) return
    this.#failing.add(name)
    this.#reportedAt.set(name, now)
    const why = cause instanceof Error ? cause.message : 'it failed'
    this.#kernel.onNotice({ check: name, cause: why, when_it_fails }, 'a check fails')
  }
}

type CheckResult = 'passed' | 'refused' | 'failed'

const RETRY_AFTER_MS = 1000
/** How often checks are looked for that nothing needs any more. */
const SWEEP_MS = 1000
/** The failure of one check is reported so often at most. */
const REPORT_PAUSE_MS = 60_000

function digestsOf(generations: readonly Generation[]): ReadonlySet<string> {
  return new Set(generations.flatMap(({ plan }) => plan.checks.map(digestOf)))
}
