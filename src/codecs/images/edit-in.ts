import type { RequestHead } from '../../core/codec.js'
import type { EditRequest } from '../../core/image.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { MediaPart } from '../../core/text.js'
import { sourceOfUrl } from '../data-url.js'
import { given } from '../members.js'
import { sniffed } from '../native-media.js'
import { invalid, Reader } from '../read.js'
import { EDITS_FIELDS } from './fields.js'
import { readRequest } from './request-in.js'

/** Files belong to the protocol whose requests name them. */
const PROTOCOL = 'images.edits'

/** Members of the body, which may be a form's. */
const MEMBERS = new Set(['image', ...Object.keys(EDITS_FIELDS).map(name => name.replace(/[[.].*$/, ''))])

/**
 * An edit in canonical form: JSON, whose `images` name each image by `image_url` or `file_id`, or what a form becomes,
 * whose `image` is one file or a list of them as data URLs, and whose numbers are texts.
 */
export function decodeEdit(value: JsonObject, head: RequestHead): EditRequest {
  const body = new Reader({ ...value, ...numbersOf(value) })
  const images = [...readFiles(body), ...(body.objects('images') ?? []).map(readReference)]
  if (images.length === 0) throw invalid(body.has('images') ? 'images' : 'image', 'it is required')
  return {
    ...readRequest(body, head, MEMBERS),
    images,
    ...given({ mask: readMask(body), fidelity: body.string('input_fidelity') }),
  }
}

const NUMBERS = ['n', 'output_compression', 'partial_images']

/** Numbers as forms write them; a field that is empty is not given. */
function numbersOf(value: JsonObject): JsonObject {
  const found = NUMBERS.flatMap(name => {
    const text = value[name]
    return typeof text === 'string' && /^\d{0,9}$/.test(text)
      ? [[name, text === '' ? null : Number(text)] as const]
      : []
  })
  return Object.fromEntries(found)
}

function readFiles(body: Reader): readonly MediaPart[] {
  const files = body.raw('image')
  if (files === undefined) return []
  return Array.isArray(files) ? files.map((file, i) => readFile(file, `image[${i}]`)) : [readFile(files, 'image')]
}

function readFile(file: Json, at: string): MediaPart {
  if (typeof file !== 'string') throw invalid(at, 'expected an image')
  return readUrl(file, at)
}

function readReference(reference: Reader): MediaPart {
  const url = reference.string('image_url')
  if (url !== undefined) return readUrl(url, reference.path('image_url'))
  const file = reference.string('file_id')
  if (file === undefined) throw invalid(reference.at, "expected 'image_url' or 'file_id'")
  return { type: 'media', kind: 'image', source: { file, of: PROTOCOL }, at: reference.path('file_id') }
}

function readMask(body: Reader): MediaPart | undefined {
  const mask = body.raw('mask')
  if (mask === undefined || typeof mask === 'string') return mask === undefined ? undefined : readUrl(mask, 'mask')
  const reference = body.object('mask')
  return reference && readReference(reference)
}

/** What is said of bytes is not trusted: they tell themselves what they are. */
function readUrl(url: string, at: string): MediaPart {
  const { source } = sourceOfUrl(url)
  if (!('base64' in source)) {
    if (/^https?:\/\//i.test(url)) return { type: 'media', kind: 'image', source, at }
    throw invalid(at, 'expected a URL or a data URL of an image')
  }
  const mime = sniffed('image', source.base64)
  if (mime.startsWith('image/')) return { type: 'media', kind: 'image', mime, source, at }
  throw invalid(at, 'expected an image: PNG, JPEG, WebP or GIF')
}
