import { GatewayError } from '../../core/errors.js'
import type { Exchange, TaskRoute, TaskTarget } from '../../core/plan.js'
import { retryAfter } from '../../core/retry-after.js'
import { TASK_BUSY } from '../../core/task.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import type { GatedAttempt } from '../../kernel/gated-attempt.js'
import type { UpstreamResponse } from '../../kernel/http-call.js'
import { stored } from '../../kernel/stored.js'
import { errorOfStatus } from '../../kernel/upstream-errors.js'
import { upstreamMessage } from '../../kernel/upstream-words.js'
import { digestOf } from './claim.js'
import { cleaned } from './cleaned.js'
import { type Confirmation, confirmSubmit, whileStoreFails } from './confirm-submit.js'
import { presenterOf } from './presenters/index.js'
import { type Reading, readAnswer, verdictOf } from './reading.js'
import { isEnded, type Task } from './record.js'
import { declined, NOTHING_TAKEN, type Refused } from './refusal.js'
import type { TaskEntry } from './repository.js'
import { TASKS } from './tasks.js'
import { applyUpstreamStatus, FAILURES } from './transition.js'
import { readDocument } from './upstream.js'
import { withdraw } from './withdrawal.js'

/** Statuses by which a proxy in front of the upstream says that it does not know what the upstream did. */
const AMBIGUOUS_STATUSES: ReadonlySet<number> = new Set([502, 504, 520, 524])

/** One request to begin a task, before any upstream is called. */
export interface Order {
  readonly call: Call
  readonly task: TaskRoute
  /** The record to begin with. */
  readonly draft: Task
  /** The exchanges to try, in order. */
  readonly exchanges: readonly Exchange[]
  readonly body: Body
  /** The task that the new one continues. */
  readonly parent: TaskEntry | undefined
  /** The client's own key for the request. */
  readonly key: string | undefined
}

/** The result of calling one upstream. */
export type Outcome = Confirmation | Refused

/** Applies an upstream's answer to a submit to the record. */
export async function accept(
  order: Order,
  entry: TaskEntry,
  answer: UpstreamResponse,
  gated: GatedAttempt,
  target: TaskTarget,
): Promise<Outcome> {
  const { status, headers } = answer
  const { exchange } = gated
  if (AMBIGUOUS_STATUSES.has(status)) return { type: 'open' }
  if (status < 200 || status >= 300) {
    return {
      type: 'refused',
      error: errorOfStatus(
        status,
        headers,
        upstreamMessage(answer.body, { call: order.call, exchange }),
        exchange.resets,
      ),
      answer,
      ...(TASK_BUSY.has(status) && { condition: status }),
    }
  }
  const { document, bytes } = readDocument(answer, { response: exchange.response })
  const verdict = verdictOf(document, target.shape)
  if (verdict !== undefined) return declined(order.call, verdict, answer, exchange)
  const reading = cleaned(readAnswer(document, target.shape, bytes), order.call.generation, target)
  if (reading.id === undefined && !isWhole(reading, target)) {
    // A success without an id, a result or an error: the upstream may be working on the task.
    if (reading.error === undefined) return { type: 'open' }
    const error = new GatewayError('bad_upstream_response', reading.error.message || NOTHING_TAKEN, { phase: 'body' })
    return { type: 'refused', error }
  }
  // An upstream that returns the parent's id continues the parent.
  const { parent } = order
  if (parent !== undefined && reading.id !== undefined && reading.id === parent.task.upstreamId) {
    return await continueParent(order, entry, parent, reading, target, gated)
  }
  const first = Date.now() + Math.max(target.shape.poll.first, retryAfter(headers) ?? 0)
  gated.end('accepted', status, undefined, 0, entry.task.id)
  return await begin(order, entry, reading, target, first, gated)
}

/** `first`: time of the first poll, milliseconds since the epoch. */
async function begin(
  { call }: Order,
  entry: TaskEntry,
  reading: Reading,
  target: TaskTarget,
  first: number,
  gated: GatedAttempt,
): Promise<Outcome> {
  const { id: upstreamId } = reading
  const isMade = isWhole(reading, target)
  const said = await keepSaid(call, entry.task, reading, target, isMade)
  const now = Date.now()
  const begun = ({ awaited: _, lapsed: __, ...task }: Task): Task => {
    const named = withNotes(upstreamId === undefined ? task : { ...task, upstreamId }, gated)
    if (task.phase === 'deleting') return named
    if (isEnded(task)) {
      // The task was given up in the meantime: a success still counts.
      const late: Task = { ...named, phase: task.state === 'cancelled' ? 'cancelling' : 'late' }
      return isMade && late.phase === 'late' ? applyUpstreamStatus(late, said, target.shape, now, true) : late
    }
    const { poll, deadline } = target.shape
    const open: Task = { ...named, phase: 'open', pace: poll.client_every, deadline: task.created + deadline }
    return applyUpstreamStatus(open, said, target.shape, now, isMade)
  }
  return await confirmSubmit(call.kernel.need(TASKS), entry, begun, first)
}

/** The answer to a submit, after its inline results were stored. */
async function keepSaid(
  { kernel }: Call,
  task: Task,
  reading: Reading,
  { shape }: TaskTarget,
  isMade: boolean,
): Promise<Reading> {
  const { results } = kernel.need(TASKS)
  if (isMade) {
    const made: Reading = { ...reading, state: 'succeeded' }
    const error = { code: 'not_kept', message: FAILURES.not_kept }
    return (await results.keep(task, made, shape)) ?? { ...made, state: 'failed', error, artifacts: [] }
  }
  // A result that is ready at once is found by the first poll.
  const said: Reading = reading.state === 'succeeded' ? { ...reading, state: 'running' } : reading
  return (await results.keep(task, said, shape)) ?? said
}

/**
 * Continues the parent and removes the new record. What an earlier attempt reported of the parent no longer holds, unless it has
 * ended: then it stays as it is.
 */
async function continueParent(
  order: Order,
  entry: TaskEntry,
  parent: TaskEntry,
  reading: Reading,
  { shape }: TaskTarget,
  gated: GatedAttempt,
): Promise<Outcome> {
  const tasks = order.call.kernel.need(TASKS)
  // The parent's notes belong to an earlier attempt, and one that has ended takes none: then this attempt ends here.
  const keeps = parent.task.notes === undefined && !isEnded(parent.task)
  if (keeps) gated.end('accepted', undefined, undefined, 0, parent.task.id)
  else gated.end('ok')
  const notes = keeps ? withNotes(entry.task, gated).notes : undefined
  const continued = await whileStoreFails(tasks, parent, known =>
    moveTo(order, entry, known, parent.task, { reading, shape, notes }),
  )
  return continued ?? { type: 'open' }
}

interface Continuation {
  readonly reading: Reading
  readonly shape: TaskTarget['shape']
  /** What the attempt has left with the parent. */
  readonly notes: Task['notes']
}

/** `known`: the parent's record; undefined: it is read. May be repeated after a store fault. */
async function moveTo(
  order: Order,
  entry: TaskEntry,
  known: TaskEntry | undefined,
  { kind, owner, id }: Task,
  { reading, shape, notes }: Continuation,
): Promise<Outcome> {
  const { kernel } = order.call
  const tasks = kernel.need(TASKS)
  const find = (): Promise<TaskEntry | undefined> => tasks.repository.find(kind, owner, id)
  const giveBack = async (): Promise<void> => {
    if (notes !== undefined) await stored(tasks.reportEnd({ ...entry.task, notes, state: 'cancelled' }))
  }
  const { hook, origin, keyed } = entry.task
  const now = Date.now()
  for (let parent = known ?? (await find()); parent !== undefined; parent = await find()) {
    const { task } = parent
    const isOver = isEnded(task)
    const withKey = { ...task, ...(keyed === undefined ? {} : { keyed }) }
    const withHook = hook === undefined ? {} : { hook: { ...task.hook, ...hook, sequence: task.hook?.sequence ?? 0 } }
    const more = { ...withHook, ...(origin === undefined ? {} : { origin }) }
    const from = { ...withKey, ...more, fields: {}, moved: now, deadline: now + shape.deadline }
    const next = isOver ? withKey : applyUpstreamStatus(from, reading, shape, now, false)
    const noted = notes === undefined || isOver ? next : { ...next, notes }
    const saved = await tasks.save(parent, noted, isOver ? (parent.record.due ?? null) : now + shape.poll.first)
    if (saved === undefined) continue
    // An earlier try may have written them before it ended.
    if (isOver && task.notes?.submit !== entry.task.id) await giveBack()
    await redirectKey(order, saved.task.id)
    await withdraw(kernel, entry.task, undefined, entry)
    return { type: 'begun', entry: saved }
  }
  await giveBack()
  return { type: 'refused', error: gone(order) }
}

/** The task with the notes that features left on this attempt. */
export function withNotes({ notes: _, ...task }: Task, gated: GatedAttempt | undefined): Task {
  return gated?.notes === undefined ? task : { ...task, notes: { submit: task.id, values: gated.notes } }
}

/** Points the client's idempotency key to that task. */
async function redirectKey({ call, draft, body, key }: Order, id: string): Promise<void> {
  if (key === undefined) return
  const before = { id: draft.id, digest: await digestOf(call, body) }
  await call.kernel.need(TASKS).repository.claimKey(draft.owner, key, { ...before, id }, before)
}

/** The error for a task that its client deleted meanwhile. */
export function gone({ task, draft }: Pick<Order, 'task' | 'draft'>): GatewayError {
  return presenterOf(task.kind).unknown(draft.id)
}

/** Whether the answer to the submit holds the whole result: true only of upstreams that have no call to ask for it later. */
function isWhole({ artifacts, inline, error, state }: Reading, { calls }: TaskTarget): boolean {
  const isMade = artifacts.length + inline.length > 0 && error === undefined
  return calls.retrieve === undefined && isMade && (state === undefined || state === 'succeeded')
}
