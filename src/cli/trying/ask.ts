import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { CommandError, EXIT } from '../io.js'
import type { Target } from './target.js'

/** Characters of an error that is not JSON. */
const MAX_SHOWN_CHARS = 300

/** Sends a request to the gateway. Throws {@link CommandError} with what it says, if that is an error. */
export async function ask({ origin, key }: Target, path: string, body: JsonObject | FormData): Promise<Response> {
  const isForm = body instanceof FormData
  const answer = await fetch(origin + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      connection: 'close',
      ...(isForm ? {} : { 'content-type': 'application/json' }),
    },
    body: isForm ? body : JSON.stringify(body),
  }).catch(error => {
    const cause = error instanceof Error ? (error.cause ?? error) : error
    const reason = cause instanceof Error ? cause.message || cause.name : cause
    throw new CommandError(`${origin} cannot be reached (${reason}); does the gateway run?`, EXIT.failed)
  })
  if (answer.ok) return answer
  throw new CommandError(`${answer.status}: ${messageOf(await answer.text())}`, EXIT.failed)
}

function messageOf(text: string): string {
  try {
    return errorMessage(JSON.parse(text) as Json) ?? text.slice(0, MAX_SHOWN_CHARS)
  } catch {
    return text.slice(0, MAX_SHOWN_CHARS)
  }
}

/** The message of an error object; undefined where the value is none. */
export function errorMessage(value: Json): string | undefined {
  if (!isObject(value) || !isObject(value.error)) return undefined
  return typeof value.error.message === 'string' ? value.error.message : JSON.stringify(value.error)
}

/** What translation left out. */
export function droppedBy(answer: Response): string | undefined {
  return answer.headers.get('x-gateway-dropped') ?? undefined
}
