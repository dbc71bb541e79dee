import type { CheckConfig } from '../../core/check.js'
import { GatewayError } from '../../core/errors.js'
import type { Plan } from '../../core/plan.js'
import { digestOf } from '../../core/user-module.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Service } from '../../kernel/stages.js'
import { guardStrays } from '../../kernel/stray-faults.js'
import { OpenedCheck } from './opened-check.js'

/** The checks of the process. Generations that declare the same one share it. */
export class Checks implements Service {
  /** Called once for each check that a request passes, or not. */
  onResult: (check: string, result: CheckResult) => void = () => undefined
  readonly #kernel: Kernel
  #leaveStrays: (() => void) | undefined
  readonly #opened = new Map<string, OpenedCheck>()
  /** Names of those whose last answer was a failure. */
  readonly #failing = new Set<string>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  openedFor(config: CheckConfig): OpenedCheck {
    const digest = digestOf(config)
    const known = this.#opened.get(digest)
    if (known !== undefined) return known
    const made = new OpenedCheck(config, (module, message) =>
      this.#kernel.onNotice({ check: config.name, module, cause: message }, 'a module warns'),
    )
    this.#opened.set(digest, made)
    return made
  }

  adopt({ checks }: Plan): void {
    const declared = new Set(checks.map(digestOf))
    for (const [digest, check] of this.#opened) {
      if (declared.has(digest)) continue
      this.#opened.delete(digest)
      check.retire()
    }
    const names = new Set(checks.map(({ name }) => name))
    for (const name of this.#failing) if (!names.has(name)) this.#failing.delete(name)
    this.prepare(checks)
  }

  /** Opens checks ahead of their first request, and reports those that cannot be opened. */
  prepare(checks: readonly CheckConfig[]): void {
    if (checks.length > 0) this.#leaveStrays ??= guardStrays((module, cause) => this.#stray(module, cause))
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
    this.#leaveStrays?.()
    await Promise.all([...this.#opened.values()].map(check => check.close()))
  }

  #stray(module: string, cause: string): void {
    this.#kernel.onNotice({ module, cause }, 'a module failed beside its calls')
  }

  /** Once, until it works again. */
  #failed({ name, when_it_fails }: CheckConfig, cause: unknown): void {
    if (this.#failing.has(name)) return
    this.#failing.add(name)
    const why = cause instanceof Error ? cause.message : 'it failed'
    this.#kernel.onNotice({ check: name, cause: why, when_it_fails }, 'a check fails')
  }
}

type CheckResult = 'passed' | 'refused' | 'failed'

const RETRY_AFTER_MS = 1000
