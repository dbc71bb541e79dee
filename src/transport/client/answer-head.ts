import type { HttpParser } from '../llhttp.js'
import { type AnswerHeaders, TransportFault } from './handler.js'

/** How a body ends (RFC 9112 §6.3): not at all there, after so many bytes, with its last chunk, with the connection. */
type Framing = 'none' | 'length' | 'chunked' | 'until-close'

export interface AnswerHead {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly framing: Framing
  /** Of a body with a length. */
  readonly length: number
  /** How long the connection may then be idle, milliseconds; 0 where it is over with this answer. */
  readonly idleMs: number
}

/** How long idle connections stay open, milliseconds. */
export interface IdleTimes {
  /** Where the server names no time. */
  readonly usual: number
  /** The longest time that servers may ask for. */
  readonly most: number
}

export const IDLE_TIMES: IdleTimes = { usual: 15_000, most: 60_000 }
/** A server closes after the time that it names: we do before, so that no request meets a closing connection. */
const KEEP_ALIVE_MARGIN_MS = 2000

/** An object without a prototype: every name is only a name. */
const Plain = function Plain() {} as unknown as new () => AnswerHeaders
Plain.prototype = Object.create(null)

/** What the parser has read. Throws a {@link TransportFault} for heads that leave open where their body ends. */
export function answerHead(parser: HttpParser, method: string, idle: IdleTimes): AnswerHead {
  const { status, version } = parser
  const headers = recordOf(parser.headers)
  const coding = headers['transfer-encoding']
  const length = headers['content-length']
  if (version !== '1.1' && version !== '1.0') throw invalid(`version ${version}`)
  if (status < 100 || status > 599) throw invalid(`status ${status}`)
  if (coding !== undefined) checkCoding(coding, length)
  // llhttp has refused lists, signs and everything else that is not a digit.
  if (length !== undefined && String(length).length > 15) throw invalid('content-length')
  const declared = Number(length ?? 0)
  const hasNone = method === 'HEAD' || status < 200 || status === 204 || status === 304
  // A server that declares a body where none may be could send it later, as if it were the next answer.
  const isSure = parser.keepsAlive && !(hasNone && (coding !== undefined || declared > 0 || method === 'HEAD'))
  // An answer of HTTP/1.0 has no chunks: one that has them is the last one (RFC 9112 §6.1).
  const keeps = isSure && (coding === undefined || version === '1.1')
  const framing = hasNone ? 'none' : framingOf(coding !== undefined, length !== undefined)
  const idleMs = keeps && framing !== 'until-close' ? idleTime(headers['keep-alive'], idle) : 0
  return { status, headers, framing, length: declared, idleMs }
}

function framingOf(isChunked: boolean, hasLength: boolean): Framing {
  if (isChunked) return 'chunked'
  return hasLength ? 'length' : 'until-close'
}

/** Chunks alone: another coding would pass to the client as if it were the content. */
function checkCoding(coding: string | string[], length: unknown): void {
  if (length !== undefined) throw invalid('both content-length and transfer-encoding')
  if (typeof coding !== 'string' || coding.toLowerCase() !== 'chunked') throw invalid('transfer-encoding')
}

function recordOf(flat: readonly string[]): AnswerHeaders {
  const headers = new Plain()
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i] ?? ''
    const value = flat[i + 1] ?? ''
    const earlier = headers[name]
    if (earlier === undefined) headers[name] = value
    else if (typeof earlier === 'string') headers[name] = [earlier, value]
    else earlier.push(value)
  }
  return headers
}

/** By the server's hint `keep-alive: timeout=5`, in seconds. */
function idleTime(hint: string | string[] | undefined, { usual, most }: IdleTimes): number {
  const [, seconds] = /timeout=\s*(\d+)/i.exec(String(hint ?? '')) ?? []
  if (seconds === undefined) return usual
  return Math.max(0, Math.min(Number(seconds) * 1000 - KEEP_ALIVE_MARGIN_MS, most))
}

export function invalid(what: string): TransportFault {
  return new TransportFault('ANSWER_INVALID', `The upstream sent a malformed answer: ${what}.`)
}
