import type { Config } from '../core/config.js'
import type { Plan } from '../core/plan.js'
import type { Problem } from '../core/problems.js'
import { Secret } from '../core/secret.js'
import { atOnce, inSlices, type Steps } from '../core/steps.js'
import type { Log } from '../sinks/log.js'
import { changesBetween } from './changes.js'
import { descriptorsWanted, warnOfDescriptors } from './descriptors.js'
import type { Health } from './health.js'
import { type Generation, History } from './history.js'
import { type LoadedPlan, type LoadOptions, type Running, reloadPlan } from './load.js'
import { OneAfterAnother } from './one-after-another.js'
import { messageOf } from './problems.js'
import { isCounting, setCounting } from './store-keys.js'
import type { Prepared, Target } from './swap.js'
import { type SourceWatch, watchSources } from './watch.js'

export interface ReloadOptions extends LoadOptions {
  /** Follow the files and reload when they change. Default true. */
  readonly watch?: boolean
}

/** How a gateway gets plans, and what serves at the moment. */
export interface PlanSource {
  /** What the files said when they were last read, problems included. */
  readonly loaded: LoadedPlan
  /** What serves, and what it was compiled from. */
  readonly running: Running
  /** Follows the files of `loaded` from now on. */
  follow(loaded: LoadedPlan): Promise<void>
  /** Reads the files again. `by`: who asks. Without a plan in what it resolves with, nothing has changed. */
  reload(by?: Asker): Promise<LoadedPlan>
  /** The generations of the process, the newest first. */
  history(): Promise<ReturnType<History['list']>>
  /**
   * Serves again what the main file said at that generation, as a new one. The files stay as they are, and are read again when
   * they change, or when someone asks for it. Undefined: the generation is no longer known.
   */
  rollback(number: number): Promise<LoadedPlan | undefined>
  /** What the main file said at that generation; undefined where it is no longer known. */
  pastText(number: number): Promise<string | undefined>
  /** Keys of the store have limits: from now on requests are counted, also if the files have none. */
  count(): Promise<void>
  /** A rotated secret may have been missed; it is looked for once a generation. */
  rereadSecrets(): void
  close(): Promise<void>
}

/** What a reload changes, and what it needs for that. */
interface Served {
  readonly target: Target
  readonly health: Health
  readonly log: Log
  /** The health has changed. */
  readonly onHealth?: () => void
  /** Most descriptors that the process may have open, where the system says so. */
  readonly descriptors: number | undefined
}

/** Who asks for a reload: a person or program, or the console, which has written the file. */
export type Asker = 'reload' | 'console'

type Past = NonNullable<ReturnType<History['find']>>

/** What of the admin listener a reload changes. */
const LIVE_ADMIN = { digest: undefined, metrics: undefined, write: undefined }

/** What a process has from its start to its end. */
type StartSettings = Pick<Plan, 'listen' | 'store' | 'spool' | 'transport' | 'admin' | 'workers'>

/**
 * Keeps a running gateway in step with its files. A reload is a transaction: read, check, compile, acquire pools, swap one
 * pointer; on any error the old plan keeps serving.
 */
export class Reloads implements PlanSource {
  readonly #options: ReloadOptions
  readonly #target: Target
  readonly #health: Health
  readonly #log: Log
  readonly #onHealth: () => void
  readonly #descriptors: number | undefined
  /** Settings that the process started with. */
  readonly #first: StartSettings
  /** What serves, and what it was compiled from. */
  #running: Running
  #loaded: LoadedPlan
  #watch: SourceWatch | undefined
  /** Keys that cannot be used, each with the reason. */
  #unusable: ReadonlyMap<string, string>
  #reread = 0
  /** Who requested the next reload; if no one did, the log says that files have changed. */
  #asked: Asker | undefined
  /** The generation that the next reload returns to. */
  #returning: Past | undefined
  /** Digest of files that do not serve, because someone went back from them to an older generation. */
  #left: string | undefined
  /** How the last reload failed, where it did. */
  #failure: string | undefined
  readonly #history: History
  readonly #turns = new OneAfterAnother(() => this.#reload())

  constructor(options: ReloadOptions, loaded: LoadedPlan, running: Running, served: Served) {
    this.#options = options
    this.#loaded = loaded
    this.#running = running
    this.#target = served.target
    this.#health = served.health
    this.#log = served.log
    this.#onHealth = served.onHealth ?? (() => undefined)
    this.#descriptors = served.descriptors
    const { listen, store, spool, transport, admin, workers } = running.plan
    this.#first = { listen, store, spool, transport, admin, workers }
    this.#unusable = atOnce(unusable(running.config))
    this.#history = new History(options.file)
    const { generation: number, digest } = served.health
    this.#remember({ number, digest, origin: 'start', changes: {} }, options.text)
    this.#keepSecrets()
  }

  get loaded(): LoadedPlan {
    return this.#loaded
  }

  get running(): Running {
    return this.#running
  }

  /** Ends watching the files. */
  async close(): Promise<void> {
    this.#options.keeper?.close()
    await this.#watch?.close()
  }

  /** Follows secrets of managers, and reports those that cannot be fetched. */
  #keepSecrets(): void {
    const { keeper } = this.#options
    if (keeper === undefined) return
    const report = (secret: string, fault: string | undefined): void => {
      this.#health.secrets = Object.fromEntries(keeper.faults)
      this.#onHealth()
      if (fault === undefined) this.#log.info({ secret }, 'a secret can be fetched again')
      else this.#log.warn({ secret, cause: fault }, 'a secret cannot be fetched')
    }
    for (const [secret, fault] of keeper.faults) report(secret, fault)
    keeper.onFault = report
    keeper.follow(() => this.#turns.run())
  }

  async follow(loaded: LoadedPlan): Promise<void> {
    if (this.#options.watch === false) return
    if (this.#watch !== undefined) return this.#watch.update(loaded.sources, loaded.watch)
    this.#watch = watchSources({
      sources: loaded.sources,
      folders: loaded.watch,
      onChange: async () => {
        await this.#turns.run()
      },
      onError: error => this.#log.warn({ error: error.message }, 'watching the configuration failed; trying again'),
    })
    await this.#watch.ready
  }

  /** Reads the files again; calls that come while they are being read share one further reading. */
  reload(by: Asker = 'reload'): Promise<LoadedPlan> {
    this.#asked = by
    return this.#turns.run()
  }

  async history(): Promise<ReturnType<History['list']>> {
    return this.#history.list()
  }

  async rollback(number: number): Promise<LoadedPlan | undefined> {
    const past = this.#history.find(number)
    if (past === undefined) return undefined
    this.#returning = past
    this.#asked ??= 'reload'
    return await this.#turns.run()
  }

  async pastText(number: number): Promise<string | undefined> {
    return this.#history.find(number)?.text.toString('utf8')
  }

  async count(): Promise<void> {
    const { overrides } = this.#options
    if (overrides === undefined || isCounting(this.#running.plan)) return
    setCounting(overrides)
    await this.reload()
  }

  rereadSecrets(): void {
    if (this.#reread === this.#health.generation) return
    this.#reread = this.#health.generation
    this.#log.warn({ generation: this.#reread }, 'an upstream refused its credential; reading the secrets again')
    this.reload().catch((error: Error) => this.#log.error({ error: error.message }, 'reload failed'))
  }

  async #reload(): Promise<LoadedPlan> {
    const [asked, past] = [this.#asked, this.#returning]
    const isAsked = asked !== undefined
    this.#asked = undefined
    this.#returning = undefined
    this.#log.debug({ asked: isAsked }, 'reloading the configuration')
    const loaded = await this.#load(isAsked, past)
    if (this.#health.draining) return loaded
    if (past === undefined && !isAsked && loaded.digest === this.#left) return this.#stays(loaded)
    if (past === undefined) this.#left = undefined
    else this.#left ??= this.#loaded.digest
    this.#loaded = loaded
    await this.follow(loaded)
    const { plan, config } = loaded
    if (plan === undefined || config === undefined) this.#refuse(loaded, isAsked)
    else if (plan === this.#running.plan) this.#unchanged(loaded)
    else await this.#apply({ plan, config }, loaded.problems, asked, past)
    this.#onHealth()
    return loaded
  }

  /** Someone went back from what the files say, and they have not changed since. */
  #stays(loaded: LoadedPlan): LoadedPlan {
    this.#log.debug({}, 'the files are those from which someone went back to an older generation')
    return loaded
  }

  #remember(generation: Omit<Generation, 'at'>, text?: Buffer): void {
    void this.#history.add({ ...generation, at: Date.now() }, text)
  }

  async #load(isAsked: boolean, past: Past | undefined): Promise<LoadedPlan> {
    const options = past === undefined ? this.#options : { ...this.#options, text: past.text }
    try {
      return await reloadPlan(options, this.#running, this.#loaded.parsed)
    } catch (error) {
      this.#failed({ error: messageOf(error) }, messageOf(error), isAsked)
      throw error
    }
  }

  /**
   * An invalid save may be read more than once, because the files that it names are watched from then on. It is
   * reported once, unless a reload was requested. `same` identifies the failure.
   */
  #failed(fields: object, same: string, isAsked: boolean): void {
    if (this.#failure === same && !isAsked) {
      this.#log.debug({}, 'the configuration is still invalid, with the same problems')
      return
    }
    this.#failure = same
    this.#health.reloads.failed++
    this.#health.valid = false
    this.#log.error(fields, 'reload failed; the last valid configuration stays')
  }

  #unchanged({ problems: warnings }: LoadedPlan): void {
    this.#health.reloads.unchanged++
    this.#failure = undefined
    // The messages may change with time alone: certificates expire.
    if (warnings.length > 0) this.#log.warn({ warnings: warnings.map(briefly) }, 'the files are unchanged')
    if (!this.#health.valid) this.#log.info({ generation: this.#health.generation }, 'the configuration is valid again')
    this.#health.valid = true
    this.#health.problems = []
  }

  #refuse({ problems, digest }: LoadedPlan, isAsked: boolean): void {
    this.#health.problems = problems
    const { generation } = this.#health
    const told = problems.map(briefly)
    this.#failed({ generation, problems: told }, digest + JSON.stringify(told), isAsked)
  }

  async #apply(
    next: Running,
    warnings: readonly Problem[],
    asked: Asker | undefined,
    past: Past | undefined,
  ): Promise<void> {
    const { plan, config } = next
    const withoutSecret = await inSlices(unusable(config))
    const changes = await inSlices(changesBetween(this.#running.config, config))
    const number = this.#health.generation + 1
    const prepared = await this.#prepare(next, number, asked !== undefined)
    if (this.#health.draining) return prepared.drop()
    const { plan: before } = this.#running
    await prepared.commit()
    this.#running = next
    this.#health.generation = number
    this.#health.digest = plan.digest
    this.#health.reloads.applied++
    this.#failure = undefined
    this.#health.valid = true
    this.#health.problems = []
    this.#health.restart = needsRestart(this.#first, plan)
    this.#health.off = plan.off
    const told = warnings.length > 0 ? { warnings: warnings.map(briefly) } : {}
    const origin = past !== undefined ? 'rollback' : (asked ?? 'files')
    this.#remember({ number, digest: plan.digest, origin, changes }, past?.text ?? this.#options.text)
    const back = past === undefined ? {} : { back_to: past.generation.number }
    this.#log.info({ generation: number, digest: plan.digest, ...back, ...changes, ...told }, 'reloaded')
    if (past !== undefined && past.generation.digest !== plan.digest)
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

  async #prepare(next: Running, number: number, isAsked: boolean): Promise<Prepared> {
    try {
      return await this.#target.prepare(next, number)
    } catch (error) {
      const message = messageOf(error)
      this.#failed({ generation: this.#health.generation, error: message }, next.plan.digest + message, isAsked)
      this.#onHealth()
      throw error
    }
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
function* unusable({ keys }: Config): Steps<ReadonlyMap<string, string>> {
  const reasons = new Map<string, string>()
  for (const name of Object.keys(keys)) {
    const absent = keys[name]?.absent
    if (absent !== undefined) reasons.set(name, absent)
    yield
  }
  return reasons
}

/** A problem as the log has it. */
function briefly({ position, path, message }: Problem): object {
  return { at: `${position.file}:${position.line}:${position.column}`, path, message }
}

/** Settings that a running process cannot change, named as they are written. */
function needsRestart(running: StartSettings, wanted: StartSettings): readonly string[] {
  const changes = {
    'listen.host': running.listen.host !== wanted.listen.host,
    'listen.port': running.listen.port !== wanted.listen.port,
    'listen.backlog': running.listen.backlog !== wanted.listen.backlog,
    'listen.tls': (running.listen.tls === undefined) !== (wanted.listen.tls === undefined),
    'listen.tls.client_ca': asksForCertificates(running) !== asksForCertificates(wanted),
    store: textOf(running.store) !== textOf(wanted.store),
    transport: running.transport !== wanted.transport,
    workers: running.workers !== wanted.workers,
    admin: textOf({ ...running.admin, ...LIVE_ADMIN }) !== textOf({ ...wanted.admin, ...LIVE_ADMIN }),
    // The folder is usually inside the store's folder, which was reported already.
    spool: differs(running.spool, wanted.spool, running.store.path === wanted.store.path),
  }
  return Object.entries(changes)
    .filter(([, changed]) => changed)
    .map(([setting]) => setting)
}

function asksForCertificates({ listen }: StartSettings): boolean {
  return listen.tls?.clientCa !== undefined
}

/** All of it, secrets too: a changed password is a change. */
function textOf(settings: object): string {
  return JSON.stringify(settings, function (this: Record<string, unknown>, name, value: unknown) {
    const inner = this[name]
    return inner instanceof Secret ? inner.reveal() : value
  })
}

function differs(running: Plan['spool'], wanted: Plan['spool'], isSameStore: boolean): boolean {
  const { body, memory, disk } = running
  if (body !== wanted.body || memory !== wanted.memory || disk !== wanted.disk) return true
  return isSameStore && running.path !== wanted.path
}
