import type { Config } from '../core/config.js'
import type { Problem } from '../core/problems.js'
import { atOnce, type Steps } from '../core/steps.js'
import type { Log } from '../sinks/log.js'
import { descriptorsWanted, warnOfDescriptors } from './descriptors.js'
import type { Health } from './health.js'
import type { Generation } from './history.js'
import type { LoadedPlan, Running } from './load.js'
import { needsRestart, type StartSettings } from './needs-restart.js'

/** A plan that takes over, or is tried first. */
export interface Incoming {
  readonly next: Running
  readonly number: number
  readonly withoutSecret: ReadonlyMap<string, string>
  readonly changes: object
  readonly warnings: readonly Problem[]
  /** The generation that it returns to. */
  readonly past: Generation | undefined
}

interface ReportOptions {
  readonly health: Health
  readonly log: Log
  /** Most descriptors that the process may have open, where the system says so. */
  readonly descriptors: number | undefined
}

/** What reloads come to: for the log, and for what the gateway says of itself. */
export class ReloadReport {
  readonly #health: Health
  readonly #log: Log
  readonly #descriptors: number | undefined
  /** Settings that the process started with. */
  readonly #first: StartSettings
  /** Keys that cannot be used, each with the reason. */
  #unusable: ReadonlyMap<string, string>
  /** How the last reload failed, where it did. */
  #failure: string | undefined

  constructor({ plan, config }: Running, { health, log, descriptors }: ReportOptions) {
    this.#health = health
    this.#log = log
    this.#descriptors = descriptors
    const { listen, store, spool, transport, admin, workers } = plan
    this.#first = { listen, store, spool, transport, admin, workers }
    this.#unusable = atOnce(unusable(config))
  }

  /**
   * An invalid save may be read more than once, because the files that it names are watched from then on. It is
   * reported once, unless a reload was requested. `same` identifies the failure.
   */
  failed(fields: object, same: string, isAsked: boolean): void {
    if (this.#failure === same && !isAsked) {
      this.#log.debug({}, 'the configuration is still invalid, with the same problems')
      return
    }
    this.#failure = same
    this.#health.reloads.failed++
    this.#health.valid = false
    this.#log.error(fields, 'reload failed; the last valid configuration stays')
  }

  refused({ problems, digest }: LoadedPlan, isAsked: boolean): void {
    this.#health.problems = problems
    const { generation } = this.#health
    const brief = problems.map(briefly)
    this.failed({ generation, problems: brief }, digest + JSON.stringify(brief), isAsked)
  }

  /** `known`: problems of the former reading. */
  unchanged({ problems }: LoadedPlan, known: readonly Problem[]): void {
    this.#health.reloads.unchanged++
    const warnings = problems.map(briefly)
    // The messages may change with time alone: certificates expire.
    if (warnings.length > 0 && JSON.stringify(warnings) !== JSON.stringify(known.map(briefly)))
      this.#log.warn({ warnings }, 'the files are unchanged')
    if (!this.#health.valid) this.#log.info({ generation: this.#health.generation }, 'the configuration is valid again')
    this.#sound()
  }

  /** It gets a share of the requests. */
  begun({ next: { plan }, number, changes, warnings }: Incoming, share: number, forMs: number): void {
    this.#health.reloads.tried++
    this.#sound()
    const fields = {
      generation: number,
      digest: plan.digest,
      share,
      for: forMs,
      ...changes,
      ...warningsField(warnings),
    }
    this.#log.info(fields, 'a canary of the configuration has begun')
  }

  /** It serves all requests. */
  tookOver({ next, number, withoutSecret, changes, warnings, past }: Incoming, { plan: before }: Running): void {
    const { plan, config } = next
    this.#health.generation = number
    this.#health.digest = plan.digest
    this.#health.reloads.applied++
    this.#sound()
    this.#health.restart = needsRestart(this.#first, plan)
    this.#health.off = plan.off
    const back = past === undefined ? {} : { back_to: past.number }
    this.#log.info(
      { generation: number, digest: plan.digest, ...back, ...changes, ...warningsField(warnings) },
      'reloaded',
    )
    if (past !== undefined && past.digest !== plan.digest)
      this.#log.warn({}, 'other files or variables have changed since that generation, and are as they are now')
    for (const { name, off } of plan.upstreams.values()) {
      const was = before.upstreams.get(name)?.off
      if (off !== undefined && off !== was) this.#log.warn({ upstream: name, reason: off }, 'an upstream is off')
      if (off === undefined && was !== undefined) this.#log.info({ upstream: name }, 'an upstream is on again')
    }
    this.#logKeys(config, withoutSecret)
    if (descriptorsWanted(plan) > descriptorsWanted(before)) warnOfDescriptors(plan, this.#descriptors, this.#log)
    for (const what of this.#health.restart) this.#log.warn({ setting: what }, 'needs a restart to take effect')
  }

  /** The files can serve. */
  #sound(): void {
    this.#failure = undefined
    this.#health.valid = true
    this.#health.problems = []
  }

  /** Keys whose secret disappeared or came back: their callers are refused without a reason. */
  #logKeys({ keys }: Config, now: ReadonlyMap<string, string>): void {
    const before = this.#unusable
    this.#unusable = now
    for (const [key, reason] of this.#unusable) {
      if (reason !== before.get(key)) this.#log.warn({ key, reason }, 'a key cannot be used')
    }
    for (const key of before.keys()) {
      if (keys[key] !== undefined && !this.#unusable.has(key)) this.#log.info({ key }, 'a key can be used again')
    }
  }
}

/** Keys none of whose secrets is there, each with the reason. */
export function* unusable({ keys }: Config): Steps<ReadonlyMap<string, string>> {
  const reasons = new Map<string, string>()
  for (const name of Object.keys(keys)) {
    const absent = keys[name]?.absent
    if (absent !== undefined) reasons.set(name, absent)
    yield
  }
  return reasons
}

/** Whether a secret of a key or an upstream is gone that is there now. */
export function lacksMore(next: Running, now: Running): boolean {
  const { keys } = now.config
  return (
    Object.entries(next.config.keys).some(
      ([name, { absent }]) => absent !== undefined && keys[name]?.absent === undefined,
    ) ||
    [...next.plan.upstreams].some(
      ([name, { off }]) => off !== undefined && now.plan.upstreams.get(name)?.off === undefined,
    )
  )
}

/** Nothing where there are none. */
function warningsField(warnings: readonly Problem[]): object {
  return warnings.length > 0 ? { warnings: warnings.map(briefly) } : {}
}

/** A problem as the log has it. */
function briefly({ position, path, message }: Problem): object {
  return { at: `${position.file}:${position.line}:${position.column}`, path, message }
}
