import type { Target } from '../../core/codec.js'
import type { ImageField, ImageRequest, Size } from '../../core/image.js'
import type { JsonObject } from '../../core/json.js'
import { compact } from '../read.js'
import { ratioOf } from './shape.js'

/** A canonical request as CreateImageRequest. Only models that may return URLs are asked for bytes by name. */
export function encodeRequest(request: ImageRequest, target: Target<ImageField>): JsonObject {
  if (request.resolution !== undefined) target.lose('resolution')
  if (request.partials !== undefined) target.lose('partials')
  if (request.negative !== undefined) target.lose('negative')
  if (request.seed !== undefined) target.lose('seed')
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
