import type { Target } from '../../core/codec.js'
import type { ImageField, ImageRequest } from '../../core/image.js'
import type { JsonObject } from '../../core/json.js'
import { shapeOf } from '../images/shape.js'
import { compact } from '../read.js'
import { PREDICT_SHAPES } from './fields.js'

const ABSENT = ['urls', 'quality', 'style', 'background', 'moderation', 'partials', 'user'] as const

/** Formats that its models write. */
const MIMES = ['image/png', 'image/jpeg']

/** A canonical request for `:predict`. The model is in the path. */
export function encodeRequest(request: ImageRequest, target: Target<ImageField>): JsonObject {
  for (const field of ABSENT) if (request[field] !== undefined) target.lose(field)
  const { aspect, resolution } = shapeOf(request, PREDICT_SHAPES, target)
  return {
    instances: [{ prompt: request.prompt }],
    parameters: compact({
      // Where nothing is said it makes four.
      sampleCount: request.count ?? 1,
      aspectRatio: aspect,
      sampleImageSize: resolution,
      outputOptions: outputOf(request, target),
      negativePrompt: request.negative,
      seed: request.seed,
      // Without the reason an answer without images says nothing at all.
      includeRaiReason: true,
    }),
  }
}

function outputOf({ mime, compression }: ImageRequest, target: Target<ImageField>): JsonObject | undefined {
  const isKnown = mime === undefined || MIMES.includes(mime)
  if (!isKnown) target.lose('mime', undefined, 'images are PNG or JPEG')
  const output = compact({ mimeType: isKnown ? mime : undefined, compressionQuality: compression })
  return Object.keys(output).length === 0 ? undefined : output
}
