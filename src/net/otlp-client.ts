import { Agent as HttpAgent, type IncomingMessage, request as openHttp } from 'node:http'
import { Agent as HttpsAgent, request as openHttps } from 'node:https'
import { retryAfter } from '../core/retry-after.js'
import type { Secret } from '../core/secret.js'
import { createConnection, type Egress } from './egress.js'

/** Where a collector is. Durations in milliseconds. */
interface OtlpPlace {
  /** Without a slash at its end. */
  readonly endpoint: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, Secret>>
  /** For one request. */
  readonly timeout: number
}

/** How a request to the collector ended. */
export interface Posted {
  /** `again`: the same may be sent later. */
  readonly outcome: 'ok' | 'again' | 'refused'
  /** How long the collector asks to wait, milliseconds. */
  readonly waitMs?: number
  readonly status?: number
  /** Records that a collector refused of those that it got (`partial_success`). */
  readonly rejected?: number
  /** Why it failed; never what the collector said. */
  readonly why?: string
}

/** Longest wait that a collector may ask for. */
const MAX_WAIT_MS = 60_000
/** Most of an answer that is read. */
const MAX_ANSWER_BYTES = 4096
/** Connections to the collector for one signal. */
const MAX_SOCKETS = 2
/** What may be sent again. Source: OTLP, "Failures" of OTLP/HTTP. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** How a connection ends that the other side has closed. */
const LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/** Sends messages of OTLP/HTTP in protobuf (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
export class OtlpClient {
  readonly #place: OtlpPlace
  readonly #rejectedOf: (answer: Uint8Array) => number
  readonly #agent: HttpAgent
  #isClosed = false

  /** `rejectedOf`: what {@link Posted.rejected} is of an answer in protobuf. */
  constructor(place: OtlpPlace, egress: Egress, rejectedOf: (answer: Uint8Array) => number) {
    this.#place = place
    this.#rejectedOf = rejectedOf
    const isSecure = place.endpoint.startsWith('https:')
    this.#agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: MAX_SOCKETS })
    this.#agent.createConnection = createConnection(egress, new URL(place.endpoint), place.timeout, 'beside') as never
  }

  /** Never rejects. `path`: `/v1/traces`. */
  post(path: string, body: readonly Uint8Array[]): Promise<Posted> {
    if (this.#isClosed) return Promise.resolve({ outcome: 'again', why: 'closed' })
    return this.#ask(path, body).catch((cause: Error) => ({ outcome: 'refused', why: reasonOf(cause) }))
  }

  /** Rejects where Node does not even begin: its header has characters that HTTP does not allow. */
  #ask(path: string, body: readonly Uint8Array[]): Promise<Posted> {
    const { endpoint, headers, timeout } = this.#place
    const open = endpoint.startsWith('https:') ? openHttps : openHttp
    return new Promise(resolve => {
      const own = Object.entries(headers).map(([name, value]) => [name, value.reveal()] as const)
      const request = open(`${endpoint}${path}`, {
        method: 'POST',
        agent: this.#agent,
        headers: {
          'user-agent': 'model-gateway',
          ...Object.fromEntries(own),
          'content-type': 'application/x-protobuf',
          'content-length': lengthOf(body),
        },
      })
      const timer = setTimeout(() => request.destroy(new Error('no answer in time')), timeout).unref()
      const end = (posted: Posted): void => {
        clearTimeout(timer)
        resolve(posted)
      }
      request.on('error', (cause: Error) => {
        // The collector closed a connection that was idle just when it was taken again; the agent has dropped it.
        const why = reasonOf(cause)
        if (request.reusedSocket && LOST.has(why) && !this.#isClosed) {
          clearTimeout(timer)
          resolve(this.#ask(path, body))
        } else end({ outcome: 'again', why })
      })
      request.on('response', answer => {
        answer.on('error', cause => end({ outcome: 'again', why: reasonOf(cause) }))
        const pieces: Buffer[] = []
        let length = 0
        answer.on('data', (piece: Buffer) => {
          if (length < MAX_ANSWER_BYTES) pieces.push(piece.subarray(0, MAX_ANSWER_BYTES - length))
          length += piece.length
        })
        answer.on('end', () => end(postedOf(answer, this.#rejectedIn(answer, Buffer.concat(pieces)))))
      })
      for (const piece of body) request.write(piece)
      request.end()
    })
  }

  #rejectedIn({ headers }: IncomingMessage, body: Uint8Array): number {
    return headers['content-type']?.startsWith('application/x-protobuf') ? this.#rejectedOf(body) : 0
  }

  /** What is under way fails. */
  close(): void {
    this.#isClosed = true
    this.#agent.destroy()
  }
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  let length = 0
  for (const piece of pieces) length += piece.length
  return length
}

function postedOf({ statusCode: status = 0, headers }: IncomingMessage, rejected: number): Posted {
  if (status >= 200 && status < 300) return { outcome: 'ok', status, ...(rejected > 0 ? { rejected } : {}) }
  const why = `status ${status}`
  if (!RETRYABLE.has(status)) return { outcome: 'refused', status, why }
  const wait = retryAfter(headers)
  return { outcome: 'again', status, why, ...(wait === undefined ? {} : { waitMs: Math.min(wait, MAX_WAIT_MS) }) }
}

function reasonOf(cause: Error): string {
  return 'code' in cause ? String(cause.code) : cause.message
}
