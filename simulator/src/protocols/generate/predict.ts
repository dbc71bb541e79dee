import { badArgument, badField, native, nativeFields } from '../../families/native.js'
import type { ImageFormat } from '../../image/picture.js'
import { picture } from '../../image/picture.js'
import { MAX_PIXELS, pixelsOf, RESOLUTIONS } from '../../image/shapes.js'
import { type Call, endpoint, json } from '../../protocol.js'
import { says } from '../../text/words.js'
import { readMessage } from './proto.js'
import { JSON_HEADERS } from './stream.js'

const MAX_IMAGES = 4
const ASPECTS = ['1:1', '3:4', '4:3', '9:16', '16:9']
const FORMATS: ReadonlyMap<string, ImageFormat> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpeg'],
])
const BLOCKED = { raiFilteredReason: 'The prompt was blocked by the safety filter of the simulator.' }

/** `POST /v1beta/models/{model}:predict`: images, four where no number is asked for. */
export const predict = endpoint(
  native,
  'POST /v1beta/models/{model}:predict',
  { body: 'json', models: ['sim-image'] },
  call => json(answer(call), 200, JSON_HEADERS),
)

function answer(call: Call): object {
  const body = nativeFields(readMessage('PredictRequest', call.body))
  const [instance, ...others] = body.list('instances') ?? []
  if (instance === undefined || others.length > 0) throw badArgument('Exactly one instance is supported.')
  const prompt = instance.string('prompt') ?? ''
  if (prompt.trim() === '') throw badField('instances[0].prompt', 'must not be empty')
  const parameters = body.fields('parameters') ?? nativeFields({})
  const count = parameters.integer('sampleCount', { min: 1, max: MAX_IMAGES }) ?? MAX_IMAGES
  const pixels = pixelsOf(parameters.oneOf('aspectRatio', ASPECTS), parameters.oneOf('sampleImageSize', RESOLUTIONS))
  if (pixels === undefined || pixels.width * pixels.height * count > MAX_PIXELS)
    throw badArgument(`The images have more than ${MAX_PIXELS} pixels in all.`)
  const mimeType = parameters.fields('outputOptions')?.string('mimeType') ?? 'image/png'
  const format = FORMATS.get(mimeType)
  if (format === undefined)
    throw badArgument(`The simulator writes no ${mimeType.slice(0, 100)}: image/png and image/jpeg.`)
  if (says(prompt, 'simulate_block')) return parameters.boolean('includeRaiReason') ? { predictions: [BLOCKED] } : {}
  const seed = call.seed.fork('image')
  const images = Array.from({ length: count }, (_, index) => picture(prompt, pixels, seed.fork('one', index), format))
  return { predictions: images.map(bytesBase64Encoded => ({ mimeType, bytesBase64Encoded })) }
}
