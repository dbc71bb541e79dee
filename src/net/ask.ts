import { type IncomingHttpHeaders, request as openHttp } from 'node:http'
import { request as openHttps } from 'node:https'
import { createConnection, type Egress } from './egress.js'

/** Largest answer where nothing else is said, bytes. */
const MAX_ANSWER_BYTES = 256 * 1024

export interface Question {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly bytes: Buffer
}

/**
 * Sends one small request on a connection of its own, such as one for a token. Redirects are not followed. Rejects if there is no
 * whole answer in time, or a large one.
 */
export function ask(
  { url, method, headers, body }: Question,
  timeoutMs: number,
  egress: Egress | undefined,
  mostBytes = MAX_ANSWER_BYTES,
): Promise<Answer> {
  const address = new URL(url)
  const open = address.protocol === 'https:' ? openHttps : openHttp
  // Beside an agent, Node does not look at `createConnection`.
  const way = egress
    ? { createConnection: createConnection(egress, address, timeoutMs, 'beside') as never }
    : { agent: false as const }
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const request = open(address, { method, headers: { ...headers, ...length }, ...way })
    const timer = setTimeout(() => request.destroy(new Error('no answer in time')), timeoutMs)
    const fail = (cause: Error): void => {
      clearTimeout(timer)
      reject(cause)
    }
    request.on('error', fail)
    request.on('response', answer => {
      const chunks: Buffer[] = []
      let size = 0
      answer.on('error', fail)
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length
        chunks.push(chunk)
        if (size > mostBytes) request.destroy(new Error(`the answer has more than ${mostBytes} bytes`))
      })
      answer.on('end', () => {
        clearTimeout(timer)
        const bytes = Buffer.concat(chunks)
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: bytes.toString('utf8'), bytes })
      })
    })
    request.end(body)
  })
}
