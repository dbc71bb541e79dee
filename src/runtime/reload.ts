import type { ReloadCanary } from '../core/reload.js'
import { inSlices } from '../core/steps.js'
import type { Log } from '../sinks/log.js'
import { changesBetween } from './changes.js'
import type { Health } from './health.js'
import { type Generation, History, type PastDocument, saySame } from './history.js'
import { type LoadedPlan, type LoadOptions, type Running, reloadPlan, withFilesOfNow, withKeysIn } from './load.js'
import { meaningOf, weakened } from './meaning.js'
import { OneAfterAnother } from './one-after-another.js'
import type { Asker, PlanSource } from './plan-source.js'
import { messageOf } from './problems.js'
import { type Incoming, lacksMore, ReloadReport, unusable } from './reload-report.js'
import { RereadPause } from './reread-pause.js'
import { FollowedSource } from './source/followed.js'
import type { RemoteSource } from './source/remote.js'
import { isCounting, setCounting } from './store-keys.js'
import type { Prepared, Target } from './swap.js'
import { introductionOf } from './trial/side-by-side.js'
import { Trial } from './trial/trial.js'
import { type SourceWatch, watchSources } from './watch.js'

export interface ReloadOptions extends LoadOptions {
  /** Follow the files and reload when they change. Default true. */
  readonly watch?: boolean
  /** Where `text` is from, if that is an address. */
  readonly remote?: RemoteSource
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

type Past = NonNullable<ReturnType<History['find']>>

/** A plan that gets a share of the requests. */
interface Tried {
  readonly incoming: Incoming
  readonly prepared: Prepared
  readonly trial: Trial
}

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
  readonly #report: ReloadReport
  /** What serves, and what it was compiled from. */
  #running: Running
  #loaded: LoadedPlan
  /** The last ones that could serve. */
  #followed: LoadedPlan
  #watch: SourceWatch | undefined
  readonly #rereadPause = new RereadPause()
  /** Who requested the next reload; if no one did, the log says that files have changed. */
  #asked: Asker | undefined
  /** The generation that the next reload returns to. */
  #returning: Past | undefined
  /** What the files say that do not serve, because someone went back from them to an older generation. */
  #left: Pick<LoadedPlan, 'digest' | 'documents'> | undefined
  readonly #history = new History()
  /** The last number that a plan got. */
  #number: number
  #tried: Tried | undefined
  /** The next reload is the gateway's own doing: secrets may have changed, or keys have limits now. It takes over at once. */
  #isOwn = false
  readonly #source: FollowedSource
  readonly #turns = new OneAfterAnother(() => this.#exclusively(() => this.#reload()))
  #busy: Promise<unknown> = Promise.resolve()

  constructor(options: ReloadOptions, loaded: LoadedPlan, running: Running, served: Served) {
    this.#options = withKeysIn(running.config.store.path, options)
    this.#loaded = loaded
    this.#followed = loaded
    this.#running = running
    this.#target = served.target
    this.#health = served.health
    this.#log = served.log
    this.#onHealth = served.onHealth ?? (() => undefined)
    this.#report = new ReloadReport(running, served)
    this.#source = new FollowedSource(options.remote, {
      ...{ log: served.log, health: served.health, onCount: () => this.#onHealth() },
      reload: () => this.#turns.run(),
    })
    this.#source.accepted()
    const { generation: number, digest } = served.health
    this.#number = number
    this.#remember({ number, digest, origin: 'start', changes: {} }, loaded.documents)
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
    this.#tried?.trial.stop()
    this.#source.close()
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
    keeper.follow(() => this.#runOwn())
  }

  async follow(loaded: LoadedPlan): Promise<void> {
    if (this.#options.watch === false) return
    this.#source.follow()
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
    if (this.#tried !== undefined)
      this.#history.note(this.#tried.incoming.number, { canary: this.#tried.trial.standing('running') })
    return this.#history.list()
  }

  async rollback(number: number): Promise<LoadedPlan | undefined> {
    const past = this.#history.find(number)
    if (past === undefined) return undefined
    this.#returning = past
    this.#asked ??= 'reload'
    return await this.#turns.run()
  }

  async pastDocuments(number: number): Promise<readonly PastDocument[] | undefined> {
    return this.#history.documents(number)
  }

  async held(): ReturnType<PlanSource['held']> {
    return this.#options.keeper?.held ?? new Map()
  }

  async count(): Promise<void> {
    const { overrides } = this.#options
    if (overrides === undefined) return
    // Also where the files count by themselves: a reload may end that.
    setCounting(overrides)
    if (!isCounting(this.#running.plan)) await this.#runOwn()
  }

  rereadSecrets(upstream?: string): void {
    const { generation } = this.#health
    if (!this.#rereadPause.begin(generation)) return
    this.#log.warn({ upstream, generation }, 'an upstream refused its credential; reading the secrets again')
    this.#runOwn().catch((error: Error) => this.#log.error({ error: error.message }, 'reload failed'))
  }

  /** What is not read from files. */
  #given(past: Past | undefined): Pick<LoadOptions, 'text' | 'documents'> {
    if (past !== undefined) return { documents: past.documents }
    const text = this.#source.text ?? this.#options.text
    return text === undefined ? {} : { text }
  }

  /** A reload that no change of a file asks for. */
  #runOwn(): Promise<LoadedPlan> {
    this.#isOwn = true
    return this.#turns.run()
  }

  /** Reloads, and ends of trials, one after another. */
  async #exclusively<T>(job: () => Promise<T>): Promise<T> {
    const done = this.#busy.then(job)
    this.#busy = done.catch(() => undefined)
    return await done
  }

  async #reload(): Promise<LoadedPlan> {
    const [asked, past, isOwn] = [this.#asked, this.#returning, this.#isOwn]
    const isAsked = asked !== undefined
    this.#asked = undefined
    this.#returning = undefined
    this.#isOwn = false
    // What the files say was taken back, or what they say is tried: the gateway's own wishes do not force it upon all.
    const isAtOnce = isOwn && this.#left === undefined && this.#tried === undefined
    this.#log.debug({ asked: isAsked }, 'reloading the configuration')
    const read = await this.#load(isAsked, past)
    // Where they cannot serve, secrets and certificates of what does may change.
    const others = past !== undefined ? this.#loaded : read.plan === undefined ? this.#followed : undefined
    const loaded = withFilesOfNow(read, others)
    if (this.#health.draining) return loaded
    if (past === undefined && !isAsked && this.#left !== undefined && saySame(loaded, this.#left)) {
      this.#log.debug({}, 'the files are those from which someone went back to an older generation')
      await this.#refresh()
      return loaded
    }
    if (past === undefined) this.#left = undefined
    else this.#left ??= { digest: this.#loaded.digest, documents: this.#loaded.documents }
    const known = isAsked ? [] : this.#loaded.problems
    this.#loaded = loaded
    await this.follow(loaded)
    const { plan, config } = loaded
    if (plan !== undefined) this.#followed = loaded
    if (plan === undefined || config === undefined) {
      try {
        if (!isAsked) await this.#refresh()
      } finally {
        this.#report.refused(loaded, isAsked)
      }
    } else if (plan.digest === this.#running.plan.digest) {
      this.#endTrial('replaced', 'what serves was asked for again')
      this.#report.unchanged(loaded, known)
    } else if (past === undefined && plan.digest === this.#tried?.incoming.next.plan.digest)
      this.#report.unchanged(loaded, known)
    else await this.#apply({ next: { plan, config }, loaded, past }, asked, isAtOnce)
    if (plan !== undefined && past === undefined) this.#source.accepted()
    this.#onHealth()
    return loaded
  }

  /** Where the files must not serve, or cannot: what serves gets the secrets and certificates of now, if all of them are there. */
  async #refresh(): Promise<void> {
    const serving = this.#history.find(this.#health.generation)
    if (serving === undefined || this.#tried !== undefined) return
    const loaded = await this.#load(false, serving)
    const { plan, config } = loaded
    if (plan === undefined || config === undefined || plan.digest === this.#running.plan.digest) return
    if (lacksMore({ plan, config }, this.#running)) return
    await this.#apply({ next: { plan, config }, loaded, past: undefined }, undefined, true)
    this.#onHealth()
  }

  #remember(generation: Omit<Generation, 'at'>, documents: LoadedPlan['documents']): void {
    this.#history.add({ ...generation, at: Date.now() }, documents)
  }

  async #load(isAsked: boolean, past: Past | undefined): Promise<LoadedPlan> {
    try {
      const refusal = past === undefined ? await this.#source.read(isAsked) : undefined
      if (refusal !== undefined) return { ...this.#loaded, plan: undefined, config: undefined, problems: [refusal] }
      const options = { ...this.#options, ...this.#given(past) }
      return await reloadPlan(options, this.#running, this.#loaded.parsed)
    } catch (error) {
      this.#report.failed({ error: messageOf(error) }, messageOf(error), isAsked)
      throw error
    }
  }

  async #apply(
    { next, loaded, past }: { readonly next: Running; readonly loaded: LoadedPlan; readonly past: Past | undefined },
    asked: Asker | undefined,
    isAtOnce: boolean,
  ): Promise<void> {
    const { plan, config } = next
    const withoutSecret = await inSlices(unusable(config))
    const changes = await inSlices(changesBetween(this.#running.config, config))
    const number = this.#number + 1
    const prepared = await this.#prepare(next, number, asked !== undefined)
    if (this.#health.draining) return prepared.drop()
    this.#number = number
    const incoming = { next, number, withoutSecret, changes, warnings: loaded.problems, past: past?.generation }
    const policy = past === undefined && !isAtOnce ? this.#policyFor(next) : undefined
    this.#endTrial('replaced', `generation ${number} came`, policy !== undefined)
    const origin = past !== undefined ? 'rollback' : (asked ?? (isAtOnce ? 'reload' : 'files'))
    const before = this.#running
    if (policy === undefined) {
      await prepared.commit()
      this.#tookOver(incoming)
    } else await this.#try(incoming, prepared, policy)
    const standing = this.#tried?.trial.standing('running')
    const canary = standing === undefined ? {} : { canary: standing }
    this.#remember({ number, digest: plan.digest, origin, changes, ...canary }, loaded.documents)
    void this.#compare(before, next, number)
  }

  /** How a plan is tried; undefined: it takes over at once. */
  #policyFor(next: Running): ReloadCanary | undefined {
    const how = introductionOf(this.#running, next)
    if ('canary' in how) return how.canary
    if (how.reason !== undefined)
      this.#log.info({ reason: how.reason }, 'the new configuration takes over at once, without a canary')
    return undefined
  }

  async #try(incoming: Incoming, prepared: Prepared, policy: ReloadCanary): Promise<void> {
    const { number } = incoming
    await prepared.try(policy.share)
    const trial = new Trial({
      policy,
      measure: () => this.#target.measured(),
      onVerdict: verdict => {
        const end = (): Promise<void> => this.#decided(number, verdict)
        this.#exclusively(end).catch((error: Error) => this.#log.error({ error: error.message }, 'reload failed'))
      },
    })
    this.#tried = { incoming, prepared, trial }
    this.#report.begun(incoming, policy.share, policy.for)
  }

  /** Its time is over, or its bounds are passed. */
  async #decided(number: number, verdict: 'whole' | { readonly back: string }): Promise<void> {
    const tried = this.#tried
    if (tried?.incoming.number !== number || this.#health.draining) return
    const { incoming, prepared, trial } = tried
    if (verdict !== 'whole') {
      this.#left = { digest: incoming.next.plan.digest, documents: this.#history.find(number)?.documents }
      this.#endTrial('back', verdict.back)
      this.#health.reloads.back++
      const { new: fresh, old } = trial.standing('back')
      const { generation: serving } = this.#health
      this.#log.warn(
        { generation: number, serving, reason: verdict.back, new: fresh, old },
        'the new configuration went back',
      )
      this.#onHealth()
      return
    }
    this.#tried = undefined
    this.#history.note(number, { canary: trial.standing('whole') })
    await prepared.commit()
    this.#tookOver(incoming)
    this.#onHealth()
  }

  /** `isFollowed`: the next one is tried, too, and takes its place. */
  #endTrial(state: 'back' | 'replaced', reason: string, isFollowed = false): void {
    const tried = this.#tried
    if (tried === undefined) return
    this.#tried = undefined
    tried.trial.stop()
    this.#history.note(tried.incoming.number, { canary: tried.trial.standing(state, reason) })
    if (!isFollowed) tried.prepared.drop()
    if (state === 'replaced')
      this.#log.info({ generation: tried.incoming.number, reason }, 'a canary of the configuration has ended')
  }

  #tookOver(incoming: Incoming): void {
    const before = this.#running
    this.#running = incoming.next
    this.#report.tookOver(incoming, before)
  }

  /** What it means for callers; no one waits for it. */
  async #compare(before: Running, after: Running, number: number): Promise<void> {
    const difference = await meaningOf(before, after)
    this.#history.note(number, { difference })
    const { lines: _, ...counts } = difference
    this.#log.info({ generation: number, ...counts, ...weakened(difference) }, 'what the reload means')
  }

  async #prepare(next: Running, number: number, isAsked: boolean): Promise<Prepared> {
    try {
      return await this.#target.prepare(next, number)
    } catch (error) {
      const message = messageOf(error)
      this.#report.failed({ generation: this.#health.generation, error: message }, next.plan.digest + message, isAsked)
      this.#onHealth()
      throw error
    }
  }
}
