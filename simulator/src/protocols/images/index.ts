import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { modelOf, readPrompt } from '../../families/options.js'
import { unsupportedValue, wrongValue } from '../../families/refusals.js'
import { colourOf, IMAGE_FORMATS, type ImageFormat } from '../../image/picture.js'
import { MAX_PIXELS } from '../../image/shapes.js'
import {
  type Answer,
  type Call,
  type EventStream,
  endpoint,
  eventStream,
  json,
  namedEvent,
  type StreamEvent,
} from '../../protocol.js'
import { countTokens } from '../../text/tokens.js'
import { spoiled } from '../../text/usage.js'

/** `POST /v1/images/generations`: files with the prompt in them. */
export const images = endpoint(
  compatible,
  'POST /v1/images/generations',
  { body: 'json', models: ['sim-image'] },
  call => answerWith(readImageRequest(call), call),
)

/** The images that a request asks for, whole or as a stream. */
export function answerWith(request: ImageRequest, call: Call): Answer {
  const { partial } = request
  if (partial === undefined) return json(result(request, call))
  const failure: EventStream['failure'] = error => [namedEvent('error', compatible.body(error, call.requestId))]
  return eventStream(events(request, partial, call), failure)
}

function result(request: ImageRequest, call: Call): object {
  const data = Array.from({ length: request.count }, (_, index) => {
    const base64 = draw(request, index, 1, call).toString('base64')
    return request.form === 'url' ? { url: `data:image/${request.format};base64,${base64}` } : { b64_json: base64 }
  })
  const { background, output_format, quality, size } = facts(request)
  const usage = spoiled(usageOf(request, request.count), call.faults)
  return { created: call.seed.created(), background, data, output_format, quality, size, usage }
}

/** Drawn one after the other, as they are sent. */
function* events(request: ImageRequest, partial: number, call: Call): Generator<StreamEvent> {
  const created_at = call.seed.created()
  for (let index = 0; index < request.count; index += 1) {
    for (let shown = 0; shown < partial; shown += 1) {
      const b64_json = draw(request, index, (shown + 1) / (partial + 1), call).toString('base64')
      const more = { partial_image_index: shown }
      yield namedEvent(`${eventOf(request)}.partial_image`, { b64_json, created_at, ...facts(request), ...more })
    }
    const b64_json = draw(request, index, 1, call).toString('base64')
    const usage = spoiled(usageOf(request, 1), call.faults)
    const completed = namedEvent(`${eventOf(request)}.completed`, { b64_json, created_at, ...facts(request), usage })
    yield index === request.count - 1 ? { ...completed, terminal: true } : completed
  }
}

function eventOf({ given }: ImageRequest): string {
  return given.length === 0 ? 'image_generation' : 'image_edit'
}

function draw(request: ImageRequest, index: number, share: number, { seed }: Call): Buffer {
  const { prompt, width, height, background } = request
  const colours = [colourOf(seed.fork('image', index))] as const
  const picture = { width, height, colours, share, transparent: background === 'transparent', description: prompt }
  return IMAGE_FORMATS[request.format](picture)
}

function facts({ width, height, quality, background, format }: ImageRequest) {
  return { size: `${width}x${height}`, quality, background, output_format: format } as const
}

const TOKENS_PER_TILE = { low: 1, medium: 4, high: 16 } as const
/** Pixels of a tile. */
const TILE_PIXELS = 64 * 64

/** What an image in the input costs. */
const IMAGE_TOKENS = 85

function usageOf({ prompt, width, height, quality, given }: ImageRequest, count: number) {
  const text_tokens = countTokens(prompt)
  const image_tokens = IMAGE_TOKENS * given.length
  const output_tokens = count * Math.ceil((width * height) / TILE_PIXELS) * TOKENS_PER_TILE[quality]
  return {
    input_tokens: image_tokens + text_tokens,
    input_tokens_details: { image_tokens, text_tokens },
    output_tokens,
    total_tokens: image_tokens + text_tokens + output_tokens,
  }
}

export interface ImageRequest {
  readonly model: string
  readonly prompt: string
  readonly count: number
  readonly width: number
  readonly height: number
  readonly quality: 'low' | 'medium' | 'high'
  readonly background: 'transparent' | 'opaque'
  readonly format: ImageFormat
  readonly form: 'url' | 'b64_json'
  /** What was given to begin with, such as `png 64x64`; nothing where images are made from the prompt alone. */
  readonly given: readonly string[]
  /** How many partial images come before each whole one; undefined if the answer is not a stream. */
  readonly partial: number | undefined
}

const FIELDS = [
  ...['model', 'prompt', 'n', 'size', 'quality', 'response_format', 'output_format', 'output_compression'],
  ...['background', 'moderation', 'style', 'stream', 'partial_images', 'user'],
]
const FORMATS = Object.keys(IMAGE_FORMATS) as readonly ImageFormat[]
const MAX_IMAGES = 10
const MAX_PARTIAL_IMAGES = 3
const DEFAULT_SIDE_PIXELS = 1024
const SIDES = { min: 64, max: 2048 }
/** What is asked for, and what is made. */
const QUALITIES = {
  auto: 'medium',
  low: 'low',
  medium: 'medium',
  high: 'high',
  standard: 'medium',
  hd: 'high',
} as const

/** Reads and checks a request for images; throws {@link SimulatorError}. */
export function readImageRequest({ body: object }: Pick<Call, 'body'>): ImageRequest {
  const body = new Fields(object).only(FIELDS)
  const model = modelOf(body)
  const prompt = readPrompt(body, 'prompt', 'image_generation_user_error')
  const { width, height } = readSize(body.string('size') ?? 'auto')
  const count = readCount(body, width * height)
  const streamed = body.boolean('stream') === true
  const form = body.oneOf('response_format', ['url', 'b64_json'])
  if (streamed && form === 'url')
    throw unsupportedValue('response_format', 'url', 'Streamed images come as b64_json only.')
  const partial = body.integer('partial_images', { min: 0, max: MAX_PARTIAL_IMAGES }) ?? 0
  const format = body.oneOf('output_format', FORMATS) ?? 'png'
  body.integer('output_compression', { min: 0, max: 100 })
  const background = body.oneOf('background', ['transparent', 'opaque', 'auto'])
  if (background === 'transparent' && format === 'jpeg')
    throw wrongValue('background', 'Transparent background is not supported for JPEG output format.')
  body.oneOf('moderation', ['low', 'auto'])
  body.oneOf('style', ['vivid', 'natural'])
  body.string('user')
  return {
    model,
    prompt,
    width,
    height,
    count,
    quality: QUALITIES[body.oneOf('quality', Object.keys(QUALITIES) as (keyof typeof QUALITIES)[]) ?? 'auto'],
    background: background === 'transparent' ? 'transparent' : 'opaque',
    format,
    form: form ?? 'b64_json',
    given: [],
    partial: streamed ? partial : undefined,
  }
}

function readCount(body: Fields, pixels: number): number {
  const count = body.integer('n', { min: 1, max: MAX_IMAGES }) ?? 1
  if (count * pixels <= MAX_PIXELS) return count
  throw wrongValue('n', `Invalid 'n': ${count} images of this size have more than ${MAX_PIXELS} pixels in all.`)
}

function readSize(size: string): { readonly width: number; readonly height: number } {
  if (size === 'auto') return { width: DEFAULT_SIDE_PIXELS, height: DEFAULT_SIDE_PIXELS }
  const [, width = 0, height = 0] = /^(\d{1,4})x(\d{1,4})$/.exec(size)?.map(Number) ?? []
  if ([width, height].every(side => side >= SIDES.min && side <= SIDES.max)) return { width, height }
  throw wrongValue(
    'size',
    `Invalid value: '${size.slice(0, 100)}'. Expected 'auto' or <width>x<height>, each from ${SIDES.min} to ${SIDES.max}.`,
  )
}
