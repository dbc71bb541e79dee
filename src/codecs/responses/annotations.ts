import type { AnswerContext } from '../../core/codec.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Citation } from '../../core/text.js'
import { isBounded } from '../bounded.js'
import { given } from '../members.js'
import { numberOf, stringOf } from '../read.js'
import { PROTOCOL } from './protocol.js'

/** `url_citation{start_index,end_index,url,title}`; the other kinds stay in the protocol's own words. */
export function readAnnotation(value: Json): Citation[] {
  if (!isObject(value) || !isBounded(value)) return []
  const own = { of: PROTOCOL, value }
  if (value.type !== 'url_citation') return [{ own }]
  return [
    {
      own,
      ...given({
        url: stringOf(value.url),
        title: stringOf(value.title),
        start: numberOf(value.start_index),
        end: numberOf(value.end_index),
      }),
    },
  ]
}

/** Undefined where the citation names no URL, without which there is none here. `length`: characters of its text. */
export function writeAnnotation(citation: Citation, length: number): JsonObject | undefined {
  if (citation.own?.of === PROTOCOL) return citation.own.value
  if (citation.url === undefined) return undefined
  const { url, title = '', start = 0, end = length } = citation
  return { type: 'url_citation', start_index: start, end_index: end, url, title }
}

export function loseCitation({ lose }: AnswerContext): void {
  lose('citations', 'responses cite only URLs')
}
