import { estimate } from '../../codecs/index.js'
import type { JsonObject } from '../../core/json.js'
import type { Exchange, Plan, Translation } from '../../core/plan.js'
import type { MediaKind } from '../../core/text.js'
import { decodeAlone } from '../../translate/decode.js'
import { type Fetched, notFetched, type RemotePart, wantedBytes, withFetched } from '../../translate/media.js'
import { translatorOf } from '../../translate/pair.js'
import type { Translator } from '../../translate/translator.js'
import { asBuffer } from '../../wire/bytes.js'
import type { ReadRequest } from './read-request.js'

/** A request in the upstream's protocol. */
export interface TranslatedRequest {
  readonly translator: Translator
  readonly document: JsonObject
  /** URLs whose content is sent in their place. */
  readonly fetched: readonly string[]
}

/** Takes the steps by which the kernel translates a request. Nothing is fetched. Throws `GatewayError` where it is refused. */
export function translateRequest(
  exchange: Exchange,
  translation: Translation,
  { body, model, stream }: ReadRequest,
  media: Plan['media'],
): TranslatedRequest | undefined {
  if (body === undefined) return undefined
  const decoded = decodeAlone(translation.server, asBuffer(body), { model, stream })
  if (translation.client === estimate) return undefined
  const wanted = wantedBytes(decoded.request, translation)
  if (wanted[0] !== undefined && media.fetch === undefined) throw notFetched(wanted[0], translation)
  const request = wanted.length === 0 ? decoded.request : withFetched(decoded.request, wanted, unfetched)
  const translator = translatorOf({ ...decoded, request }, exchange, translation, translation.strict)
  return { translator, document: translator.encode(), fetched: wanted.map(({ source }) => source.url) }
}

/** Stands for content that only serving the request fetches. */
function unfetched({ source, kind, mime = DEFAULT_TYPES[kind] }: RemotePart): Fetched {
  return { kind, mime, source: { base64: `[content of ${source.url}]` } }
}

const DEFAULT_TYPES: Readonly<Record<MediaKind, string>> = {
  image: 'image/png',
  audio: 'audio/wav',
  video: 'video/mp4',
  document: 'application/pdf',
}
