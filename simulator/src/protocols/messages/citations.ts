import type { TextPart } from '../../text/conversation.js'
import { type Block, isOn } from './blocks.js'
import type { Message } from './conversation.js'

const MAX_QUOTED_CHARS = 60

/**
 * What a text cites: the first document or search result that may be cited, by a place of its own kind, or a page of the
 * web where the prompt asks for one.
 */
export function citationsOf({ citation }: TextPart, messages: readonly Message[]): readonly object[] {
  const blocks = messages.flatMap(message => message.blocks)
  const documents = blocks.filter(({ type }) => type === 'document')
  const results = blocks.filter(({ type }) => type === 'search_result')
  const document = documents.findIndex(isCited)
  const result = results.findIndex(isCited)
  return [
    ...[documents[document]].flatMap(block => (block === undefined ? [] : [inDocument(block, document)])),
    ...[results[result]].flatMap(block => (block === undefined ? [] : [inResult(block, result)])),
    ...(citation === undefined
      ? []
      : [
          {
            type: 'web_search_result_location',
            cited_text: 'The simulator answers from the request alone.',
            encrypted_index: 'c2ltdWxhdG9y',
            title: citation.title,
            url: citation.url,
          },
        ]),
  ]
}

function isCited({ fields }: Block): boolean {
  return isOn(fields.raw('citations'))
}

function inDocument({ fields }: Block, index: number): object {
  const source = fields.fields('source')
  const text = source?.raw('data')
  const cited = { document_index: index, document_title: fields.string('title') ?? null, file_id: null }
  switch (source?.raw('type')) {
    case 'text': {
      const quoted = String(text).slice(0, MAX_QUOTED_CHARS)
      return { type: 'char_location', cited_text: quoted, ...cited, start_char_index: 0, end_char_index: quoted.length }
    }
    case 'content':
      return { type: 'content_block_location', cited_text: 'The document', ...cited, ...BLOCKS }
    default:
      return { type: 'page_location', cited_text: 'The document', ...cited, start_page_number: 1, end_page_number: 2 }
  }
}

const BLOCKS = { start_block_index: 0, end_block_index: 1 }

function inResult({ fields }: Block, index: number): object {
  return {
    type: 'search_result_location',
    cited_text: 'The search result',
    search_result_index: index,
    source: fields.string('source') ?? '',
    title: fields.string('title') ?? null,
    ...BLOCKS,
  }
}
