import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import { CommandError, EXIT } from '../io.js'
import { readAll } from '../read-all.js'
import type { Target } from './target.js'

/** Characters of an error that is not JSON. */
const MAX_SHOWN_CHARS = 300

/** A model of a gateway, and what it is asked. */
export interface Asked {
  readonly target: Target
  readonly model: string
  readonly text: string
}

/** Sends a request to the gateway: GET without a body. Throws {@link CommandError} with what it says, if that is an error. */
export async function ask({ origin, key }: Target, path: string, body?: JsonObject | FormData): Promise<Response> {
  const isJson = body !== undefined && !(body instanceof FormData)
  const answer = await fetch(origin + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(isJson && { 'content-type': 'application/json' }),
    },
    body: isJson ? JSON.stringify(body) : (body ?? null),
  }).catch(error => {
    const cause = error instanceof Error ? (error.cause ?? error) : error
    const reason = cause instanceof Error ? cause.message || cause.name : cause
    throw new CommandError(`${origin} cannot be reached (${reason}); does the gateway run?`, EXIT.failed)
  })
  if (answer.ok) return answer
  throw new CommandError(`${answer.status}: ${messageOf(await answer.text())}`, EXIT.failed)
}

/** Longest document that is read. */
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024

/** Sends a request whose answer is a JSON object. */
export async function askObject(target: Target, path: string, body?: JsonObject | FormData): Promise<JsonObject> {
  const { body: stream } = await ask(target, path, body)
  const tooLarge = `the answer is larger than ${MAX_DOCUMENT_BYTES} bytes`
  const bytes = await readAll((stream ?? []) as AsyncIterable<Uint8Array>, MAX_DOCUMENT_BYTES, tooLarge)
  const document = parseJson(bytes.toString('utf8')) ?? null
  if (!isObject(document)) throw new CommandError('the answer is not a JSON object', EXIT.failed)
  return document
}

function messageOf(text: string): string {
  try {
    return errorMessage(JSON.parse(text) as Json) ?? text.slice(0, MAX_SHOWN_CHARS)
  } catch {
    return text.slice(0, MAX_SHOWN_CHARS)
  }
}

/** The message of an error object; undefined where the value is something else. */
export function errorMessage(value: Json): string | undefined {
  if (!isObject(value) || !isObject(value.error)) return undefined
  return typeof value.error.message === 'string' ? value.error.message : JSON.stringify(value.error)
}

/** What translation left out. */
export function droppedBy(answer: Response): string | undefined {
  return answer.headers.get('x-gateway-dropped') ?? undefined
}
