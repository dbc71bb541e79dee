import { Buffer } from 'node:buffer'
import type { Target } from '../../core/codec.js'
import type { Field } from '../../core/fields.js'
import type { JsonObject } from '../../core/json.js'
import type { MediaKind, MediaPart } from '../../core/text.js'
import { refuse } from '../messages/names.js'
import { formatOf, formatsOf, typeOf } from './formats.js'
import { PROTOCOL } from './media-in.js'

const URLS: Readonly<Record<MediaKind, Field>> = {
  image: 'imageUrl',
  document: 'documentUrl',
  audio: 'mediaUrl',
  video: 'mediaUrl',
}

/** Names of the documents of one request: each has to be another. */
export class DocumentNames {
  readonly #taken = new Set<string>()
  /** The number that the next document of a name tries first: it is asked for thousands of times in a row. */
  readonly #next = new Map<string, number>()

  /** Letters, digits, single spaces, hyphens, brackets. */
  of(name: string | undefined): string {
    const plain = (name ?? '')
      .replace(/[^a-zA-Z0-9\s\-()[\]]/g, '-')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, MAX_NAME_CHARS)
    const wanted = plain === '' ? 'document' : plain
    let free = wanted
    let next = this.#next.get(wanted) ?? 2
    for (; this.#taken.has(free); next++) free = `${wanted} (${next})`
    this.#next.set(wanted, next)
    this.#taken.add(free)
    return free
  }
}

/** Longest name that is sent, in characters; the service takes 200. */
const MAX_NAME_CHARS = 180

/** `{image: {format, source}}` and its like. Throws `untranslatable` for media that the service does not take. */
export function encodeMedia(part: MediaPart, names: DocumentNames, target: Target): JsonObject {
  const { kind, at } = part
  if (kind === 'image' && part.detail !== undefined && part.detail !== 'auto') target.lose('imageDetail', at)
  const { format, source } = sourceOf(part, target)
  if (kind !== 'document') return { [kind]: { format, source } }
  return {
    document: {
      format,
      name: names.of(part.name),
      source,
      ...(part.context !== undefined && part.context !== '' && { context: part.context }),
      ...(part.cite === true && { citations: { enabled: true } }),
    },
  }
}

interface Source {
  readonly format: string
  readonly source: JsonObject
}

function sourceOf({ kind, source, mime, cite, at }: MediaPart, target: Target): Source {
  if ('url' in source) {
    target.lose(URLS[kind], at)
    throw refuse(at, 'it accepts no URLs')
  }
  if ('text' in source) return textSource(source.text, cite)
  if ('file' in source) {
    const format = formatOf(kind, mime ?? '') ?? source.file.split('.').at(-1)
    if (source.of === PROTOCOL && format !== undefined) return { format, source: { s3Location: { uri: source.file } } }
    target.lose('fileId', at, source.why)
    throw refuse(at, 'the file is at another upstream')
  }
  const type = typeOf(kind, mime, source.base64)
  const format = formatOf(kind, type)
  if (format !== undefined) return { format, source: { bytes: source.base64 } }
  if (kind === 'document' && isText(type)) {
    return textSource(Buffer.from(source.base64, 'base64').toString('utf8'), cite)
  }
  throw refuse(at, `it accepts ${formatsOf(kind)}, not ${type || 'what has no type'}`)
}

/** The service takes `text` only of documents that it shall cite. */
function textSource(text: string, cite: boolean | undefined): Source {
  return { format: 'txt', source: cite === true ? { text } : { bytes: Buffer.from(text, 'utf8').toString('base64') } }
}

function isText(mime: string): boolean {
  return (
    mime.startsWith('text/') || /^application\/(?:json|xml|yaml|x-yaml|javascript|.{1,64}\+(?:json|xml))$/.test(mime)
  )
}
