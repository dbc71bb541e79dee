import { isObject, parseJson } from '../../core/json.js'
import { decodeSse } from '../../wire/sse.js'

const ERROR_WORD = '"error"'
/** The search skips to the first character of what it looks for, and in JSON quotes are far more frequent than `r`. */
const ERROR_ENDING = Buffer.from('rror"')
/** The last event of a stateful response that failed. */
const FAILED_EVENT = 'response.failed'
/** How many of the last events are examined: after an error, usage and the stream's end mark may follow. */
const MAX_LAST_EVENTS = 4

/**
 * Whether one of the last whole events reports an error after other members, as some servers put it into a normal chunk.
 * `tail` may begin in the middle of an event. A tail without errors costs one search: this runs once per stream.
 */
export function endsInError(tail: Buffer): boolean {
  if (!tail.includes(ERROR_ENDING) || !tail.includes(ERROR_WORD)) return false
  return decodeSse(tail)
    .slice(-MAX_LAST_EVENTS)
    .some(({ data }) => data.includes(ERROR_WORD) && reportsError(parseJson(data)))
}

/** Whether the last of some whole events says that the response failed: some servers send no error event before it. */
export function reportsFailure(bytes: Buffer): boolean {
  if (!bytes.includes(FAILED_EVENT)) return false
  const event = parseJson(decodeSse(bytes).at(-1)?.data ?? '')
  return isObject(event) && event.type === FAILED_EVENT
}

/** The data of the event that reports the error, or of the last one. `bytes` are events, or such data alone. */
export function errorData(bytes: Uint8Array): string {
  const last = decodeSse(bytes).slice(-MAX_LAST_EVENTS).reverse()
  const found = last.find(({ data }) => data.includes(ERROR_WORD) || data.includes(FAILED_EVENT)) ?? last[0]
  return found?.data ?? Buffer.from(bytes).toString('utf8')
}

/** Whether a document contains a non-empty error. */
function reportsError(document: unknown): boolean {
  if (!isObject(document)) return false
  const { error } = document
  return isObject(error) ? Object.keys(error).length > 0 : typeof error === 'string' && error !== ''
}
