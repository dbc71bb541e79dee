import { STATUS_CODES } from 'node:http'
import type { Peer, Script } from './raw-upstream.js'

type Fields = Readonly<Record<string, string | readonly string[]>>

export interface AnswerOptions {
  readonly status?: number
  readonly headers?: Fields
  /** Where the whole answer, head included, is cut into separate writes. */
  readonly cuts?: readonly number[]
}

/** A response head; framing headers are the caller's business. */
export function head(status: number, headers: Fields): string {
  const fields = Object.entries(headers).flatMap(([name, value]) => [value].flat().map(one => `${name}: ${one}\r\n`))
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${fields.join('')}\r\n`
}

/** Exactly these bytes, then the connection stays open for the next request. */
export function bytes(data: string | Uint8Array, cuts: readonly number[] = []): Script {
  return peer => peer.send(data, cuts)
}

/** A whole body with its length. */
export function body(data: string | Uint8Array, options: AnswerOptions = {}): Script {
  const content = Buffer.from(data)
  const fields = { 'content-type': 'application/json', ...options.headers, 'content-length': `${content.length}` }
  return bytes(Buffer.concat([Buffer.from(head(options.status ?? 200, fields), 'latin1'), content]), options.cuts)
}

export function json(value: unknown, options: AnswerOptions = {}): Script {
  return body(JSON.stringify(value), options)
}

export function chunk(data: string | Uint8Array): Buffer {
  const content = Buffer.from(data)
  return Buffer.concat([Buffer.from(`${content.length.toString(16)}\r\n`), content, Buffer.from('\r\n')])
}

export const LAST_CHUNK = '0\r\n\r\n'

export const STREAM_HEAD = {
  'content-type': 'text/event-stream; charset=utf-8',
  'transfer-encoding': 'chunked',
} as const

/** A stream of pieces, a chunk and a write each, ended well. */
export function stream(pieces: readonly (string | Uint8Array)[], options: AnswerOptions = {}): Script {
  return async peer => {
    await startStream(peer, options)
    for (const piece of pieces) await peer.send(chunk(piece))
    await peer.send(LAST_CHUNK)
  }
}

/** The head of a stream alone. */
export async function startStream(peer: Peer, options: AnswerOptions = {}): Promise<void> {
  await peer.send(head(options.status ?? 200, { ...STREAM_HEAD, ...options.headers }))
}

/** Pieces of a stream, then `last` instead of an end. */
export function brokenStream(pieces: readonly (string | Uint8Array)[], last: Script): Script {
  return async peer => {
    await startStream(peer)
    for (const piece of pieces) await peer.send(chunk(piece))
    await last(peer)
  }
}

/** Says nothing more, until the other side goes. */
export const hang: Script = peer => peer.gone()

export const reset: Script = peer => peer.reset()

export const finish: Script = peer => peer.finish()

/** One event of a chat stream. */
export function chatEvent(content: string): string {
  const choice = { index: 0, delta: { content }, finish_reason: null }
  return `data: ${JSON.stringify({ id: 'chatcmpl-test', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] })}\n\n`
}

export const DONE = 'data: [DONE]\n\n'

/** A whole chat answer, for tests that need any good one. */
export const CHAT_ANSWER = {
  id: 'chatcmpl-test',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
}
