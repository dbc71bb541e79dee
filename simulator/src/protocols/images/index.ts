import { compatible } from '../../families/compatible.js'
import { colourOf, IMAGE_FORMATS } from '../../image/picture.js'
import { type Answer, type Call, EVENT_STREAM, json, type Protocol, type StreamEvent } from '../../protocol.js'
import { countTokens } from '../../text/tokens.js'
import { spoiled } from '../../text/usage.js'
import { type ImageRequest, readImageRequest } from './request.js'

/** `POST /v1/images/generations`: files with the prompt in them. */
export const images: Protocol = {
  method: 'POST',
  path: '/v1/images/generations',
  body: 'json',
  family: compatible,
  models: ['sim-image'],
  answer: call => answerWith(readImageRequest(call), call),
}

/** The images that a request asks for, whole or as a stream. */
export function answerWith(request: ImageRequest, call: Call): Answer {
  const { partial } = request
  if (partial === undefined) return json(result(request, call))
  return {
    kind: 'events',
    headers: EVENT_STREAM,
    events: events(request, partial, call),
    failure: error => [event('error', compatible.body(error, call.requestId))],
  }
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
      yield event(`${eventOf(request)}.partial_image`, { b64_json, created_at, ...facts(request), ...more })
    }
    const b64_json = draw(request, index, 1, call).toString('base64')
    const usage = spoiled(usageOf(request, 1), call.faults)
    const completed = event(`${eventOf(request)}.completed`, { b64_json, created_at, ...facts(request), usage })
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

function event(type: string, rest: object): StreamEvent {
  return { event: type, data: JSON.stringify({ type, ...rest }) }
}
