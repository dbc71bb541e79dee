import type { DocumentAnswer, Frame } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { EditRequest, ImageRequest, ImageResult, MadeImage } from '../../core/image.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { errorInside } from '../compatible-errors.js'
import { arrayOf, badUpstream, compact, countOf, given, objectOf, stringOf } from '../read.js'

import { written } from './request.js'

/** Longest reason of a refusal that is passed on, in characters. */
const MAX_REASON_CHARS = 1000

/** ImagesResponse in canonical form. Throws `bad_upstream_response` where no image is in it. */
export function decodeResult(body: Json): ImageResult {
  if (!isObject(body)) throw badUpstream('It is not an object.')
  if (body.error !== undefined && body.error !== null) throw errorInside(body, 'content')
  const format = stringOf(body.output_format)
  const usage = objectOf(body.usage)
  return {
    images: someImages(arrayOf(body.data).flatMap(image => readImage(image, format))),
    ...given({
      created: countOf(body.created),
      // Some servers count in the words of chat.
      input: countOf(usage?.input_tokens) ?? countOf(usage?.prompt_tokens),
      output: countOf(usage?.output_tokens) ?? countOf(usage?.completion_tokens),
    }),
  }
}

function readImage(value: Json, format: string | undefined): MadeImage[] {
  const image = objectOf(value)
  const base64 = stringOf(image?.b64_json)
  const url = stringOf(image?.url)
  const source = base64 ? { base64 } : url ? { url } : undefined
  if (source === undefined) return []
  const mime = stringOf(image?.media_type) ?? (format === undefined ? undefined : `image/${format}`)
  return [{ source, ...given({ mime, prompt: stringOf(image?.revised_prompt) }) }]
}

/** Images, of which there has to be one. */
export function someImages(images: readonly MadeImage[]): readonly MadeImage[] {
  if (images.length === 0) throw badUpstream('It contains no image.')
  return images
}

/** The upstream made no image because of what it would show: the client's to change, as the family's own services have it. */
export function filtered(reason: string | undefined): GatewayError {
  const why = reason === undefined ? '' : ` (${reason.slice(0, MAX_REASON_CHARS)})`
  return new GatewayError('upstream_rejected', `The upstream created no image because of its content policy${why}.`, {
    familyCode: 'content_policy_violation',
    phase: 'content',
  })
}

/** A canonical answer as ImagesResponse. */
export function encodeResult(result: ImageResult, request: ImageRequest, { now }: DocumentAnswer): JsonObject {
  return compact({
    created: result.created ?? now,
    data: result.images.map(({ source, prompt }) => compact({ ...inMember(source), revised_prompt: prompt })),
    output_format: formatOf(result.images[0]),
    usage: usageOf(result, request),
  })
}

/** A canonical answer as the stream of whole images; what they cost together is reported with the last. */
export function encodeEvents(result: ImageResult, request: ImageRequest, answer: DocumentAnswer): readonly Frame[] {
  return eventsOf('image_generation.completed', result, request, answer)
}

export function encodeEditEvents(result: ImageResult, request: EditRequest, answer: DocumentAnswer): readonly Frame[] {
  return eventsOf('image_edit.completed', result, request, answer)
}

function eventsOf(type: string, result: ImageResult, request: ImageRequest, { now }: DocumentAnswer): readonly Frame[] {
  const last = result.images.length - 1
  const usage = usageOf(result, request) ?? FREE
  return result.images.map((image, i) => {
    const event = compact({
      type,
      ...inMember(image.source),
      created_at: result.created ?? now,
      size: request.size === undefined ? 'auto' : written(request.size),
      quality: request.quality ?? 'auto',
      background: request.background ?? 'auto',
      output_format: formatOf(image) ?? 'png',
      usage: i === last ? usage : FREE,
    })
    return { event: type, data: JSON.stringify(event) }
  })
}

const FREE: JsonObject = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
}

function inMember(source: MadeImage['source']): JsonObject {
  return 'url' in source ? { url: source.url } : { b64_json: source.base64 }
}

function formatOf(image: MadeImage | undefined): string | undefined {
  return /^image\/(png|jpeg|webp)$/.exec(image?.mime ?? '')?.[1]
}

/** Of what is made from a text alone, that is all of the input; beside images its share is estimated, for no one tells it. */
function usageOf({ input, output }: ImageResult, request: ImageRequest): JsonObject | undefined {
  if (input === undefined || output === undefined) return undefined
  const text = 'images' in request ? Math.min(input, Math.ceil(request.prompt.length / CHARS_PER_TOKEN)) : input
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    input_tokens_details: { text_tokens: text, image_tokens: input - text },
  }
}

/** Characters of a token, about. */
const CHARS_PER_TOKEN = 4
