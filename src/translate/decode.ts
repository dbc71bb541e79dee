import { camelName } from '../codecs/native-casing.js'
import type { HearRequest, SpeakRequest } from '../core/audio.js'
import type { Codec, RequestHead } from '../core/codec.js'
import type { EmbedRequest } from '../core/embed.js'
import { GatewayError } from '../core/errors.js'
import { exactParser } from '../core/exact-json.js'
import type { EditRequest, ImageRequest } from '../core/image.js'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import type { RerankRequest } from '../core/rerank.js'
import type { TextRequest } from '../core/text.js'
import type { Recalled } from './seals.js'

/** The client's request, decoded once for all targets that it is translated to. */
export interface DecodedRequest {
  readonly body: JsonObject
  /** Bytes of the body, and of the conversation that it continues. */
  readonly size: number
  readonly request: TextRequest | EmbedRequest | RerankRequest | ImageRequest | EditRequest | SpeakRequest | HearRequest
  /** Number of items of earlier turns that precede the client's own. */
  readonly inherited: number
  /** Seals that return to the upstreams that made them, if the client's protocol has no field for them. */
  readonly recalled: Recalled
}

/** How a document is read. */
export interface Reading {
  /** Objects and lists of top-level members that it denies may be left empty. */
  readonly isKnown?: ((name: string) => boolean) | undefined
  /** Whether numbers keep their digits: see `parseExact`. */
  readonly exact?: boolean
}

/** How requests of a protocol are read. Text has arguments and schemas that must pass unchanged, and reranking has documents. */
export function readingOf(server: Codec): Reading {
  const { operation } = server
  return {
    isKnown: knownMembers(server),
    exact: operation === 'text' || operation === 'count' || operation === 'rerank',
  }
}

export function parserOf({ exact = false }: Reading): (text: string) => Json {
  return exact ? exactParser() : (JSON.parse as (text: string) => Json)
}

/**
 * Which members of a body a protocol's requests can have, by the codec's own table; undefined where it has none. Others
 * are left out in any case, so that there is no need to make objects of them.
 */
function knownMembers(codec: Codec): ((name: string) => boolean) | undefined {
  if (codec.operation === 'count') return undefined
  const found = KNOWN.get(codec)
  if (found !== undefined) return found
  const names = new Set(Object.keys(codec.server.fields).map(path => path.split(/[.[]/, 1)[0]))
  const isKnown = (name: string): boolean => names.has(name) || names.has(camelName(name))
  KNOWN.set(codec, isKnown)
  return isKnown
}

const KNOWN = new WeakMap<Codec, (name: string) => boolean>()

/** Parses a document in one step. Throws `SyntaxError`. */
export function parsedAtOnce(bytes: Buffer, reading: Reading): Json {
  return parserOf(reading)(bytes.toString('utf8'))
}

/** Throws `bad_request` for a body that is not an object. */
export function objectOf(body: Json): JsonObject {
  if (isObject(body)) return body
  throw new GatewayError('bad_request', 'The body must be a JSON object.')
}

const NOTHING: Recalled = new Map()

/** Decodes a request without its earlier turns and stored seals. Throws `bad_request` or `invalid_parameter`. */
export function decodeAlone(server: Codec, bytes: Buffer, head: RequestHead): DecodedRequest {
  const body = objectOf(parsedAtOnce(bytes, readingOf(server)))
  const request = server.server.decodeRequest(body, head)
  return { body, size: bytes.length, request, inherited: 0, recalled: NOTHING }
}
