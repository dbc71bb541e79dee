import { GatewayError } from '../../core/errors.js'
import { isObject, type Json } from '../../core/json.js'
import type { Route, TaskRoute } from '../../core/plan.js'
import type { Range } from '../../core/store.js'
import type { TaskAction } from '../../core/task.js'
import type { TaskKind } from '../../core/task-kind.js'
import { documentOfBody } from '../../kernel/body-document.js'
import type { Call } from '../../kernel/call.js'
import { NoResponseError } from '../../kernel/http-call.js'
import { originOf } from '../../kernel/origin.js'
import { positionOf } from '../../kernel/positions.js'
import { readRequest } from '../../kernel/read-request.js'
import { errorOfStatus } from '../../kernel/upstream-errors.js'
import { content } from './content.js'
import { presenterOf } from './presenters/index.js'
import type { View } from './presenters/presenter.js'
import type { Task } from './record.js'
import { positionPlace, type TaskEntry, type TaskRepository } from './repository.js'
import { run } from './run.js'
import { DETACHED_WORK, paceHeader } from './submit.js'
import { TASKS } from './tasks.js'
import { callUpstream, documentOf, generationOf, targetOf } from './upstream.js'
import { defaultVariantOf, signedPath } from './view.js'

type Serve = (call: Call, route: Route, task: TaskRoute) => Promise<void>

const ACTIONS: Readonly<Record<Exclude<TaskAction, 'submit'>, Serve>> = {
  retrieve,
  list,
  select,
  content: fetchContent,
  cancel,
  delete: remove,
  seed,
  run,
}

/** The handler of a route about existing tasks. */
export function serverOf(action: Exclude<TaskAction, 'submit'>): Serve {
  return ACTIONS[action]
}

/** Answers from the store: polling clients cause no load at the upstream. */
async function retrieve(call: Call, _route: Route, route: TaskRoute): Promise<void> {
  const id = call.params[route.parameter ?? ''] ?? ''
  const { repository, pollCache } = call.kernel.need(TASKS)
  const record = await repository.record(route.kind.name, ownerOf(call), id)
  const place = cacheKeyOf(call, route.kind)
  const known = record && pollCache.get(record, place)
  if (known !== undefined) {
    call.model = known.model
    call.answerBytes(200, known.json, paceHeader(known, route.pollHeader))
    return
  }
  const { task } = await find(call, route)
  const json = Buffer.from(JSON.stringify(presenterOf(route.kind).record(task, await viewFor(call, route.kind))))
  if (record !== undefined) pollCache.set(record, place, { json, model: task.model, pace: task.pace })
  call.answerBytes(200, json, paceHeader(task, route.pollHeader))
}

async function cancel(call: Call, _route: Route, route: TaskRoute): Promise<void> {
  const entry = await find(call, route)
  const cancelled = await call.kernel.need(TASKS).cancel(entry)
  if (cancelled === undefined) throw presenterOf(route.kind).unknown(entry.task.id)
  call.answer(200, presenterOf(route.kind).record(cancelled.task, await viewFor(call, route.kind)))
}

async function remove(call: Call, _route: Route, route: TaskRoute): Promise<void> {
  const entry = await find(call, route)
  const removed = await call.kernel.need(TASKS).remove(entry)
  if (removed === undefined) throw presenterOf(route.kind).unknown(entry.task.id)
  call.answer(200, presenterOf(route.kind).deleted(removed.task))
}

const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

async function list(call: Call, _route: Route, { kind }: TaskRoute): Promise<void> {
  const query = (name: string): string | undefined => call.query?.get(name) || undefined
  const given = query('limit') ?? String(DEFAULT_LIMIT)
  if (!/^\d{1,9}$/.test(given)) throw refused('limit', `'limit' must be a whole number from 0 to ${MAX_LIMIT}.`)
  const limit = Number(given)
  const order = query('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw refused('order', "'order' must be asc or desc.")
  const { repository } = call.kernel.need(TASKS)
  const owner = ownerOf(call)
  const cursor = query('after')
  const after = cursor === undefined ? undefined : await afterTask(repository, { kind: kind.name, owner, id: cursor })
  if (cursor !== undefined && after === undefined)
    throw refused('after', "'after' is not the id of a task in this list.")
  const page = await repository.list(kind.name, owner, {
    order: order === 'asc' ? 'ascending' : 'descending',
    limit: Math.min(limit, MAX_LIMIT),
    ...(after === undefined ? {} : { after }),
  })
  const tasks = page.entries.map(({ task }) => task)
  call.answer(200, presenterOf(kind).list(tasks, page.more, await viewFor(call, kind)))
}

/** A task deleted since the last page still has its position. */
async function afterTask(
  repository: TaskRepository,
  task: Pick<Task, 'kind' | 'owner' | 'id'>,
): Promise<Range['after'] | undefined> {
  const { kind, owner, id: key } = task
  const known = (await repository.findWithDeleted(kind, owner, key))?.record
  const found = known ?? (await positionOf(repository.store, positionPlace(task)))
  return found && { created: found.created, key }
}

/** The caller's tasks that the body names; unknown ids are left out. */
async function select(call: Call, route: Route, { kind, member = '' }: TaskRoute): Promise<void> {
  const body = await readRequest(call, route)
  const isKnown = (name: string): boolean => name === member
  const named = body.type === 'bytes' ? (await documentOfBody(call, body, { isKnown }))[member] : undefined
  const ids = new Set(Array.isArray(named) ? (named as readonly Json[]).map(String) : [])
  if (ids.size > MAX_LIMIT) throw refused(member, `'${member}' must have at most ${MAX_LIMIT} ids.`)
  const { repository } = call.kernel.need(TASKS)
  const found = await Promise.all([...ids].map(id => repository.find(kind.name, ownerOf(call), id)))
  const tasks = found.flatMap(entry => entry?.task ?? [])
  call.answer(200, presenterOf(kind).list(tasks, false, await viewFor(call, kind)))
}

/** Asks the upstream for the seed of a task. The gateway does not store it. */
async function seed(call: Call, _route: Route, route: TaskRoute): Promise<void> {
  const { task } = await find(call, route)
  const generation = generationOf(call.kernel, task)
  const target = targetOf(generation.plan, task)
  const seedCall = target?.calls.seed
  if (target === undefined || seedCall === undefined || task.upstreamId === undefined) {
    throw new GatewayError('not_found', 'The seed of this task is unknown.')
  }
  call.work = DETACHED_WORK
  const { watchCall, observeTask } = call.kernel
  generation.lease()
  const answer = await callUpstream({ generation, watchCall, observeTask }, task, target, 'seed')
    .catch(reasonOf)
    .finally(() => generation.release())
  if (answer === undefined) return
  if (answer.status < 200 || answer.status >= 300) throw errorOfStatus(answer.status, answer.headers)
  const document = documentOf(answer, seedCall)
  const { secrets } = generation.reach(target.upstream)
  const text = JSON.stringify(document)
  if (!isObject(document) || secrets.some(secret => text.includes(secret))) {
    throw new GatewayError('bad_upstream_response', 'The upstream did not return the seed.', { phase: 'body' })
  }
  call.answer(200, document)
}

function reasonOf(error: unknown): never {
  throw error instanceof NoResponseError ? error.error : error
}

async function fetchContent(call: Call, route: Route, task: TaskRoute): Promise<void> {
  await readRequest(call, route)
  const isLink = task.signed && call.caller === undefined
  await content(call, isLink ? await findLinked(call, task) : await find(call, task), task)
}

/** The task that a signed link leads to. The signature is checked before the store is read. */
async function findLinked(call: Call, { kind, parameter = '' }: TaskRoute): Promise<TaskEntry> {
  const query = (name: string): string => call.query?.get(name) ?? ''
  const id = call.params[parameter] ?? ''
  const expires = /^\d{1,12}$/.test(query('expires')) ? Number(query('expires')) : 0
  const { repository, links } = call.kernel.need(TASKS)
  const signer = await links.signer()
  const owner = signer.owner(query('signature'), { id, variant: query('variant') || defaultVariantOf(kind), expires })
  if (owner === undefined) throw new GatewayError('unauthenticated', 'The signature of this link is not valid.')
  if (expires * 1000 <= Date.now()) throw new GatewayError('gone', 'This link has expired.')
  const entry = await repository.find(kind.name, owner, id)
  if (entry === undefined) throw presenterOf(kind).unknown(id)
  call.model = entry.task.model
  return entry
}

/** The record's other inputs: how its kind is declared, and the origin of the links in it. */
function cacheKeyOf(call: Call, kind: TaskKind): string {
  const { plan, number } = call.generation
  return signedPath(plan, kind.name) === undefined ? `${number}` : `${number} ${originOf(call)}`
}

/** The view for this client. */
function viewFor(call: Call, kind: TaskKind): Promise<View> {
  return call.kernel.need(TASKS).view({ plan: call.generation.plan, kind: kind.name, origin: originOf(call) })
}

/** The caller's task that the path names. Ids of other callers' tasks and unknown ids are answered alike. */
async function find(call: Call, { kind, parameter = '' }: TaskRoute): Promise<TaskEntry> {
  const id = call.params[parameter] ?? ''
  const entry = await call.kernel.need(TASKS).repository.find(kind.name, ownerOf(call), id)
  if (entry === undefined) throw presenterOf(kind).unknown(id)
  call.model = entry.task.model
  return entry
}

function ownerOf(call: Call): string {
  return call.key
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param })
}
