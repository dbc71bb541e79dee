import { GatewayError } from '../../core/errors.js'
import type { ImageRequest, ImageResult, MadeImage } from '../../core/image.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { filtered, someImages } from '../images/result.js'
import { given } from '../members.js'
import { errorOf, streamError } from '../native-errors.js'
import { arrayOf, badUpstream, compact, objectOf, stringOf } from '../read.js'

/** An answer of `:predict` in canonical form. Throws `bad_upstream_response`, or `upstream_rejected` where all was filtered. */
export function decodeResult(body: Json): ImageResult {
  const error = errorOf(body)
  if (error !== undefined) throw streamError(error)
  if (!isObject(body)) throw badUpstream('It is not an object.')
  const predictions = arrayOf(body.predictions).map(one => objectOf(one) ?? {})
  const images = predictions.flatMap(readImage)
  const reason = predictions.map(one => stringOf(one.raiFilteredReason)).find(one => one !== undefined)
  if (images.length === 0 && reason !== undefined) throw filtered(reason)
  return { images: someImages(images) }
}

function readImage(prediction: JsonObject): MadeImage[] {
  const base64 = stringOf(prediction.bytesBase64Encoded)
  if (!base64) return []
  return [
    { source: { base64 }, ...given({ mime: stringOf(prediction.mimeType), prompt: stringOf(prediction.prompt) }) },
  ]
}

/** A canonical answer for clients of `:predict`, which know bytes alone. */
export function encodeResult({ images }: ImageResult, { mime }: ImageRequest): JsonObject {
  return { predictions: images.map(image => writeImage(image, mime ?? 'image/png')) }
}

function writeImage({ source, mime, prompt }: MadeImage, fallback: string): JsonObject {
  if ('base64' in source) return compact({ mimeType: mime ?? fallback, bytesBase64Encoded: source.base64, prompt })
  const message = 'The upstream sent the URL of an image, but clients of this protocol need its bytes.'
  throw new GatewayError('bad_upstream_response', message, { phase: 'content' })
}
