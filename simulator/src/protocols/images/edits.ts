import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { missing, wrongValue } from '../../families/refusals.js'
import { typed } from '../../form.js'
import type { Measured } from '../../image/measure.js'
import type { JsonObject } from '../../json.js'
import type { Call, Protocol } from '../../protocol.js'
import { fileOf } from '../files/index.js'
import { checkMask, inputDescriptions, onlyFiles, pictureOf, picturesOf, sizeOf } from './given.js'
import { answerWith } from './index.js'
import { type ImageRequest, readImageRequest } from './request.js'

/** `POST /v1/images/edits`: images of the size of the first image; that and the mask are measured. */
export const edits: Protocol = {
  method: 'POST',
  path: '/v1/images/edits',
  body: 'form-or-json',
  family: compatible,
  models: ['sim-image'],
  answer: call => answerWith(call.files === undefined ? readDocument(call) : readForm(call), call),
}

const TYPES = { n: 'number', output_compression: 'number', partial_images: 'number', stream: 'boolean' } as const

function readForm(call: Call): ImageRequest {
  const files = onlyFiles(call, ['image', 'mask'])
  const [mask] = files.some(file => file.name === 'mask') ? picturesOf(files, 'mask') : []
  return readEdit(typed(call.body, TYPES), picturesOf(files, 'image'), mask)
}

function readDocument(call: Call): ImageRequest {
  const { images: given = null, mask: over = null, ...rest } = call.body
  const body = new Fields({ images: given, mask: over })
  const images = body.list('images') ?? []
  if (images.length === 0) throw missing('images')
  const mask = body.fields('mask')
  return readEdit(
    rest,
    images.map(image => readReference(image, call)),
    mask && readReference(mask, call),
  )
}

/** An image in a data URL, or one that was uploaded. The simulator fetches nothing. */
function readReference(reference: Fields, call: Call): Measured {
  const file = reference.string('file_id')
  if (file !== undefined) return pictureOf(fileOf(file, call).bytes, reference.param('file_id'))
  const url = reference.need('image_url', reference.string)
  const param = reference.param('image_url')
  const [, data] = /^data:[^,]*;base64,(.*)$/s.exec(url) ?? []
  if (data === undefined) {
    throw wrongValue(param, `Invalid '${param}': the simulator fetches nothing; give the image in a data URL.`)
  }
  return pictureOf(Buffer.from(data, 'base64'), param)
}

function readEdit(
  { input_fidelity = null, ...body }: JsonObject,
  pictures: readonly Measured[],
  mask: Measured | undefined,
): ImageRequest {
  const [first] = pictures
  if (first === undefined) throw missing('image')
  new Fields({ input_fidelity }).oneOf('input_fidelity', ['high', 'low'])
  checkMask(mask, first)
  const { size = 'auto' } = body
  const request = readImageRequest({ body: { ...body, size: size === 'auto' ? sizeOf(first) : size } })
  return { ...request, given: inputDescriptions(pictures, mask) }
}
