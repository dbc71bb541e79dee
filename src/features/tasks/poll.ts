import type { TaskTarget } from '../../core/plan.js'
import { retryAfter } from '../../core/retry-after.js'
import { NoResponseError, type UpstreamResponse } from '../../kernel/http-call.js'
import { cleaned } from './cleaned.js'
import type { TaskAsker } from './host.js'
import { type Reading, readAnswer } from './reading.js'
import type { Task } from './record.js'
import type { Results } from './results.js'
import { applyFailedPoll, applyUpstreamStatus, type Failure } from './transition.js'
import { callUpstream, documentOf, hasOtherCredential } from './upstream.js'

/** The result of a poll. */
interface Polled {
  readonly task: Task
  /** How long the upstream asks to wait, milliseconds. */
  readonly wait: number | undefined
  /** The upstream refused the gateway's own credential. */
  readonly refused: boolean
}

/**
 * Asks the upstream for a task's status. Clients never see a failed poll: before the deadline, only a row of refusals that
 * say that there is no such task ends it.
 */
export async function poll(caller: TaskAsker, task: Task, target: TaskTarget, results: Results): Promise<Polled> {
  const { generation } = caller
  const { shape, calls } = target
  const fault = (miss: Failure | undefined, answer?: UpstreamResponse): Polled => ({
    task: applyFailedPoll(task, miss, shape, Date.now()),
    wait: answer && retryAfter(answer.headers),
    refused: answer !== undefined && (answer.status === 401 || answer.status === 403),
  })
  const lost = hasOtherCredential(task, target) ? 'credential_changed' : 'task_lost'
  const answer = await quiet(callUpstream(caller, task, target, 'retrieve'))
  if (calls.retrieve === undefined) return fault('target_gone')
  if (answer === 'too large') return fault('result_too_large')
  if (answer === undefined) return fault(undefined)
  if (answer.status < 200 || answer.status >= 300) return fault(isRefusal(answer) ? lost : undefined, answer)
  const document = documentOf(answer, calls.retrieve)
  // While they have no news, some upstreams send an empty body.
  if (document === undefined && answer.body.length > 0) return fault(undefined, answer)
  const said = cleaned(readAnswer(document, shape), generation, target)
  const reading = await results.keep(task, said, shape)
  if (reading === undefined) {
    const { task: unheard, ...rest } = fault(undefined, answer)
    return { task: { ...unheard, unkept: true }, ...rest }
  }
  const proof = needsProof(reading, target) ? await prove(caller, task, target) : presumed(target)
  if (proof === 'missing') return fault('no_artifact', answer)
  if (proof === 'unknown') return fault(undefined, answer)
  const proved = proof === 'there' || reading.artifacts.length > 0 || reading.proved
  return {
    task: applyUpstreamStatus(task, reading, shape, Date.now(), proved),
    wait: retryAfter(answer.headers),
    refused: false,
  }
}

/** Undefined if there is no answer. */
async function quiet(
  asking: Promise<UpstreamResponse | undefined>,
): Promise<UpstreamResponse | 'too large' | undefined> {
  try {
    return await asking
  } catch (error) {
    if (error instanceof NoResponseError) return error.error.details.limit === 'response' ? 'too large' : undefined
    throw error
  }
}

/** Whether the status says that there is no such task, rather than that the upstream cannot answer now. */
function isRefusal({ status }: UpstreamResponse): boolean {
  return status >= 400 && status < 500 && !TRANSIENT_STATUSES.has(status)
}

/** Temporary refusals: they concern the credential, the rate or the time it took. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([401, 403, 407, 408, 409, 425, 429])

/** A result that has a content call exists when that call finds it, no matter what the state says. */
function needsProof({ state, artifacts, error }: Reading, { calls }: TaskTarget): boolean {
  return state === 'succeeded' && error === undefined && artifacts.length === 0 && calls.content !== undefined
}

/** Upstreams that declare neither a result's place nor a content call: there is nothing to check. */
function presumed({ shape, calls }: TaskTarget): 'there' | 'none' {
  return shape.result.size === 0 && calls.content === undefined ? 'there' : 'none'
}

/** Statuses by which content is elsewhere; the content route follows them. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

async function prove(caller: TaskAsker, task: Task, target: TaskTarget): Promise<'there' | 'missing' | 'unknown'> {
  const answer = await quiet(callUpstream(caller, task, target, 'content', ['range', 'bytes=0-0']))
  if (answer === undefined || answer === 'too large' || answer.status >= 500 || TRANSIENT_STATUSES.has(answer.status))
    return 'unknown'
  if (REDIRECTS.has(answer.status)) return typeof answer.headers.location === 'string' ? 'there' : 'missing'
  // The first byte cannot be had: the upstream rejects ranges, or the content is empty (a length of 0).
  if (answer.status === 416) return /\*\/0+$/.test(String(answer.headers['content-range'] ?? '')) ? 'missing' : 'there'
  if (answer.status >= 300) return 'missing'
  const type = String(answer.headers['content-type'] ?? '').toLowerCase()
  return type.includes('json') || type.startsWith('text/') ? 'missing' : 'there'
}
