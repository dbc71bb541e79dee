import { GatewayError } from '../../core/errors.js'
import type { Exchange, Route, TaskRoute } from '../../core/plan.js'
import { markOf } from '../../core/trace.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { originOf } from '../../kernel/origin.js'
import { resolve } from '../../kernel/resolve.js'
import { slot } from '../../kernel/slot.js'
import { logCandidates } from '../../kernel/trail.js'
import { keptFor, keyOf } from './claim.js'
import { memberOf } from './members.js'
import { parentOf } from './parent.js'
import { presenterOf } from './presenters/index.js'
import { newTaskId, type Task } from './record.js'
import type { TaskEntry } from './repository.js'
import { lastsUntil, Submission } from './submission.js'
import { TASKS } from './tasks.js'

/**
 * Begins a task. Its record is written before the upstream is called, so that the upstream never works on a task that the
 * gateway has no record of. The next upstream is called only if it is certain that the one before began nothing. If that is
 * uncertain the task stays, and fails by itself.
 */
export async function submit(
  call: Call,
  route: Route,
  task: TaskRoute,
  exchanges: readonly Exchange[],
  body: Body,
): Promise<void> {
  const tasks = call.kernel.need(TASKS)
  const { input, parent } = call.get(ORDER) ?? noOrder()
  const origin = originOf(call)
  const hook =
    task.webhook === undefined
      ? undefined
      : tasks.hooks.hook(memberOf(call, task.webhook), task.webhook, call.caller?.regions)
  if (call.kernel.sink.debugs) logCandidates(call, exchanges)
  const first = exchanges[0] && task.target(exchanges[0].upstream.name)
  if (first === undefined) throw new GatewayError('unavailable', 'The upstream of this endpoint is switched off.')
  const now = Date.now()
  const key = keyOf(call)
  const { deadline, poll } = first.shape
  const draft: Task = {
    id: newTaskId(),
    kind: task.kind.name,
    owner: call.key,
    route: route.id,
    model: call.model,
    phase: 'submitting',
    state: 'queued',
    progress: 0,
    input,
    fields: {},
    artifacts: [],
    created: now,
    deadline: now + deadline,
    moved: now,
    pace: poll.client_every,
    faults: 0,
    misses: 0,
    generation: call.generation.number,
    trace: markOf(call.trace),
    ...keptFor(key, now),
    ...(parent === undefined ? {} : { parent: parent.task.id }),
    ...(hook === undefined ? {} : { hook }),
    ...(hook === undefined || origin === undefined ? {} : { origin }),
  }
  const submission = new Submission({ call, task, draft, exchanges, body, parent, key })
  const work = tasks.hold(submission.run(lastsUntil(draft, first.shape)))
  call.work = DETACHED_WORK
  const entry = await work
  if (entry !== undefined) await answer(call, entry, task)
}

/** What records show of the request, and the task that it continues. */
const ORDER = slot<{ readonly input: Task['input']; readonly parent: TaskEntry | undefined }>('task_order')

function noOrder(): never {
  throw new Error('a task has its candidates from here')
}

/** The candidates for a task: those of its model, or the upstream of the task that it continues. */
export async function sourceOf(call: Call, route: Route, task: TaskRoute): Promise<readonly Exchange[]> {
  const presenter = presenterOf(task.kind)
  const input = presenter.input(name => memberOf(call, name), task.label)
  const parent = await parentOf(call, task, presenter)
  call.set(ORDER, { input, parent })
  return parent === undefined ? resolve(call, route) : exchangesOf(call, route, parent)
}

/** The submit has its own time limits, and continues after its client has gone: the upstream may have begun the task. */
export const DETACHED_WORK = { check: () => undefined, cancel: () => undefined, cut: () => false }

/** Answers the request that began a task. */
export async function answer(call: Call, { task }: TaskEntry, { kind, pollHeader }: TaskRoute): Promise<void> {
  const view = await call.kernel
    .need(TASKS)
    .view({ plan: call.generation.plan, kind: kind.name, origin: originOf(call) })
  call.answer(200, presenterOf(kind).begun(task, view), paceHeader(task, pollHeader))
}

/** The header that advises clients how long to wait between two polls. */
export function paceHeader(task: Pick<Task, 'pace'>, name: string | undefined): string[] {
  return name === undefined ? [] : [name, String(task.pace)]
}

/** Only the upstream of the parent can continue it. */
function exchangesOf(call: Call, route: Route, { task }: TaskEntry): readonly Exchange[] {
  const groups = route.resolve(task.model)?.groups ?? []
  const found = groups.flatMap(group => group.exchanges).filter(one => one.upstream.name === task.target?.upstream)
  if (found.length > 0) return found.slice(0, 1)
  throw new GatewayError('invalid_parameter', `The model \`${task.model}\` does not support this action on tasks.`, {
    param: 'model',
    cause: `no exchange for ${call.path}`,
  })
}
