import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Citation, TokenLogprob } from '../../core/text.js'
import { given } from '../members.js'
import { arrayOf, numberOf, objectOf, stringOf } from '../read.js'

/** `annotations` of a message; other kinds than `url_citation` are not citations. */
export function readAnnotations(value: Json | undefined): Citation[] {
  return arrayOf(value).flatMap(annotation => {
    const cited = isObject(annotation) ? objectOf(annotation.url_citation) : undefined
    if (cited === undefined) return []
    return [
      given({
        url: stringOf(cited.url),
        title: stringOf(cited.title),
        quote: stringOf(cited.content),
        start: numberOf(cited.start_index),
        end: numberOf(cited.end_index),
      }),
    ]
  })
}

/** Sources that some servers name beside the choices: `search_results: [{url, title, snippet}]`, `citations: [url]`. */
export function readSources(answer: JsonObject): Citation[] {
  const results = arrayOf(answer.search_results).flatMap(result => {
    if (!isObject(result) || typeof result.url !== 'string') return []
    return [given({ url: result.url, title: stringOf(result.title), quote: stringOf(result.snippet) })]
  })
  if (results.length > 0) return results
  return arrayOf(answer.citations).flatMap(url => (typeof url === 'string' ? [{ url }] : []))
}

/**
 * A citation as an annotation; undefined where it has no URL, without which there is none here. `before` is how many
 * characters stand before its text, `length` how many that text has so far.
 */
export function writeAnnotation(citation: Citation, before: number, length: number): JsonObject | undefined {
  if (citation.url === undefined) return undefined
  return {
    type: 'url_citation',
    url_citation: {
      start_index: before + (citation.start ?? 0),
      end_index: before + (citation.end ?? length),
      url: citation.url,
      title: citation.title ?? '',
      ...(citation.quote !== undefined && { content: citation.quote }),
    },
  }
}

export function writeLogprobs(logprobs: readonly TokenLogprob[]): JsonObject {
  return {
    content: logprobs.map(entry => ({
      ...writeToken(entry),
      top_logprobs: (entry.top ?? []).map(writeToken),
    })),
    refusal: null,
  }
}

function writeToken({ token, logprob, bytes }: Omit<TokenLogprob, 'top'>): JsonObject {
  return { token, logprob, bytes: bytes ?? null }
}
