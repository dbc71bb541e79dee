import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { LongText } from '../../core/long-text.js'
import type { Citation } from '../../core/text.js'
import { quoteOf } from '../quotes.js'
import { arrayOf, stringOf } from '../read.js'

/** `citations` of a text block; what is not one is passed over. */
export function decodeCitations(value: Json | undefined): readonly Citation[] {
  return arrayOf(value).filter(isObject).map(decodeCitation)
}

/** A citation of a text block: of the web, of a search result, or of a place in a document. */
export function decodeCitation(value: JsonObject): Citation {
  const url = stringOf(value.url) ?? addressOf(stringOf(value.source))
  const title = stringOf(value.title) ?? stringOf(value.document_title)
  const quote = stringOf(value.cited_text)
  return {
    ...(url !== undefined && { url }),
    ...(title !== undefined && { title }),
    ...(quote !== undefined && { quote }),
    own: { of: 'messages', value },
  }
}

function addressOf(source: string | undefined): string | undefined {
  return source !== undefined && /^https?:\/\//.test(source) ? source : undefined
}

/**
 * The citation for a client: in its own words, or as a result of a web search where there is an address. `text` is that
 * of the part, if it is known. Undefined where the protocol has no form for it.
 */
export function encodeCitation(citation: Citation, text: Pick<LongText, 'slice'>): JsonObject | undefined {
  const { own, url, title } = citation
  if (own?.of === 'messages') return own.value
  if (url === undefined) return undefined
  const cited_text = quoteOf(citation, text)
  return { type: 'web_search_result_location', cited_text, encrypted_index: '', title: title ?? null, url }
}

/** The citation for an upstream, which takes only what it made itself. */
export function encodeOwnCitation({ own }: Citation): JsonObject | undefined {
  if (own?.of !== 'messages' || own.value.encrypted_index === '') return undefined
  // Answers name the file that was cited; requests may not.
  const { file_id: _, ...value } = own.value
  return value
}
