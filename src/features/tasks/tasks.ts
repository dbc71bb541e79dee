import type { Plan } from '../../core/plan.js'
import type { StoredRecord } from '../../core/store.js'
import type { TaskShape } from '../../core/task.js'
import { type ServiceKey, serviceKey } from '../../kernel/services.js'
import { withoutSecrets } from '../../kernel/upstream-words.js'
import { Links } from '../links/signer.js'
import { cancelUpstream } from './cancel-upstream.js'
import { ConcurrencyLimiter } from './concurrency-limiter.js'
import { HookQueue } from './hooks.js'
import type { TaskHost } from './host.js'
import { withNotification } from './notice.js'
import { poll } from './poll.js'
import { PollCache } from './poll-cache.js'
import { presenterNamed } from './presenters/index.js'
import type { View } from './presenters/presenter.js'
import { endOf, isEnded, type Task } from './record.js'
import { entryOf, namespaceOf, type TaskEntry, TaskRepository } from './repository.js'
import { Results } from './results.js'
import { RunningTasks } from './running-task.js'
import { grace } from './submit-lease.js'
import { applyFailedPoll, fail, nextPollAt, overdue, pastDeadline } from './transition.js'
import { generationOf, hasOtherCredential, targetOf } from './upstream.js'
import { DIRECT, linkedView, signedPath } from './view.js'
import { LeaseWorker } from './worker.js'

/** A change of a task that is logged. */
interface TaskChange {
  readonly task: string
  readonly kind: string
  readonly owner: string
  readonly upstream: string | undefined
  readonly from: string
  readonly to: string
  readonly code?: string
  /** The upstream's message about the failure. */
  readonly cause?: string
  readonly late?: true
}

interface ViewOptions {
  readonly plan: Plan
  /** Name of the task kind. */
  readonly kind: string
  readonly origin: string | undefined
}

/** Shortest time to keep an ended task, and longest pause before checking again for a missing upstream, milliseconds. */
const MINUTE_MS = 60_000
/** Most tasks worked on at a time, and most of them per upstream, so that one that hangs leaves room for the others. */
const MAX_CONCURRENT = 256
const MAX_PER_UPSTREAM = 32
/** Most upstreams with their credentials in `#reportedCredentials`: each replaced secret adds one. */
const MAX_REPORTED_CREDENTIALS = 1000
/** When a task is due again if its notification could not be queued at once, milliseconds. */
const RECHECK_MS = 2000

export const TASKS: ServiceKey<Tasks> = serviceKey('tasks')

/** Polls tasks after their requests have been answered: each task is handled by one process at a time. */
export class Tasks {
  readonly repository: TaskRepository
  readonly hooks: HookQueue
  readonly links: Links
  readonly results: Results
  /** Cached answers to polling clients. */
  readonly pollCache = new PollCache()
  readonly host: TaskHost
  /** Those that this process works on itself. */
  readonly running = new RunningTasks()
  /** By kind of the present plans. */
  readonly #workers = new Map<string, LeaseWorker>()
  /** Workers of kinds that are no longer in the plan. */
  readonly #stopping = new Set<Promise<void>>()
  #isStarted = false
  readonly #limiter = new ConcurrencyLimiter()
  /** Submits under way; they continue after their clients have gone. */
  readonly #pending = new Set<Promise<unknown>>()
  /** Upstreams with their former credentials that `onOtherCredential` was called for. */
  readonly #reportedCredentials = new Set<string>()
  /** Called when a task is polled with another credential than the one that began it, once for each such credential. */
  onOtherCredential: (first: { readonly upstream: string; readonly task: string }) => void = () => undefined
  /** Called after each change of a task's state. `age`: milliseconds since the task was created. */
  onChange: (change: TaskChange, age: number) => void = () => undefined

  constructor(host: TaskHost) {
    this.host = host
    const { store } = host
    this.repository = new TaskRepository(store)
    const onFault = (error: unknown): void => host.onStoreFault(error)
    this.results = new Results(store, onFault)
    this.hooks = new HookQueue(host)
    this.links = new Links(store)
    this.adopt()
  }

  /** Begins to work on unfinished tasks. */
  start(): void {
    this.#isStarted = true
    for (const worker of this.#workers.values()) worker.start()
    this.hooks.start()
  }

  /** Works on tasks of the kinds of all plans in use. Those of other kinds wait until a plan has them again, or expire. */
  adopt(): void {
    const kinds = new Set(this.host.ready.flatMap(({ plan }) => [...plan.taskKinds.keys()]))
    for (const kind of kinds) this.workerOf(kind)
    for (const [kind, worker] of this.#workers) {
      if (kinds.has(kind)) continue
      this.#workers.delete(kind)
      const stopping = worker.stop().finally(() => this.#stopping.delete(stopping))
      this.#stopping.add(stopping)
    }
  }

  private workerOf(kind: string): LeaseWorker {
    const known = this.#workers.get(kind)
    if (known !== undefined) return known
    const worker = new LeaseWorker({
      store: this.host.store,
      namespace: namespaceOf(kind),
      lease: () => this.host.generation.plan.tasks.lease,
      maxConcurrent: MAX_CONCURRENT,
      run: record => this.run(record),
      onFault: error => this.host.onStoreFault(error),
    })
    this.#workers.set(kind, worker)
    if (this.#isStarted) worker.start()
    return worker
  }

  /** Checks at once what is due, after the store was unavailable. */
  checkNow(): void {
    const now = Date.now()
    for (const worker of this.#workers.values()) worker.at(now)
    this.hooks.checkNow()
  }

  /** Resolves when no submit is under way. */
  async submitted(): Promise<void> {
    await Promise.allSettled(this.#pending)
  }

  /** Claims nothing more, and resolves when all running work is done. */
  async stop(): Promise<void> {
    this.#isStarted = false
    await Promise.all([...this.#stopping, ...[...this.#workers.values()].map(worker => worker.stop())])
    await this.hooks.stop()
    await Promise.allSettled(this.#pending)
  }

  /** The view of a kind's tasks for a client that reaches the gateway at `origin`. */
  async view({ plan, kind, origin }: ViewOptions): Promise<View> {
    const path = signedPath(plan, kind)
    return path === undefined || origin === undefined ? DIRECT : linkedView(path, await this.links.signer(), origin)
  }

  /** A task of that kind is due at that time; the worker of its kind may begin here. */
  wake(kind: Task['kind'], due: number | null): void {
    if (due !== null) (this.#isStarted ? this.workerOf(kind) : this.#workers.get(kind))?.at(due)
  }

  /** Keeps the process from ending before this is done. */
  hold<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work)
    const done = (): void => void this.#pending.delete(work)
    work.then(done, done)
    return work
  }

  /**
   * Writes a changed task, notifies its client and reports its end to features. Undefined if the record was changed
   * meanwhile. `due` null: the task needs no further work.
   */
  async save(entry: TaskEntry, changed: Task, due: number | null): Promise<TaskEntry | undefined> {
    const before = entry.task
    const presenter = presenterNamed(generationOf(this.host, changed).plan, changed.kind)
    const task = withNotification(before, changed, Date.now(), presenter, await this.viewFor(changed))
    const isNotified = task.hook?.pending !== undefined
    // The task stays due until its notification is queued and its end reported.
    const owed = due === null && isEnded(task) && task.notes !== undefined
    const soon = isNotified || owed ? Math.min(due ?? Number.POSITIVE_INFINITY, Date.now() + RECHECK_MS) : due
    const expires = isEnded(task) && task.expires !== undefined ? recordExpiry(task, task.expires) : undefined
    const saved = await this.repository.replace(entry, task, soon, expires)
    if (saved === undefined) return undefined
    this.wake(task.kind, soon)
    if (before.state !== task.state) this.reportChange(before, task)
    await this.results.drop(before, task.artifacts)
    const flushed = isNotified ? await this.flush(saved, owed ? soon : due) : saved
    return owed && flushed !== undefined ? await this.tellAndForget(flushed) : flushed
  }

  /** Reports the end to features and removes their notes. The task stays due until this is done. */
  private async tellAndForget(entry: TaskEntry): Promise<TaskEntry> {
    try {
      await this.reportEnd(entry.task)
    } catch (error) {
      this.host.onStoreFault(error)
      return entry
    }
    const { notes: _, ...task } = entry.task
    return (await this.repository.replace(entry, task, null)) ?? entry
  }

  async reportEnd(task: Task): Promise<void> {
    if (task.notes !== undefined) await this.host.taskEnded(endOf(task, task.notes), task.notes.values)
  }

  /** Cancels a task for its client. The upstream is called later. */
  async cancel(entry: TaskEntry): Promise<TaskEntry | undefined> {
    const { plan } = generationOf(this.host, entry.task)
    const saved = await this.persist(entry, task => cancelled(task, plan, Date.now()))
    this.running.get(entry.task.id)?.cancel()
    return saved
  }

  /** Deletes a task for its client. The upstream is called later. */
  async remove(entry: TaskEntry): Promise<TaskEntry | undefined> {
    const saved = await this.persist(entry, task => ({ ...task, phase: 'deleting', faults: 0 }))
    this.running.get(entry.task.id)?.cancel()
    return saved
  }

  /** Changes a task, tries again after concurrent changes, and makes it due at once. */
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
    const change = {
      task: id,
      kind,
      owner,
      upstream: target?.upstream,
      from: before.state,
      to,
      ...(error === undefined ? {} : { code: error.code, cause: withoutSecrets(error.message, this.secretsOf(after)) }),
      ...(late === undefined ? {} : { late }),
    }
    this.onChange(change, Math.max(0, (after.finished ?? Date.now()) - after.created))
  }

  /** Reports the change that was made where nothing reports it. */
  private async reportFormer(entry: TaskEntry): Promise<TaskEntry | undefined> {
    const { unreported: state, ...task } = entry.task
    if (state === undefined) return entry
    const saved = await this.repository.replace(entry, task, entry.record.due ?? null)
    if (saved !== undefined) this.reportChange({ ...task, state }, task)
    return saved
  }

  /** The upstream's present and former credentials, which its messages may quote. */
  private secretsOf(task: Task): readonly string[] {
    const { plan } = generationOf(this.host, task)
    const upstream = plan.upstreams.get(task.target?.upstream ?? '')
    const all = upstream === undefined ? [] : [upstream, ...upstream.others, ...upstream.former]
    return all.flatMap(({ secret }) => (secret === undefined ? [] : [secret.reveal()]))
  }

  private async viewFor(task: Task): Promise<View> {
    const { kind, hook, origin } = task
    return hook === undefined ? DIRECT : await this.view({ plan: generationOf(this.host, task).plan, kind, origin })
  }

  /** Moves a task's pending notification to the queue. */
  private async flush(entry: TaskEntry, due: number | null): Promise<TaskEntry | undefined> {
    const { hook, ...task } = entry.task
    if (hook?.pending === undefined) return entry
    await this.hooks.add(entry.task, hook)
    const { pending: _, ...rest } = hook
    const saved = await this.repository.replace(entry, { ...task, hook: rest }, due)
    this.wake(task.kind, due)
    return saved
  }

  // ── due tasks

  private async run(record: StoredRecord): Promise<void> {
    const claimed = entryOf(record)
    const reported = claimed && (await this.reportFormer(claimed))
    const entry = reported && (await this.flush(reported, record.due ?? null))
    if (entry === undefined) return
    const { task } = entry
    switch (task.phase) {
      case 'submitting': {
        const waiting = grace(this.host, task)
        if (waiting !== undefined) {
          if (await this.repository.replace(entry, waiting.task, waiting.due)) this.wake(task.kind, waiting.due)
          return
        }
        if (task.runs === true) {
          await this.save(entry, fail(task, 'interrupted', Date.now(), task.deadline - task.created), null)
          return
        }
        // No upstream was called, and the client got no task: the store or the process failed before.
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
        return await this.withinLimit(entry, () => cancelUpstream(this, entry))
      case 'done':
        await this.save(entry, task, null)
    }
  }

  /** Does the work if the upstream's limit allows it; otherwise makes the task due later. */
  private async withinLimit(entry: TaskEntry, work: () => Promise<void>): Promise<void> {
    const { task } = entry
    const target = targetOf(generationOf(this.host, task).plan, task)
    const name = `${task.kind} ${task.target?.upstream}`
    const asked = Date.now()
    const endOr = async (mayEnd: boolean, otherwise: () => Promise<void>): Promise<void> => {
      const over = target && mayEnd ? pastDeadline(task, target.shape, asked) : undefined
      if (target !== undefined && over !== undefined) await this.end(entry, over, target.shape)
      else await otherwise()
    }
    const latest = asked + (target?.shape.poll.slowest ?? MINUTE_MS)
    // A task whose last poll succeeded is polled once more at its deadline; one with failed polls ends without.
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
    const generation = generationOf(this.host, entry.task).lease()
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
      const { watchCall, observeTask } = this.host
      const polled = await poll({ generation, watchCall, observeTask }, entry.task, target, this.results)
      if (polled.refused) this.host.onRefusedCredential(target.upstream.name)
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

/** The task as cancelled by its owner or an operator; undefined if it has ended or is deleted. The upstream is called later. */
export function cancelled(task: Task, plan: Plan, now: number): Task | undefined {
  if (isEnded(task) || task.phase === 'deleting') return undefined
  const keep = targetOf(plan, task)?.shape.retention ?? MINUTE_MS
  return { ...fail(task, 'cancelled', now, keep), phase: 'cancelling', faults: 0 }
}

/** The record outlives the result, so that clients learn that the result has expired. */
export function recordExpiry({ finished, keyed = 0 }: Task, expires: number): number {
  return Math.max(expires + Math.max(expires - (finished ?? expires), MINUTE_MS), keyed)
}

/** Pause before checking again for a missing target, milliseconds. */
function goneFor({ misses }: Task): number {
  return Math.min(1000 * 2 ** misses, MINUTE_MS)
}
