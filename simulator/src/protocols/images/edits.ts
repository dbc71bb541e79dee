import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { missing, wrongValue } from '../../families/refusals.js'
import { type FormFile, typed } from '../../form.js'
import { type Measured, measure } from '../../image/measure.js'
import type { JsonObject } from '../../json.js'
import { type Call, endpoint } from '../../protocol.js'
import { fileOf } from '../files/index.js'
import { answerWith, type ImageRequest, readImageRequest } from './index.js'

/** `POST /v1/images/edits`: images of the size of the first image; that and the mask are measured. */
export const edits = endpoint(
  compatible,
  'POST /v1/images/edits',
  { body: 'form-or-json', models: ['sim-image'] },
  call => answerWith(call.files === undefined ? readDocument(call) : readForm(call), call),
)

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

/** `POST /v1/images/variations`: images whose description names what they vary. */
export const variations = endpoint(
  compatible,
  'POST /v1/images/variations',
  { body: 'form', models: ['sim-image'] },
  call => answerWith(readVariation(call), call),
)

const FIELDS = ['model', 'n', 'response_format', 'size', 'user']

function readVariation(call: Call): ImageRequest {
  const [picture, ...others] = picturesOf(onlyFiles(call, ['image']), 'image')
  if (picture === undefined || others.length > 0) throw wrongValue('image', "Invalid 'image': one image is varied.")
  const body = new Fields(typed(call.body, { n: 'number' })).only(FIELDS).object
  const given = inputDescriptions([picture])
  const prompt = `A variation of ${given.join()}`
  return { ...readImageRequest({ body: { ...body, prompt, size: body.size ?? sizeOf(picture) } }), given }
}

/** The sides of images that are made. */
const SIDES = { min: 64, max: 2048 }
const MAX_INPUT_IMAGES = 16

/** The files of a name, measured. Throws if one of them is not a picture, or if there are none or too many. */
function picturesOf(files: readonly FormFile[], name: string): readonly Measured[] {
  const found = files.filter(file => file.name === name)
  if (found.length === 0) throw missing(name)
  if (found.length > MAX_INPUT_IMAGES)
    throw wrongValue(name, `Invalid '${name}': at most ${MAX_INPUT_IMAGES} images are taken.`)
  return found.map(({ bytes }) => pictureOf(bytes, name))
}

/** Throws if the bytes are not a picture. */
function pictureOf(bytes: Buffer, param: string): Measured {
  if (bytes.length === 0) throw wrongValue(param, `Invalid file '${param}': it is empty.`)
  const measured = measure(bytes)
  if (measured !== undefined) return measured
  throw wrongValue(param, `Invalid file '${param}': unsupported format. Supported file formats are PNG, JPEG and WebP.`)
}

/** Throws where the mask does not lie on the picture. */
function checkMask(mask: Measured | undefined, picture: Measured): void {
  if (mask === undefined || (mask.width === picture.width && mask.height === picture.height)) return
  throw wrongValue(
    'mask',
    `Invalid mask image: its size (${text(mask)}) has to be that of the first image (${text(picture)}).`,
  )
}

/** The size of the answer if none is requested: the picture's, within the bounds of images. */
function sizeOf({ width, height }: Measured): string {
  const side = (length: number): number => Math.max(SIDES.min, Math.min(SIDES.max, length))
  return `${side(width)}x${side(height)}`
}

function inputDescriptions(pictures: readonly Measured[], mask?: Measured): readonly string[] {
  return [...pictures.map(each => `${each.format} ${text(each)}`), ...(mask === undefined ? [] : ['a mask'])]
}

function text({ width, height }: Measured): string {
  return `${width}x${height}`
}

/** Throws if a file has an unknown name. */
function onlyFiles({ files = [] }: Pick<Call, 'files'>, names: readonly string[]): readonly FormFile[] {
  const stranger = files.find(file => !names.includes(file.name))
  if (stranger === undefined) return files
  throw wrongValue(stranger.name, `Unexpected file in the field '${stranger.name.slice(0, 100)}'.`)
}
