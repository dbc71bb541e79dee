import type { RequestHead } from '../../core/codec.js'
import type { ImageRequest, Size } from '../../core/image.js'
import type { JsonObject } from '../../core/json.js'
import type { Left } from '../../core/text.js'
import { given, leaveOthers } from '../members.js'
import { invalid, Reader } from '../read.js'
import { IMAGES_FIELDS } from './fields.js'

const MEMBERS = new Set(Object.keys(IMAGES_FIELDS))

/** CreateImageRequest in canonical form. What is left to the upstream (`auto`) counts as not said. */
export function decodeRequest(value: JsonObject, head: RequestHead): ImageRequest {
  return readRequest(new Reader(value), head, MEMBERS)
}

/** The members that all requests for images have; those that are not in `known` are left. */
export function readRequest(body: Reader, head: RequestHead, known: ReadonlySet<string>): ImageRequest {
  const left: Left[] = []
  leaveOthers(body, known, left)
  const partials = body.number('partial_images')
  return {
    model: head.model,
    prompt: body.required('prompt'),
    stream: head.stream,
    left,
    ...given({
      count: body.number('n'),
      size: readSize(body),
      urls: readForm(body),
      quality: chosen(body, 'quality'),
      style: body.string('style'),
      background: chosen(body, 'background'),
      mime: readFormat(body),
      compression: body.number('output_compression'),
      moderation: chosen(body, 'moderation'),
      partials: partials === 0 ? undefined : partials,
      user: body.string('user'),
    }),
  }
}

function chosen(body: Reader, name: string): string | undefined {
  const word = body.string(name)
  return word === 'auto' ? undefined : word
}

function readSize(body: Reader): Size | undefined {
  const size = chosen(body, 'size')
  if (size === undefined) return undefined
  const [, width = 0, height = 0] = /^(\d{1,5})x(\d{1,5})$/.exec(size)?.map(Number) ?? []
  if (width > 0 && height > 0) return { width, height }
  throw invalid('size', "expected 'auto' or WIDTHxHEIGHT in pixels")
}

function readForm(body: Reader): true | undefined {
  const form = body.string('response_format') ?? 'b64_json'
  if (form === 'url') return true
  if (form === 'b64_json') return undefined
  throw invalid('response_format', "expected 'url' or 'b64_json'")
}

const FORMATS = ['png', 'jpeg', 'webp']

function readFormat(body: Reader): string | undefined {
  const format = body.string('output_format')
  if (format === undefined) return undefined
  if (FORMATS.includes(format)) return `image/${format}`
  throw invalid('output_format', `expected one of ${FORMATS.join(', ')}`)
}
