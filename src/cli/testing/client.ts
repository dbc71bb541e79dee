import type { IncomingMessage } from 'node:http'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { WebSocket } from '../../net/framed-socket.js'
import { jsonOrText } from './scripted-upstreams.js'
import type { TestRequest } from './test-file.js'

/** How long a request may take, milliseconds of real time. */
const REQUEST_TIMEOUT_MS = 30_000
/** Most messages of a socket that are kept. */
const MAX_MESSAGES = 10_000

/** What a client got. */
export interface ClientAnswer {
  readonly status: number
  readonly headers: JsonObject
  readonly text: string
}

/** Sends a request of a test. `before`: the answers to those before it, which its path may name. */
export function sendRequest(
  request: TestRequest,
  origin: string,
  secret: string,
  before: readonly ClientAnswer[],
): Promise<ClientAnswer> {
  const [method = '', path = ''] = request.to.split(' ')
  const whole = { ...request, headers: { authorization: `Bearer ${secret}`, ...request.headers } }
  const target = filled(path, before)
  return method === 'WS' ? converse(whole, origin.replace(/^http/, 'ws') + target) : ask(whole, method, origin + target)
}

/** `{0.id}` is the member `id` of the first answer. */
function filled(path: string, before: readonly ClientAnswer[]): string {
  return path.replaceAll(/\{(\d+)\.([^}]+)\}/g, (_, at: string, member: string) => {
    const value = at === '' ? undefined : valueAt(jsonOrText(before[Number(at)]?.text ?? ''), member)
    if (value === undefined) throw new Error(`answer ${at} before the request has no ${member}`)
    return encodeURIComponent(String(value))
  })
}

/** A value by its dotted path; a name with dots in it is found, too. */
export function valueAt(value: Json | undefined, path: string): Json | undefined {
  if (isObject(value) && value[path] !== undefined) return value[path]
  const [first = '', ...rest] = path.split('.')
  const inner = Array.isArray(value) ? value[Number(first)] : isObject(value) ? value[first] : undefined
  return rest.length === 0 ? inner : valueAt(inner, rest.join('.'))
}

async function ask({ headers, body }: TestRequest, method: string, url: string): Promise<ClientAnswer> {
  const isJson = body !== undefined && typeof body !== 'string'
  const answer = await fetch(url, {
    method,
    headers: { ...(isJson ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : String(body) }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  })
  // A stream that breaks off is an answer, too.
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of answer.body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true })
  } catch (cause) {
    if (text === '') throw cause
  }
  return { status: answer.status, headers: Object.fromEntries(answer.headers), text }
}

/** A conversation on a WebSocket; its text is a list of what came. */
function converse({ headers, send = [], until }: TestRequest, url: string): Promise<ClientAnswer> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers: { ...headers }, handshakeTimeout: REQUEST_TIMEOUT_MS })
    const got: Json[] = []
    let head: JsonObject = {}
    const timer = setTimeout(() => socket.terminate(), REQUEST_TIMEOUT_MS)
    socket.on('upgrade', (answer: IncomingMessage) => {
      head = headersOf(answer)
    })
    socket.on('open', () => {
      for (const message of send) socket.send(typeof message === 'string' ? message : JSON.stringify(message))
    })
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      const message = isBinary ? data.toString('base64') : jsonOrText(data.toString('utf8'))
      if (got.length < MAX_MESSAGES) got.push(message)
      if (until === undefined || (isObject(message) && message.type === until)) socket.close(1000)
    })
    socket.on('unexpected-response', (_, answer: IncomingMessage) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => {
        clearTimeout(timer)
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: answer.statusCode ?? 0, headers: headersOf(answer), text })
      })
    })
    socket.on('error', error => {
      clearTimeout(timer)
      reject(error)
    })
    socket.on('close', () => {
      clearTimeout(timer)
      resolve({ status: 101, headers: head, text: JSON.stringify(got) })
    })
  })
}

function headersOf({ headers }: IncomingMessage): JsonObject {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
