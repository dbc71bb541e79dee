import type { RequestHead, Target } from '../../core/codec.js'
import type { Carry, FieldMapping } from '../../core/fields.js'
import type { EditField, EditRequest, ImageField, ImageRequest, Size } from '../../core/image.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Left, MediaPart } from '../../core/text.js'
import { sourceOfUrl } from '../media.js'
import { sniffed } from '../native-media.js'
import { compact, given, invalid, leaveOthers, Reader } from '../read.js'

import { ratioOf } from './shape.js'

/** Members of CreateImageRequest. */
export const IMAGES_FIELDS: Readonly<Record<string, FieldMapping<ImageField>>> = {
  model: { here: 'chooses the model' },
  prompt: 'prompt',
  n: 'count',
  size: 'size',
  response_format: 'urls',
  quality: 'quality',
  style: 'style',
  background: 'background',
  output_format: 'mime',
  output_compression: 'compression',
  moderation: 'moderation',
  stream: { here: 'whole images arrive as events' },
  partial_images: 'partials',
  user: 'user',
}

/** Members of EditImageBodyJsonParam. Forms have `image`, once or several times, instead of `images`. */
export const EDITS_FIELDS: Readonly<Record<string, FieldMapping<EditField>>> = {
  model: { here: 'chooses the model' },
  prompt: 'prompt',
  images: 'images',
  'images[].image_url': 'images',
  'images[].file_id': 'imageFiles',
  mask: 'mask',
  'mask.image_url': 'mask',
  'mask.file_id': 'mask',
  n: 'count',
  size: 'size',
  response_format: 'urls',
  quality: 'quality',
  background: 'background',
  input_fidelity: 'fidelity',
  output_format: 'mime',
  output_compression: 'compression',
  moderation: 'moderation',
  stream: { here: 'whole images arrive as events' },
  partial_images: 'partials',
  user: 'user',
}

const ABSENT: Carry = { dropped: 'the protocol has no such member' }
const SHAPED: Carry = { approximated: 'as the nearest of three sizes' }

export const IMAGES_CARRIES: Readonly<Record<ImageField, Carry>> = {
  prompt: 'carried',
  count: 'carried',
  size: 'carried',
  aspect: SHAPED,
  resolution: { dropped: 'sizes are in pixels, and most models have three' },
  urls: 'carried',
  quality: 'carried',
  style: 'carried',
  background: 'carried',
  mime: 'carried',
  compression: 'carried',
  moderation: 'carried',
  partials: { dropped: 'the upstream is asked for whole images' },
  negative: ABSENT,
  seed: ABSENT,
  user: 'carried',
}

/** What edits have beside other requests for images, for models of texts that look at images. */
export const EDITS_OWN: Readonly<Record<Exclude<EditField, ImageField>, Carry>> = {
  images: 'carried',
  imageFiles: { refused: 'the file is at another upstream; give the image itself' },
  mask: { refused: 'such a model knows what to change only from the prompt' },
  fidelity: { dropped: 'such a model gets only the prompt' },
}

const MEMBERS = new Set(Object.keys(IMAGES_FIELDS))

/** CreateImageRequest in canonical form. What is left to the upstream (`auto`) counts as not said. */
export function decodeRequest(value: JsonObject, head: RequestHead): ImageRequest {
  return readRequest(new Reader(value), head, MEMBERS)
}

/** The members that all requests for images have; those that are not in `known` are left. */
function readRequest(body: Reader, head: RequestHead, known: ReadonlySet<string>): ImageRequest {
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

/** Files belong to the protocol whose requests name them. */
const PROTOCOL = 'images.edits'

/** Members of the body, which may be a form's. */
const EDIT_MEMBERS = new Set(['image', ...Object.keys(EDITS_FIELDS).map(name => name.replace(/[[.].*$/, ''))])

/**
 * An edit in canonical form: JSON, whose `images` name each image by `image_url` or `file_id`, or what a form becomes,
 * whose `image` is one file or a list of them as data URLs, and whose numbers are texts.
 */
export function decodeEdit(value: JsonObject, head: RequestHead): EditRequest {
  const body = new Reader({ ...value, ...numbersOf(value) })
  const images = [...readFiles(body), ...(body.objects('images') ?? []).map(readReference)]
  if (images.length === 0) throw invalid(body.has('images') ? 'images' : 'image', 'it is required')
  return {
    ...readRequest(body, head, EDIT_MEMBERS),
    images,
    ...given({ mask: readMask(body), fidelity: body.string('input_fidelity'), others: othersOf(value) }),
  }
}

function othersOf(value: JsonObject): JsonObject | undefined {
  const others = Object.entries(value).filter(([name]) => !EDIT_MEMBERS.has(name))
  return others.length === 0 ? undefined : Object.fromEntries(others)
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

const NOT_KNOWN = ['resolution', 'partials', 'negative', 'seed'] as const

/** A canonical request as CreateImageRequest. Only models that may return URLs are asked for bytes by name. */
export function encodeRequest(request: ImageRequest, target: Target<ImageField>): JsonObject {
  for (const field of NOT_KNOWN) if (request[field] !== undefined) target.lose(field)
  return compact({
    model: target.model,
    prompt: request.prompt,
    n: request.count,
    size: sizeOf(request, target),
    response_format: request.urls === true ? 'url' : undefined,
    quality: request.quality,
    style: request.style,
    background: request.background,
    output_format: request.mime?.replace('image/', ''),
    output_compression: request.compression,
    moderation: request.moderation,
    user: request.user,
  })
}

const SQUARE: Size = { width: 1024, height: 1024 }
const WIDE: Size = { width: 1536, height: 1024 }
const TALL: Size = { width: 1024, height: 1536 }

/** The ratio of width to height from which an image is no longer square. */
const MAX_SQUARE_RATIO = 1.2

function sizeOf({ size, aspect }: ImageRequest, target: Target<ImageField>): string | undefined {
  if (size !== undefined) return written(size)
  const ratio = aspect === undefined ? undefined : ratioOf(aspect)
  if (ratio === undefined) return undefined
  const nearest = ratio >= MAX_SQUARE_RATIO ? WIDE : ratio <= 1 / MAX_SQUARE_RATIO ? TALL : SQUARE
  const isExact = Math.abs(nearest.width / nearest.height - ratio) < 0.01
  target.lose('aspect', undefined, isExact ? undefined : `the nearest size is ${written(nearest)}`)
  return written(nearest)
}

export function written({ width, height }: Size): string {
  return `${width}x${height}`
}

/** An edit as EditImageBodyJsonParam, the JSON in place of a form: each image is a data URL. */
export function encodeEdit(request: EditRequest, target: Target<EditField>): JsonObject {
  const { images, mask, fidelity } = request
  const { prompt, model, ...settings } = encodeRequest(request, target)
  const asked = {
    model,
    prompt,
    images: images.map(image => writeReference(image, target)),
    mask: mask && writeReference(mask, target),
    ...settings,
    input_fidelity: fidelity,
  }
  return compact(request.others ?? {}, asked)
}

function writeReference({ source, mime = 'image/png', at }: MediaPart, target: Target<EditField>): JsonObject {
  if ('base64' in source) return { image_url: `data:${mime};base64,${source.base64}` }
  if ('url' in source) return { image_url: source.url }
  target.lose('imageFiles', at)
  return {}
}
