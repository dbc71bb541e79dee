import { GatewayError } from '../../core/errors.js'
import type { RetryCondition } from '../../core/limits.js'
import type { Exchange } from '../../core/plan.js'
import { retryAfter } from '../../core/retry-after.js'
import { TASK_BUSY } from '../../core/task.js'
import type { Call } from '../../kernel/call.js'
import type { UpstreamResponse } from '../../kernel/http-call.js'
import { passAnswer, presentable } from '../../kernel/passed-refusal.js'
import { responseHeaders } from '../../kernel/response-headers.js'
import { cleanedWords } from '../../kernel/translate/words.js'
import type { Verdict } from './reading.js'

/** No task was begun. */
export interface Refused {
  readonly type: 'refused'
  readonly error: GatewayError
  readonly answer?: UpstreamResponse
  /** The body says so, with any status. */
  readonly verdict?: true
  /** The condition under which another upstream may be tried; absent if none may. */
  readonly condition?: RetryCondition
}

/** Answers why the task was not begun: in the upstream's words, if these can be shown. */
export function refuse(call: Call, exchanges: readonly Exchange[], { error, answer, verdict }: Refused): void {
  const exchange = exchanges.find(one => one.upstream.name === call.attempts.at(-1)?.upstream)
  if (error.code === 'upstream_auth') call.kernel.onRefusedCredential(exchange?.upstream.name)
  if (
    answer === undefined ||
    exchange === undefined ||
    error.code === 'upstream_auth' ||
    (answer.status < 400 && verdict !== true)
  ) {
    call.fail(dearly(error))
    return
  }
  const headers = responseHeaders(answer.headers, exchange)
  // Clients' libraries retry server errors, and the upstream may have begun the task.
  if (answer.status >= 500 && !TASK_BUSY.has(answer.status)) headers.push(...NO_RETRY)
  if (!presentable(answer.body, call, exchange)) call.fail(answer.status >= 500 ? dearly(error) : error)
  else passAnswer(call, { status: answer.status, headers, body: answer.body }, error)
}

export const NOTHING_TAKEN = 'The upstream did not accept the task.'

/** The refusal of an upstream that rejected a task with a success status. */
export function declined(
  call: Call,
  { code: familyCode, message, busy }: Verdict,
  answer: UpstreamResponse,
  exchange: Exchange,
): Refused {
  const why = cleanedWords(message, { call, exchange }) ?? NOTHING_TAKEN
  const error = busy
    ? new GatewayError('rate_limited', why, { phase: 'verdict', familyCode, retryAfter: retryAfter(answer.headers) })
    : new GatewayError('upstream_rejected', why, { phase: 'verdict', familyCode, status: answer.status })
  return {
    type: 'refused',
    error,
    answer: { ...answer, status: error.status },
    verdict: true,
    ...(busy && { condition: 429 }),
  }
}

const NO_RETRY = ['x-should-retry', 'false']

/** An error that clients' libraries should not retry by themselves, since the task might be begun and charged twice. */
function dearly(error: GatewayError): GatewayError {
  if (error.status < 500 || error.code === 'unavailable' || error.code === 'upstream_unavailable') return error
  return new GatewayError(error.code, error.message, { ...error.details, headers: NO_RETRY })
}
