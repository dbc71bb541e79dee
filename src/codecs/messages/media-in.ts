import { Buffer } from 'node:buffer'
import type { Json } from '../../core/json.js'
import { isObject } from '../../core/json.js'
import type { CacheMark, MediaPart, MediaSource, TextPart } from '../../core/text.js'
import { invalid, Reader } from '../read.js'

/** What a block names besides its content. */
interface About {
  readonly at: string
  readonly cache?: CacheMark
}

/** `image`: base64, URL or file. */
export function decodeImage(block: Reader, about: About): MediaPart {
  const source = block.object('source')
  if (source === undefined) throw invalid(block.path('source'), 'it is required')
  const mime = source.string('media_type')
  return { type: 'media', kind: 'image', source: plainSource(source), ...(mime !== undefined && { mime }), ...about }
}

/**
 * `document`: PDF in base64, plain text, URL, file, or content of its own, whose texts become one and whose images parts
 * of their own behind it.
 */
export function decodeDocument(block: Reader, about: About): MediaPart[] {
  const source = block.object('source')
  if (source === undefined) throw invalid(block.path('source'), 'it is required')
  const described = { ...describe(block), ...about }
  if (source.string('type') === 'content') {
    const { text, images } = contentOf(source)
    return [{ type: 'media', kind: 'document', mime: 'text/plain', source: { text }, ...described }, ...images]
  }
  const mime = source.string('media_type')
  const data = source.string('type') === 'text' ? { text: source.required('data') } : plainSource(source)
  return [{ type: 'media', kind: 'document', source: data, ...(mime !== undefined && { mime }), ...described }]
}

/** `search_result`: a document of plain text that is about its source. */
export function decodeSearchResult(block: Reader, about: About): MediaPart {
  const { text } = contentOf(block)
  const context = block.string('source')
  const cite = block.object('citations')?.boolean('enabled')
  return {
    type: 'media',
    kind: 'document',
    mime: 'text/plain',
    source: { text },
    name: block.string('title') ?? '',
    ...(context !== undefined && { context }),
    ...(cite === true && { cite }),
    ...about,
  }
}

function describe(block: Reader): Pick<MediaPart, 'name' | 'context' | 'cite'> {
  const name = block.string('title')
  const context = block.string('context')
  const cite = block.object('citations')?.boolean('enabled')
  return { ...(name !== undefined && { name }), ...(context !== undefined && { context }), ...(cite && { cite }) }
}

function plainSource(source: Reader): MediaSource {
  switch (source.required('type')) {
    case 'base64':
      return { base64: source.required('data').replace(/\s+/g, '') }
    case 'url':
      return { url: source.required('url') }
    case 'file':
      return { file: source.required('file_id'), of: 'messages' }
    default:
      throw invalid(source.path('type'), 'expected base64, url or file')
  }
}

/** `content` of a document or a search result: a string, or blocks of text and images. */
function contentOf(holder: Reader): { readonly text: string; readonly images: readonly MediaPart[] } {
  const content = holder.raw('content')
  if (typeof content === 'string') return { text: content, images: [] }
  const blocks = holder.objects('content') ?? []
  const texts = blocks.filter(block => block.string('type') === 'text').map(block => block.required('text'))
  const images = blocks
    .filter(block => block.string('type') === 'image')
    .map(block => decodeImage(block, { at: block.at }))
  return { text: texts.join('\n\n'), images }
}

/** Parts of a tool's result; `unknown` gets the blocks that are none. */
export function decodeResultContent(
  content: Json | undefined,
  at: string,
  cacheOf: (block: Reader) => { readonly cache?: CacheMark },
  unknown: (block: Reader) => void,
): (TextPart | MediaPart)[] {
  if (content === undefined) return []
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }]
  if (!Array.isArray(content)) throw invalid(at, 'expected a string or an array')
  return (content as readonly Json[]).flatMap((value, i): (TextPart | MediaPart)[] => {
    const place = `${at}[${i}]`
    if (!isObject(value)) throw invalid(place, 'expected an object')
    const block = new Reader(value, place)
    const about = { at: place, ...cacheOf(block) }
    switch (block.required('type')) {
      case 'text':
        return [{ type: 'text', text: block.required('text'), ...about }]
      case 'image':
        return [decodeImage(block, about)]
      case 'document':
        return decodeDocument(block, about)
      case 'search_result':
        return [decodeSearchResult(block, about)]
      default:
        unknown(block)
        return []
    }
  })
}

/** Text of a document that came as bytes. */
export function textOfBase64(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8')
}
