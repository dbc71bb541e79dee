import { isUtf8 } from 'node:buffer'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { type Json, parseJson } from '../../core/json.js'
import { isSecretQuery } from '../../core/recording.js'

/** A recorded exchange in the form in which it is played. */
export interface PlayedExchange {
  /** Where it is written, for messages. */
  readonly file: string
  readonly method: string
  readonly path: string
  /** JSON as such; else text; absent: none. */
  readonly body: Json | undefined
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** When the head came after the request, milliseconds. */
  readonly headAt: number
  readonly pieces: readonly PlayedPiece[]
  /** Of a WebSocket that was opened. Its `body` is the query of the handshake; undefined: that is not known, so any fits. */
  readonly session?: PlayedSession
}

export interface PlayedSession {
  /** Up to where the client closed, in the order in which they passed. */
  readonly frames: readonly PlayedFrame[]
  /** The upstream's connection broke off after the last frame. */
  readonly breaksOff: boolean
  /** Why frames after the last one are missing. */
  readonly cut?: string
}

/** A message, or a close frame of the upstream. */
export type PlayedFrame = { readonly at: number } & (
  | { readonly from: 'client'; readonly said: Json }
  | { readonly from: 'upstream'; readonly said: Json; readonly bytes: Buffer; readonly isBinary: boolean }
  | { readonly from: 'upstream'; readonly close: number; readonly reason: string }
)

export interface PlayedPiece {
  readonly at: number
  readonly bytes: Buffer
}

/** Largest body after it is decompressed. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024
/** Headers that belong to the connection, or to how a body was encoded. */
const OF_TRANSFER = /^(content-length|transfer-encoding|connection|keep-alive|content-encoding|date|trailer|upgrade)$/

/** The method of recorded handshakes of WebSockets. */
export const SOCKET_METHOD = 'WS'

/** Method and path; a recording may have no more of the address than these. */
export function placeOf(method: string, url: string): Pick<PlayedExchange, 'method' | 'path'> {
  return { method: method.toUpperCase(), path: new URL(url, 'http://recorded').pathname }
}

/** A body as it is compared. Parts of a form have a boundary that differs from request to request. */
export function comparable(text: string, contentType: string): Json | undefined {
  if (text === '') return undefined
  const document = parseJson(text)
  if (document !== undefined) return document
  const boundary = /boundary="?([^";]+)/.exec(contentType)?.[1]
  return boundary === undefined ? text : text.replaceAll(boundary, 'boundary')
}

/** A message as it is compared: JSON, else text, else base64. */
export function saidIn(bytes: Buffer): Json {
  if (!isUtf8(bytes)) return bytes.toString('base64')
  const text = bytes.toString('utf8')
  return parseJson(text) ?? text
}

/** The query of a handshake, in which sessions name their models, without credentials. */
export function queryOf(url: string): Json {
  const { searchParams } = new URL(url, 'http://recorded')
  return Object.fromEntries([...searchParams].filter(([name]) => !isSecretQuery(name)))
}

/** Headers of others: a name and one value, or a list of them. */
export function playedHeaders(headers: readonly (readonly [string, unknown])[]): PlayedExchange['headers'] {
  return headers.flatMap(([name, value]) => {
    const known = name.toLowerCase()
    const values = Array.isArray(value) ? value : [value]
    return OF_TRANSFER.test(known) ? [] : values.map(one => [known, oneLine(String(one))] as const)
  })
}

function oneLine(text: string): string {
  return text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, ' ')
}

/** A body as the upstream meant it: what is compressed is decompressed. */
export function decoded(bytes: Buffer, encoding: string): Buffer {
  const options = { maxOutputLength: MAX_DECODED_BYTES }
  try {
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gunzipSync(bytes, options)
    if (encoding === 'br') return brotliDecompressSync(bytes, options)
    if (encoding === 'deflate') return inflateSync(bytes, options)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw new Error('a body is too large')
    // Most recorders write the body as it is after decoding, and keep the header.
  }
  return bytes
}
