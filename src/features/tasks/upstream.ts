import { isBounded } from '../../codecs/read.js'
import { type Json, type JsonObject, parseJson } from '../../core/json.js'
import type { Plan, TaskCall, TaskTarget } from '../../core/plan.js'
import type { TaskCallName, TaskShape } from '../../core/task.js'
import type { Generation } from '../../kernel/generation.js'
import { send, type UpstreamResponse } from '../../kernel/http-call.js'
import type { UpstreamRequest } from '../../net/pools.js'
import { parseWithin } from '../../wire/json-cost.js'
import type { TaskAsker, TaskHost } from './host.js'
import type { Task } from './record.js'

/** The part of a lease that a call may take: a poll may make two. */
const ANSWER_SHARE = 1 / 3
/** Largest answer about a task, without an inline result, bytes. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
/** Most JSON values in an answer. */
const MAX_VALUES = 100_000

/** A task's target in the present configuration; undefined if its route or upstream is gone. */
export function targetOf(plan: Plan, task: Task): TaskTarget | undefined {
  if (task.target === undefined) return undefined
  const { upstream, credential } = task.target
  return plan.routes.find(route => route.id === task.route)?.task?.target(upstream, credential)
}

/** The generation to call the task's upstream in: the current one, unless only one that is tried or kept has that upstream. */
export function generationOf({ generation, ready }: Pick<TaskHost, 'generation' | 'ready'>, task: Task): Generation {
  return ready.find(({ plan }) => targetOf(plan, task) !== undefined) ?? generation
}

/** Whether the credential that began a task is gone, so that another one is used. */
export function hasOtherCredential({ target: begun }: Task, { upstream }: TaskTarget): boolean {
  return begun?.credential !== undefined && begun.credential !== upstream.credential
}

/** The variables of paths of calls about a task. */
export function variablesOf(task: Work, variant = ''): Readonly<Record<string, string>> {
  const id = task.upstreamId ?? ''
  return { task_id: id, id, model: task.target?.model ?? '', variant }
}

/** Calls the upstream about a task. A call with a body sends the id and the model, under the declared names. */
export async function callUpstream(
  { generation, watchCall, observeTask }: TaskAsker,
  task: Task,
  target: TaskTarget,
  name: TaskCallName,
  headers: readonly string[] = [],
): Promise<UpstreamResponse | undefined> {
  const call = target.calls[name]
  if (call === undefined) return undefined
  const { pool, headers: fixed } = generation.reach(target.upstream)
  const { queue, connect, first_byte } = target.timeouts
  const options = {
    key: task.owner,
    queue,
    connect,
    answer: Math.min(first_byte, generation.plan.tasks.lease * ANSWER_SHARE),
    maxBytes: name === 'content' ? 'head' : maxAnswerBytes(name === 'retrieve' ? target.shape : undefined),
  } as const
  const request = observed(requestFor(call, task, [...fixed, ...headers]), task, target, { generation, observeTask })
  if (task.trace === undefined) return send(pool, request, options)
  const { upstream } = target
  const { method } = request
  const { trace, id } = task
  const watched = watchCall({ name, task: id, trace, method, upstream: upstream.name, origin: upstream.origin })
  if (upstream.forward.request('traceparent')) request.headers.push('traceparent', watched.traceparent)
  try {
    const answer = await send(pool, request, options)
    watched.ended(answer.status)
    return answer
  } catch (error) {
    watched.ended(undefined)
    throw error
  }
}

/** Bytes. The answer may contain a result in base64, which is a third longer than the result. */
export function maxAnswerBytes(shape: Pick<TaskShape, 'maxInline'> | undefined): number {
  return MAX_ANSWER_BYTES + Math.ceil(((shape?.maxInline ?? 0) * 4) / 3)
}

/** Which work a call is about. */
type Work = Pick<Task, 'upstreamId' | 'target'>

/** The request, with who looks on at its exchange. */
export function observed(
  request: UpstreamRequest,
  { route, owner, model, target: begun }: Task,
  { upstream }: Pick<TaskTarget, 'upstream'>,
  { generation, observeTask }: Pick<TaskAsker, 'generation' | 'observeTask'>,
): UpstreamRequest {
  const target = begun?.model ?? model
  const observer = observeTask({ generation, upstream, route, key: owner, model, target, request })
  return observer === undefined ? request : { ...request, observer }
}

export function requestFor({ call, request }: TaskCall, task: Work, headers: string[]): UpstreamRequest {
  const path = call.target(variablesOf(task))
  const bodiless = call.method === 'GET' || call.method === 'HEAD' || call.method === 'DELETE'
  if (bodiless) return { method: call.method, path, headers: [...headers, 'accept', '*/*'], body: null }
  const own: JsonObject = { task_id: task.upstreamId ?? '', model: task.target?.model ?? '' }
  const bytes = Buffer.from(JSON.stringify(own))
  const body = request === undefined ? bytes : request(bytes)
  return { method: call.method, path, headers: [...headers, 'content-type', 'application/json'], body }
}

/** The JSON of an answer, after the declared changes; undefined if it is not JSON, or too deep or large. */
export function documentOf(answer: UpstreamResponse, call: Pick<TaskCall, 'response'>): Json | undefined {
  return readDocument(answer, call).document
}

/** The same, with the bytes that it was parsed from. */
export function readDocument(
  { body }: Pick<UpstreamResponse, 'body'>,
  { response }: Pick<TaskCall, 'response'>,
): ReadDocument {
  const plain = parseWithin(body, MAX_VALUES)
  if (plain === undefined || !isBounded(plain)) return { document: undefined, bytes: body }
  if (response === undefined) return { document: plain, bytes: body }
  try {
    const bytes = Buffer.from(response(body))
    return { document: parseJson(bytes.toString('utf8')), bytes }
  } catch {
    return { document: undefined, bytes: body }
  }
}

interface ReadDocument {
  readonly document: Json | undefined
  readonly bytes: Buffer
}
