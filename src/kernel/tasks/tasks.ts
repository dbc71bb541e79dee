import type { Plan } from '../../core/plan.js'
import type { StoredRecord } from '../../core/store.js'
import type { TaskShape } from '../../core/task.js'
import { withoutSecrets } from '../upstream-words.js'
import { cancelUpstream } from './cancel-upstream.js'
import { ConcurrencyLimiter } from './concurrency-limiter.js'
import { HookQueue } from './hooks.js'
import type { TaskHost } from './host.js'
import { Links } from './links.js'
import { withNotification } from './notice.js'
import { poll } from './poll.js'
import { PollCache } from './poll-cache.js'
import { presenterNamed } from './presenters/index.js'
import type { View } from './presenters/presenter.js'
import { endOf, isEnded, type Task } from './record.js'
import { entryOf, namespaceOf, type TaskEntry, TaskRepository } from './repository.js'
import { Results } from './results.js'
import { grace } from './submit-lease.js'
import { applyFailedPoll, fail, nextPollAt, overdue, pastDeadline } from './transition.js'
import { hasOtherCredential, targetOf } from './upstream.js'
import { DIRECT, linkedView, signedPath } from './view.js'
import { LeaseWorker } from './worker.js'

/** A change of a task that is worth a line in the log. */
interface TaskChange {
  readonly task: string
  readonly kind: string
  readonly owner: string
  readonly upstream: string | undefined
  readonly from: string
  readonly to: string
  readonly code?: string
  /** What the upstream says of its failure. */
  readonly cause?: string
  readonly late?: true
}

interface ViewOptions {
  readonly plan: Plan
  /** Its name. */
  readonly kind: string
  readonly origin: string | undefined
}

/** How long is kept at least what has ended, milliseconds, and how long to wait for an upstream that is gone, at most. */
const MINUTE_MS = 60_000
/** Tasks in hand at a time, and how many of them may be at one upstream: one that hangs leaves room for the others. */
const MAX_CONCURRENT = 256
const MAX_PER_UPSTREAM = 32
/** Credentials that are remembered as told of: there is one more with each secret that is replaced. */
const MAX_REPORTED_CREDENTIALS = 1000
/** When somebody looks after a task that could not be told of at once, milliseconds. */
const RECHECK_MS = 2000

/** Work that goes on when its request has been answered: each task is followed by one process at a time. */
export class Tasks {
  readonly repository: TaskRepository
  readonly hooks: HookQueue
  readonly links: Links
  readonly results: Results
  /** Answers to clients that poll. */
  readonly pollCache = new PollCache()
  readonly #host: TaskHost
  /** By kind, those that the plan has. */
  readonly #workers = new Map<string, LeaseWorker>()
  /** Of kinds that it has no more. */
  readonly #stopping = new Set<Promise<void>>()
  #isStarted = false
  readonly #limiter = new ConcurrencyLimiter()
  /** Submits that go on though their clients may have gone. */
  readonly #pending = new Set<Promise<unknown>>()
  /** Upstreams and credentials of which it has been told that others have to do. */
  readonly #reportedCredentials = new Set<string>()
  /** Told when tasks continue with another credential than the one that started them, once for each of those. */
  onOtherCredential: (first: { readonly upstream: string; readonly task: string }) => void = () => undefined
  /** Told of each change. */
  onChange: (change: TaskChange) => void = () => undefined

  constructor(host: TaskHost) {
    this.#host = host
    const { store } = host
    this.repository = new TaskRepository(store)
    const onFault = (error: unknown): void => host.onStoreFault(error)
    this.results = new Results(store, onFault)
    this.hooks = new HookQueue(host)
    this.links = new Links(store)
    this.adopt(host.generation.plan)
  }

  /** Follows from now on whatever is unfinished. */
  start(): void {
    this.#isStarted = true
    for (const worker of this.#workers.values()) worker.start()
    this.hooks.start()
  }

  /** Follows tasks of the kinds that a plan has. Those of others wait until a plan has them again, or expire. */
  adopt({ taskKinds }: Plan): void {
    for (const kind of taskKinds.keys()) {
      if (this.#workers.has(kind)) continue
      const worker = this.workerOf(kind)
      this.#workers.set(kind, worker)
      if (this.#isStarted) worker.start()
    }
    for (const [kind, worker] of this.#workers) {
      if (taskKinds.has(kind)) continue
      this.#workers.delete(kind)
      const stopping = worker.stop().finally(() => this.#stopping.delete(stopping))
      this.#stopping.add(stopping)
    }
  }

  private workerOf(kind: string): LeaseWorker {
    const { store } = this.#host
    return new LeaseWorker({
      store,
      namespace: namespaceOf(kind),
      lease: () => this.#host.generation.plan.tasks.lease,
      maxConcurrent: MAX_CONCURRENT,
      run: record => this.run(record),
      onFault: error => this.#host.onStoreFault(error),
    })
  }

  /** Looks at once for what is due: the store could not be asked for a while. */
  checkNow(): void {
    const now = Date.now()
    for (const worker of this.#workers.values()) worker.at(now)
    this.hooks.checkNow()
  }

  /** Resolves when every submit under way has been answered, or after so many milliseconds. */
  async submitted(most: number): Promise<void> {
    if (this.#pending.size === 0) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, most)
    })
    await Promise.race([Promise.allSettled(this.#pending), late])
    clearTimeout(timer)
  }

  /** Claims nothing more, and resolves when nothing is being done. */
  async stop(): Promise<void> {
    this.#isStarted = false
    await Promise.all([...this.#stopping, ...[...this.#workers.values()].map(worker => worker.stop())])
    await this.hooks.stop()
    await Promise.allSettled(this.#pending)
  }

  /** How a client sees tasks of that kind that reaches the gateway at `origin`. */
  async view({ plan, kind, origin }: ViewOptions): Promise<View> {
    const path = signedPath(plan, kind)
    return path === undefined || origin === undefined ? DIRECT : linkedView(path, await this.links.signer(), origin)
  }

  /** Somebody has to look at a task of that kind then. */
  wake(kind: Task['kind'], due: number | null): void {
    if (due !== null) this.#workers.get(kind)?.at(due)
  }

  /** Sees to it that the process does not end before this is done. */
  hold<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work)
    const done = (): void => void this.#pending.delete(work)
    work.then(done, done)
    return work
  }

  /**
   * Writes a task that has changed, and tells whoever wants to be told. Undefined where somebody else changed it first.
   * `due` null: nobody has to look at it any more.
   */
  async save(entry: TaskEntry, changed: Task, due: number | null): Promise<TaskEntry | undefined> {
    const before = entry.task
    const presenter = presenterNamed(this.#host.generation.plan, changed.kind)
    const task = withNotification(before, changed, Date.now(), presenter, await this.viewFor(changed))
    const told = task.hook?.pending !== undefined
    // Until the notification stands in its queue somebody has to look after the task.
    const owed = due === null && isEnded(task) && task.notes !== undefined
    const soon = told || owed ? Math.min(due ?? Number.POSITIVE_INFINITY, Date.now() + RECHECK_MS) : due
    const expires = isEnded(task) && task.expires !== undefined ? recordExpiry(task, task.expires) : undefined
    const saved = await this.repository.replace(entry, task, soon, expires)
    if (saved === undefined) return undefined
    this.wake(task.kind, soon)
    if (before.state !== task.state) this.reportChange(before, task)
    await this.results.drop(before, task.artifacts)
    const flushed = told ? await this.flush(saved, owed ? soon : due) : saved
    return owed && flushed !== undefined ? await this.tellAndForget(flushed) : flushed
  }

  /** The task stays due until this is done. */
  private async tellAndForget(entry: TaskEntry): Promise<TaskEntry> {
    try {
      await this.tellEnd(entry.task)
    } catch (error) {
      this.#host.onStoreFault(error)
      return entry
    }
    const { notes: _, ...task } = entry.task
    return (await this.repository.replace(entry, task, null)) ?? entry
  }

  async tellEnd(task: Task): Promise<void> {
    if (task.notes !== undefined) await this.#host.taskEnded(endOf(task, task.notes), task.notes.values)
  }

  /** Ends a task for its client. The upstream is told later. */
  async cancel(entry: TaskEntry): Promise<TaskEntry | undefined> {
    const { plan } = this.#host.generation
    return await this.persist(entry, task => cancelled(task, plan, Date.now()))
  }

  /** Takes a task out for its client. The upstream is told later. */
  async remove(entry: TaskEntry): Promise<TaskEntry | undefined> {
    return await this.persist(entry, task => ({ ...task, phase: 'deleting', faults: 0 }))
  }

  /** Changes a task whatever comes between, and has somebody look after it at once. */
  private async persist(entry: TaskEntry, change: (task: Task) => Task | undefined): Promise<TaskEntry | undefined> {
    for (let known: TaskEntry | undefined = entry; known !== undefined; ) {
      const next = change(known.task)
      if (next === undefined) return known
      const saved = await this.save(known, next, Date.now())
      if (saved !== undefined) return saved
      known = await this.repository.find(known.task.kind, known.task.owner, known.task.id)
    }
    return undefined
  }

  private reportChange(before: Task, after: Task, to: string = after.state): void {
    const { id, kind, owner, target, error, late } = after
    this.onChange({
      task: id,
      kind,
      owner,
      upstream: target?.upstream,
      from: before.state,
      to,
      ...(error === undefined
        ? {}
        : { code: error.code, cause: withoutSecrets(error.message, this.secretsOf(target)) }),
      ...(late === undefined ? {} : { late }),
    })
  }

  /** What an upstream may quote of the credentials that it has, and had. */
  private secretsOf(target: Task['target']): readonly string[] {
    const upstream = this.#host.generation.plan.upstreams.get(target?.upstream ?? '')
    const all = upstream === undefined ? [] : [upstream, ...upstream.former]
    return all.flatMap(({ secret }) => (secret === undefined ? [] : [secret.reveal()]))
  }

  private async viewFor({ kind, hook, origin }: Task): Promise<View> {
    return hook === undefined ? DIRECT : await this.view({ plan: this.#host.generation.plan, kind, origin })
  }

  /** Moves a notification that stands in a task to the queue. */
  private async flush(entry: TaskEntry, due: number | null): Promise<TaskEntry | undefined> {
    const { hook, ...task } = entry.task
    if (hook?.pending === undefined) return entry
    await this.hooks.add(entry.task, hook)
    const { pending: _, ...rest } = hook
    const saved = await this.repository.replace(entry, { ...task, hook: rest }, due)
    this.wake(task.kind, due)
    return saved
  }

  // ── what is due

  private async run(record: StoredRecord): Promise<void> {
    const claimed = entryOf(record)
    if (claimed === undefined) return
    const entry = await this.flush(claimed, record.due ?? null)
    if (entry === undefined) return
    const { task } = entry
    switch (task.phase) {
      case 'submitting': {
        const waiting = grace(this.#host, task)
        if (waiting !== undefined) {
          if (await this.repository.replace(entry, waiting.task, waiting.due)) this.wake(task.kind, waiting.due)
          return
        }
        // Nobody was asked, and whoever wanted it has not been told of it: the store, or the process, was gone.
        if (task.target === undefined) {
          if (await this.repository.remove(entry)) this.reportChange(task, task, 'withdrawn')
          return
        }
        const keep = task.deadline - task.created
        await this.save(entry, fail(task, 'submit_unconfirmed', Date.now(), keep), null)
        return
      }
      case 'open':
      case 'late':
        return await this.withinLimit(entry, () => this.follow(entry))
      case 'cancelling':
      case 'deleting':
        return await this.withinLimit(entry, () => cancelUpstream(this.#host, entry))
      case 'done':
        await this.save(entry, task, null)
    }
  }

  /** Does the work where the upstream may be asked now, and else gives the task back until it may be. */
  private async withinLimit(entry: TaskEntry, work: () => Promise<void>): Promise<void> {
    const { task } = entry
    const target = targetOf(this.#host.generation.plan, task)
    const name = `${task.kind} ${task.target?.upstream}`
    const asked = Date.now()
    const endOr = async (mayEnd: boolean, goOn: () => Promise<void>): Promise<void> => {
      const over = target && mayEnd ? pastDeadline(task, target.shape, asked) : undefined
      if (target !== undefined && over !== undefined) await this.end(entry, over, target.shape)
      else await goOn()
    }
    const latest = asked + (target?.shape.poll.slowest ?? MINUTE_MS)
    // Who answers gets a last poll at the deadline; nobody waits for who does not.
    await this.#limiter.run(
      name,
      Math.min(target?.shape.poll.concurrency ?? 1, MAX_PER_UPSTREAM),
      () => endOr(task.faults > 0, work),
      next => endOr(true, () => this.giveBack(entry, Math.min(next, latest))),
    )
  }

  private async end(entry: TaskEntry, over: Task, shape: TaskShape): Promise<void> {
    await this.save(entry, over, nextPollAt(over, shape, Date.now(), undefined, Math.random()))
  }

  private async giveBack(entry: TaskEntry, next: number): Promise<void> {
    const { task } = entry
    const due = task.phase === 'open' ? Math.min(next, task.deadline) : next
    if ((await this.repository.replace(entry, task, due)) !== undefined) this.wake(task.kind, due)
  }

  private async follow(entry: TaskEntry): Promise<void> {
    const generation = this.#host.generation.lease()
    try {
      const target = targetOf(generation.plan, entry.task)
      const now = Date.now()
      if (target === undefined) {
        const task = applyFailedPoll(entry.task, 'target_gone', undefined, now)
        const over = now >= task.deadline ? fail(task, 'target_gone', now, MINUTE_MS) : task
        await this.save(entry, over, isEnded(over) ? null : Math.min(now + goneFor(over), task.deadline))
        return
      }
      if (hasOtherCredential(entry.task, target)) this.reportCredential(entry.task)
      const polled = await poll(generation, entry.task, target, this.results)
      if (polled.refused) this.#host.onRefusedCredential()
      const { shape } = target
      const next = overdue(polled.task, shape, Date.now()) ?? polled.task
      await this.save(entry, next, nextPollAt(next, shape, Date.now(), polled.wait, Math.random()))
    } finally {
      generation.release()
    }
  }

  private reportCredential({ id, target }: Task): void {
    const known = `${target?.upstream} ${target?.credential}`
    if (target === undefined || this.#reportedCredentials.has(known)) return
    if (this.#reportedCredentials.size === MAX_REPORTED_CREDENTIALS) this.#reportedCredentials.clear()
    this.#reportedCredentials.add(known)
    this.onOtherCredential({ upstream: target.upstream, task: id })
  }
}

/** The task as its owner, or the gateway's, ends it; undefined where it has ended. The upstream is still to be told. */
export function cancelled(task: Task, plan: Plan, now: number): Task | undefined {
  if (isEnded(task)) return undefined
  const keep = targetOf(plan, task)?.shape.retention ?? MINUTE_MS
  return { ...fail(task, 'cancelled', now, keep), phase: 'cancelling', faults: 0 }
}

/** An ended task outlives its result, so that it can be told that it is gone. */
export function recordExpiry({ finished }: Task, expires: number): number {
  return expires + Math.max(expires - (finished ?? expires), MINUTE_MS)
}

/** How long to wait for a target that is gone to come back, milliseconds. */
function goneFor({ misses }: Task): number {
  return Math.min(1000 * 2 ** misses, MINUTE_MS)
}
