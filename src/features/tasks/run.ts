import { GatewayError } from '../../core/errors.js'
import type { Route, TaskRoute } from '../../core/plan.js'
import { membersRead } from '../../core/task-kind.js'
import { markOf } from '../../core/trace.js'
import { documentOfBody } from '../../kernel/body-document.js'
import type { Call } from '../../kernel/call.js'
import { originOf } from '../../kernel/origin.js'
import { readRequest } from '../../kernel/read-request.js'
import { removeMember } from '../../wire/json-edit.js'
import { claim, keptFor, keyOf } from './claim.js'
import { isStoreFault } from './confirm-submit.js'
import { presenterOf } from './presenters/index.js'
import { newTaskId, type Task } from './record.js'
import type { TaskEntry } from './repository.js'
import { RunningTask } from './running-task.js'
import { lastsUntil } from './submission.js'
import { answer } from './submit.js'
import { leaseEnd } from './submit-lease.js'
import { TASKS } from './tasks.js'
import { withdraw } from './withdrawal.js'

/** How long clients wait before they try again while there are too many, milliseconds. */
const RETRY_AFTER_MS = 5000

/**
 * Begins a task that the gateway itself works on: another route's request, made in the name of the caller after this one has been
 * answered. That request has limits, a line in the log and a price of its own, so the task has none.
 */
export async function run(call: Call, route: Route, task: TaskRoute): Promise<void> {
  const { runs } = task
  if (runs === undefined) throw new Error('only routes with another one to run come here')
  const tasks = call.kernel.need(TASKS)
  const body = await readRequest(call, route)
  if (body.type !== 'bytes') throw new GatewayError('bad_request', 'The body is not valid JSON.')
  const { webhook } = task
  const names = new Set(['model', ...membersRead(task.kind), ...(webhook === undefined ? [] : [webhook])])
  const document = await documentOfBody(call, body, { isKnown: name => names.has(name) })
  const hook = webhook && tasks.hooks.hook(document[webhook], webhook, call.caller?.regions)
  if (typeof document.model === 'string') call.model = document.model
  const now = Date.now()
  const origin = originOf(call)
  const draft: Task = {
    ...{ id: newTaskId(), kind: task.kind.name, owner: call.key, route: route.id, model: call.model, runs: true },
    ...{ phase: 'submitting', state: 'running', progress: 0, fields: {}, artifacts: [], faults: 0, misses: 0 },
    input: presenterOf(task.kind).input(name => document[name], task.label),
    ...{ created: now, started: now, moved: now, deadline: now + runs.shape.deadline },
    ...{ pace: runs.shape.poll.client_every, generation: call.generation.number, trace: markOf(call.trace) },
    ...keptFor(keyOf(call), now),
    ...(hook ? { hook, ...(origin === undefined ? {} : { origin }) } : {}),
  }
  const sent = webhook === undefined ? body.bytes : removeMember(body.bytes, [webhook])
  const leave = (): void => tasks.running.release(call.key, sent.length)
  if (!tasks.running.take(call.key, sent.length)) {
    const message = 'Too many tasks are running at the moment.'
    throw new GatewayError('unavailable', message, { retryAfter: RETRY_AFTER_MS })
  }
  const { entry, mine } = await begun(call, draft, body, lastsUntil(draft, runs.shape)).catch((error: unknown) => {
    leave()
    throw error
  })
  if (!mine) leave()
  const mark = call.request.target.indexOf('?')
  const target = runs.path + (mark < 0 ? '' : call.request.target.slice(mark))
  const request = { method: 'POST', target, body: Buffer.from(sent) }
  const running = mine ? new RunningTask(tasks, entry, runs.shape, call.request, request) : undefined
  try {
    await answer(call, entry, task)
  } finally {
    running?.start(call.kernel.serve)
  }
}

/** The record of the task, or that of an earlier request with the same key. */
async function begun(
  call: Call,
  draft: Task,
  body: Parameters<typeof claim>[3],
  expires: number,
): Promise<{ readonly entry: TaskEntry; readonly mine: boolean }> {
  const { kernel } = call
  const create = async (): Promise<TaskEntry> => {
    try {
      return await kernel.need(TASKS).repository.create(draft, leaseEnd(kernel), expires)
    } catch (error) {
      if (isStoreFault(error)) await withdraw(kernel, draft, undefined)
      throw error
    }
  }
  const key = keyOf(call)
  return key === undefined ? { entry: await create(), mine: true } : await claim(call, draft, key, body, create)
}
