import { isObject, type Json } from '../../core/json.js'
import { malformedAnswer } from '../answer-document.js'
import type { Source } from './relay.js'

/** No error is longer, bytes. */
const MAX_ERROR_BYTES = 16 * 1024

/** The status of an error that names none. */
const BAD_GATEWAY = 502

/**
 * The status of an upstream's error that arrived as JSON with a success status: some servers pass the errors of their
 * own upstreams like this. It is the status that the error names, or 502. As in event streams, an error is a document
 * that begins with a non-empty `error`, or is of type `error`. Undefined for other documents: those are answers, and
 * a failed response has its `error` further back.
 */
export function statusOfError(document: unknown): number | undefined {
  if (!isObject(document)) return undefined
  const { error } = document
  if (!isObject(error) && (typeof error !== 'string' || error === '')) return undefined
  const [first] = Object.keys(document)
  if (first !== 'error' && (first !== 'type' || document.type !== 'error')) return undefined
  const statuses = isObject(error) ? [error.code, error.status_code, error.status] : []
  return statuses.find(isErrorStatus) ?? BAD_GATEWAY
}

/** An object whose first key is plain, and neither of those that begin an error. */
const NO_ERROR = /^[ \t\r\n]*\{[ \t\r\n]*"(?!error"|type")\w+"/

/** Whether {@link statusOfError} may find an error in a JSON text: cheap, before it is parsed. */
export function mayBeError(text: string): boolean {
  return !NO_ERROR.test(text)
}

function isErrorStatus(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value < 600
}

/** The whole answer of an upstream whose client has gone is charged, unless it is an error in spite of its status, or not JSON. */
export function endDrained(attempt: Source, pieces: readonly Buffer[]): void {
  const size = pieces.reduce((sum, { length }) => sum + length, 0)
  const text = size > MAX_ERROR_BYTES ? undefined : Buffer.concat(pieces).toString('latin1')
  if (text === undefined || isAnswer(text)) attempt.complete(true)
  else attempt.failed('bad_response', malformedAnswer('It is an error, or not JSON.'))
}

function isAnswer(text: string): boolean {
  try {
    return statusOfError(JSON.parse(text)) === undefined
  } catch {
    return false
  }
}
