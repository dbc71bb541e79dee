import { familyStatus } from '../../core/error-bodies.js'
import { GatewayError } from '../../core/errors.js'
import { retryAfter } from '../../core/retry-after.js'
import type { Source } from '../relay/relay.js'
import { cleanedWords, textContainsSecret } from './words.js'

/** Headers whose wait is a field of the error itself. */
const WAIT_HEADERS = new Set(['retry-after', 'retry-after-ms'])
/** Statuses for which a wait makes sense; some upstreams send one on successful answers, too. */
const STATUSES_WITH_WAIT = new Set([429, 503, 529])

/**
 * Maps an upstream's error to the client's error: with a cleaned message, the status that the client's family uses for
 * it, and the headers of the answer that advise the client. `headers` are those of a translated answer, as a flat
 * name, value list; they only matter if nothing was sent yet.
 */
export function mapUpstreamError(error: GatewayError, attempt: Source, headers: readonly string[] = []): GatewayError {
  if (error.code === 'upstream_auth' || error.code === 'internal') return error
  const { details } = error
  const { family } = attempt.call
  const status = familyStatus(error.status, family)
  const advice = adviceOf(headers, family === 'compatible' || family === 'messages')
  const message = cleanedWords(error.message, attempt) ?? 'The upstream failed.'
  const wait = details.retryAfter ?? (STATUSES_WITH_WAIT.has(status) ? waitOf(headers) : undefined)
  const isSame =
    message === error.message && status === error.status && advice.length === 0 && wait === details.retryAfter
  if (isSame && !isSecret(details.param, attempt) && !isSecret(details.familyCode, attempt)) return error
  const { param, familyCode, ...others } = details
  return new GatewayError(error.code, message, {
    ...others,
    status,
    retryAfter: wait,
    ...(param !== undefined && !isSecret(param, attempt) && { param }),
    ...(familyCode !== undefined && !isSecret(familyCode, attempt) && { familyCode }),
    ...(advice.length > 0 && { headers: [...(details.headers ?? []), ...advice] }),
  })
}

function waitOf(headers: readonly string[]): number | undefined {
  const waits: Record<string, string> = {}
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i], headers[i + 1]]
    if (WAIT_HEADERS.has(name)) waits[name] = value
  }
  return retryAfter(waits)
}

/** `obeys`: clients of the family follow `x-should-retry`. */
function adviceOf(headers: readonly string[], obeys: boolean): readonly string[] {
  const advice: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i], headers[i + 1]]
    if (!WAIT_HEADERS.has(name) && (obeys || name !== 'x-should-retry')) advice.push(name, value)
  }
  return advice
}

function isSecret(text: string | null | undefined, attempt: Source): boolean {
  return typeof text === 'string' && textContainsSecret(text, attempt)
}
