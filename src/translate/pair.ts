import { randomUUID } from 'node:crypto'
import type {
  AnswerContext,
  Codec,
  EditCodec,
  EmbedCodec,
  HearCodec,
  ImageCodec,
  RerankCodec,
  SpeakCodec,
} from '../core/codec.js'
import type { Exchange, Translation } from '../core/plan.js'
import { CountTranslator } from './count.js'
import type { DecodedRequest } from './decode.js'
import { TextPair } from './text.js'
import type { Translator } from './translator.js'
import { WholeTranslator } from './whole.js'

/** Pairs the codecs of an exchange for one request. `strict`: nothing of it may be left out. `id`: of the answer. */
export function translatorOf(
  decoded: DecodedRequest,
  exchange: Exchange,
  translation: Translation,
  strict: boolean,
  { newId = randomId, id }: Partial<Pick<AnswerContext, 'newId' | 'id'>> = {},
): Translator {
  const { server, client } = translation
  if ((server.operation === 'text' || server.operation === 'moderate') && client.operation === 'text') {
    return new TextPair(decoded, exchange, translation, server, client, strict, { newId, id })
  }
  if (isWhole(server) && isWhole(client) && server.operation === client.operation) {
    return new WholeTranslator(decoded, exchange, translation, server, client, strict, newId)
  }
  if (server.operation === 'count' && client.operation === 'count') {
    return new CountTranslator(decoded, exchange, translation, server, client)
  }
  throw new Error(`${server.protocol} and ${client.protocol} are codecs of two operations`)
}

type WholeCodec = EmbedCodec | RerankCodec | ImageCodec | EditCodec | SpeakCodec | HearCodec

const WHOLE: ReadonlySet<Codec['operation']> = new Set([
  ...(['embed', 'rerank', 'image', 'edit', 'speak', 'transcribe', 'translate'] as const),
])

function isWhole(codec: Codec): codec is WholeCodec {
  return WHOLE.has(codec.operation)
}

function randomId(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '')
}
