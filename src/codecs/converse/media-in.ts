import type { CacheMark, MediaKind, MediaPart, MediaSource, TextPart } from '../../core/text.js'
import { invalid, type Reader } from '../read.js'
import { mimeOf } from './formats.js'

export const PROTOCOL = 'converse'

const KINDS: readonly MediaKind[] = ['image', 'document', 'video', 'audio']

/** `{image: {format, source}}` and its like; undefined for another block. */
export function decodeMedia(block: Reader): MediaPart | undefined {
  const kind = KINDS.find(one => block.has(one))
  const media = kind === undefined ? undefined : block.object(kind)
  if (kind === undefined || media === undefined) return undefined
  const source = sourceOf(media)
  const mime = mimeOf(kind, media.string('format')) ?? ('text' in source ? 'text/plain' : undefined)
  const name = media.string('name')
  const context = media.string('context')
  const cite = media.object('citations')?.boolean('enabled')
  return {
    type: 'media',
    kind,
    source,
    at: media.at,
    ...(mime !== undefined && { mime }),
    ...(name !== undefined && { name }),
    ...(context !== undefined && { context }),
    ...(cite === true && { cite }),
  }
}

/** Bytes in base64, the address of an object in a store, or the text of a document. */
function sourceOf(media: Reader): MediaSource {
  const source = media.object('source')
  const bytes = source?.string('bytes')
  if (bytes !== undefined) return { base64: bytes.replace(/\s+/g, '') }
  const stored = source?.object('s3Location')
  if (stored !== undefined) {
    return { file: stored.required('uri'), of: PROTOCOL, why: 'it is in a store that only its upstream can read' }
  }
  const text = source?.string('text')
  if (text !== undefined) return { text }
  const content = source?.objects('content')
  if (content === undefined) throw invalid(media.path('source'), 'expected bytes, s3Location, text or content')
  return { text: content.map(one => one.required('text')).join('\n\n') }
}

/** `{searchResult: {source, title, content}}`: a document of plain text that is about its source. */
export function decodeSearchResult(result: Reader): MediaPart {
  const context = result.string('source')
  const cite = result.object('citations')?.boolean('enabled')
  return {
    type: 'media',
    kind: 'document',
    mime: 'text/plain',
    source: { text: (result.objects('content') ?? []).map(one => one.string('text') ?? '').join('\n\n') },
    name: result.string('title') ?? '',
    at: result.at,
    ...(context !== undefined && { context }),
    ...(cite === true && { cite }),
  }
}

/** `{type: "default", ttl?: "5m" | "1h"}`. */
export function decodeCachePoint(point: Reader): CacheMark {
  const ttl = point.string('ttl')
  return ttl === '5m' || ttl === '1h' ? { ttl } : {}
}

/** Parts of a tool's result, and its object where it is one; `unknown` gets the blocks that are none of these. */
export function decodeResultContent(
  blocks: readonly Reader[],
  unknown: (block: Reader) => void,
): readonly (TextPart | MediaPart)[] {
  return blocks.flatMap((block): readonly (TextPart | MediaPart)[] => {
    if (block.has('text')) return [{ type: 'text', text: block.required('text'), at: block.path('text') }]
    const found = block.object('searchResult')
    const media = found === undefined ? decodeMedia(block) : decodeSearchResult(found)
    if (media !== undefined) return [media]
    unknown(block)
    return []
  })
}
