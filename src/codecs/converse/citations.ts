import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { LongText } from '../../core/long-text.js'
import type { Citation } from '../../core/text.js'
import { quoteOf } from '../quotes.js'
import { arrayOf, objectOf, stringOf } from '../read.js'
import { PROTOCOL } from './media-in.js'

/** `{title, source, sourceContent: [{text}], location}`; of a whole answer, and of a stream. */
export function decodeCitation(value: JsonObject): Citation {
  const web = stringOf(objectOf(objectOf(value.location)?.web)?.url)
  const source = stringOf(value.source)
  const url = web ?? (source !== undefined && /^https?:\/\//.test(source) ? source : undefined)
  const title = stringOf(value.title)
  const quote = arrayOf(value.sourceContent)
    .map(one => stringOf(objectOf(one)?.text) ?? '')
    .join('')
  return {
    ...(url !== undefined && { url }),
    ...(title !== undefined && { title }),
    ...(quote !== '' && { quote }),
    own: { of: PROTOCOL, value },
  }
}

export function decodeCitations(value: Json | undefined): readonly Citation[] {
  return arrayOf(value).filter(isObject).map(decodeCitation)
}

/** The citation for a client; `text` is that of its part. Undefined where there is no address, and it is not this protocol's. */
export function encodeCitation(citation: Citation, text: Pick<LongText, 'slice'>): JsonObject | undefined {
  const { own, url, title } = citation
  if (own?.of === PROTOCOL) return own.value
  if (url === undefined) return undefined
  return {
    ...(title !== undefined && { title }),
    source: url,
    sourceContent: [{ text: quoteOf(citation, text) }],
    location: { web: { url } },
  }
}
