import { isObject, parseJson } from '../../core/json.js'
import { decodeSse } from '../../wire/sse.js'

const ERROR_WORD = '"error"'
/** A search stops at each character that is the first one of what it is for: in JSON, quotes are many times as frequent. */
const ERROR_ENDING = Buffer.from('rror"')
/** The last event of a stateful response that failed. */
const FAILED_EVENT = 'response.failed'
/** How many of the last events are examined: usage and the mark that ends a stream follow an error. */
const MAX_LAST_EVENTS = 4

/**
 * Whether one of the last whole events reports an error behind other members, as some servers put it into a chunk like
 * any other. `tail` may begin anywhere in an event. One search where there is none: it is asked once a stream.
 */
export function endsInError(tail: Buffer): boolean {
  if (!tail.includes(ERROR_ENDING) || !tail.includes(ERROR_WORD)) return false
  return decodeSse(tail)
    .slice(-MAX_LAST_EVENTS)
    .some(({ data }) => data.includes(ERROR_WORD) && reportsError(parseJson(data)))
}

/** Whether the last of some whole events says that the response failed: not every server sends an error event before it. */
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

/** Whether a document holds an error that says something. */
function reportsError(document: unknown): boolean {
  if (!isObject(document)) return false
  const { error } = document
  return isObject(error) ? Object.keys(error).length > 0 : typeof error === 'string' && error !== ''
}
