import { GatewayError } from '../../core/errors.js'
import type { Route, TaskRoute } from '../../core/plan.js'
import type { TaskAction } from '../../core/task.js'
import { admit } from '../admit.js'
import type { Call } from '../call.js'
import type { Entry } from './book.js'
import { content } from './content.js'
import { faceOf } from './faces/index.js'
import { paceHeader, submit } from './submit.js'

type Serve = (call: Call, route: Route, task: TaskRoute) => Promise<void>

const ACTIONS: Readonly<Record<TaskAction, Serve>> = {
  submit,
  retrieve,
  list,
  content: fetchContent,
  cancel,
  delete: remove,
}

/** Serves a route that is about tasks. */
export function serveTask(call: Call, route: Route, task: TaskRoute): Promise<void> {
  return ACTIONS[task.action](call, route, task)
}

/** From the store: how often clients ask is nothing to the upstream. */
async function retrieve(call: Call, _route: Route, route: TaskRoute): Promise<void> {
  const id = call.params[route.parameter ?? ''] ?? ''
  const { book, shown } = call.kernel.tasks
  const record = await book.record(route.kind, ownerOf(call), id)
  const known = record && shown.get(record)
  if (known !== undefined) {
    call.model = known.model
    call.answerBytes(200, known.json, paceHeader(known, route.pace))
    return
  }
  const { task } = await find(call, route)
  const json = Buffer.from(JSON.stringify(faceOf(route.kind).record(task)))
  if (record !== undefined) shown.set(record, { json, model: task.model, pace: task.pace })
  call.answerBytes(200, json, paceHeader(task, route.pace))
}

async function cancel(call: Call, _route: Route, route: TaskRoute): Promise<void> {
  const entry = await find(call, route)
  const cancelled = await call.kernel.tasks.cancel(entry)
  if (cancelled === undefined) throw faceOf(route.kind).unknown(entry.task.id)
  call.answer(200, faceOf(route.kind).record(cancelled.task))
}

async function remove(call: Call, _route: Route, route: TaskRoute): Promise<void> {
  const entry = await find(call, route)
  const removed = await call.kernel.tasks.remove(entry)
  if (removed === undefined) throw faceOf(route.kind).unknown(entry.task.id)
  call.answer(200, faceOf(route.kind).deleted(removed.task))
}

const USUAL = 20
const LARGEST = 100

async function list(call: Call, _route: Route, { kind }: TaskRoute): Promise<void> {
  const query = (name: string): string | undefined => call.query?.get(name) || undefined
  const given = query('limit') ?? String(USUAL)
  const limit = /^\d{1,9}$/.test(given) ? Number(given) : 0
  if (limit < 1) throw refused('limit', `'limit' has to be a whole number from 1 to ${LARGEST}.`)
  const order = query('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw refused('order', "'order' has to be asc or desc.")
  const { book } = call.kernel.tasks
  const owner = ownerOf(call)
  const cursor = query('after')
  const after = cursor === undefined ? undefined : (await book.find(kind, owner, cursor))?.record
  if (cursor !== undefined && after === undefined)
    throw refused('after', "'after' is not the id of a task in this list.")
  const page = await book.list(kind, owner, {
    order: order === 'asc' ? 'ascending' : 'descending',
    limit: Math.min(limit, LARGEST),
    ...(after === undefined ? {} : { after }),
  })
  const tasks = page.entries.map(({ task }) => task)
  call.answer(200, faceOf(kind).list(tasks, page.more))
}

async function fetchContent(call: Call, route: Route, task: TaskRoute): Promise<void> {
  await admit(call, route)
  content(call, await find(call, task), task)
}

/** The caller's task that the path names. One of another caller's and one that never was answer alike. */
async function find(call: Call, { kind, parameter = '' }: TaskRoute): Promise<Entry> {
  const id = call.params[parameter] ?? ''
  const entry = await call.kernel.tasks.book.find(kind, ownerOf(call), id)
  if (entry === undefined) throw faceOf(kind).unknown(id)
  call.model = entry.task.model
  return entry
}

function ownerOf(call: Call): string {
  return call.caller?.name ?? ''
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param })
}
