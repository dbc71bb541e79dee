import type { EditCodec, ImageCodec, Target, TextCodec, Traits } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { Carry, Field } from '../../core/fields.js'
import type { EditField, EditRequest, ImageField, ImageRequest, ImageResult, MadeImage } from '../../core/image.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Candidate, MediaPart, Part, TextRequest } from '../../core/text.js'
import { given } from '../read.js'
import { EDITS_OWN } from './request.js'
import { filtered, someImages } from './result.js'
import { type Shape, type Shapes, shapeOf } from './shape.js'

/** How images are asked for by a protocol of texts. */
export interface ImagesByText {
  readonly shapes: Shapes
  readonly carries: Readonly<Record<ImageField, Carry>>
  /** Whether it is spoken only where a model is declared so. */
  readonly declared: boolean
  /** The request with the shape of the image in it, which texts have none of. */
  shaped(body: JsonObject, shape: Shape): JsonObject
}

/** Images made by models of texts: the prompt is a turn of the user, and the images are in the answer. */
export function imagesByText(text: TextCodec, way: ImagesByText): ImageCodec {
  const client = { ...clientOf(text, way), carries: way.carries }
  return { operation: 'image', ...nameOf(text, way), server: SERVER, client }
}

/** The same for images before the prompt. */
export function editsByText(text: TextCodec, way: ImagesByText): EditCodec {
  const { client } = text
  return {
    operation: 'edit',
    ...nameOf(text, way),
    server: SERVER,
    client: {
      ...clientOf(text, way),
      carries: { ...way.carries, ...EDITS_OWN },
      takesUrl: (part, traits) => client.takesUrl(part, traits),
    },
  }
}

const SERVER = { decodeRequest: never, encodeResult: never, fields: {} }

function nameOf({ protocol }: TextCodec, { declared }: ImagesByText): Pick<ImageCodec, 'protocol' | 'declared'> {
  return { protocol, ...(declared && { declared: true }) }
}

type Client = Pick<ImageCodec['client'], 'encodeRequest' | 'decodeResult' | 'decodeError' | 'makesOne'>

function clientOf({ client }: TextCodec, way: ImagesByText): Client {
  return {
    encodeRequest: (request: ImageRequest | EditRequest, target: Target<EditField>) => {
      loseOthers(request, target)
      if ('images' in request) loseOfEdit(request, target)
      const shape = shapeOf(request, way.shapes, target)
      const asked = makesOne(target.traits) ? single(request) : request
      const body = client.encodeRequest(asText(asked), textTarget(target))
      return Object.keys(shape).length === 0 ? body : way.shaped(body, shape)
    },
    makesOne,
    decodeResult: body => readImages(client.decodeResult(body)),
    decodeError: (status: number, body: Json | undefined) => client.decodeError(status, body),
  }
}

function never(): never {
  throw new GatewayError('internal', 'Images are served only by image protocols.')
}

/** What text models do not receive. */
const OTHERS = [
  ...(['urls', 'quality', 'style', 'background', 'mime', 'compression', 'moderation'] as const),
  ...(['partials', 'negative'] as const),
]

function loseOthers(request: ImageRequest, target: Target<ImageField>): void {
  for (const field of OTHERS) if (request[field] !== undefined) target.lose(field)
}

function makesOne({ several_images }: Traits): boolean {
  return several_images === false
}

/** Such models refuse requests for several answers. */
function single({ count: _, ...request }: ImageRequest): ImageRequest {
  return request
}

function loseOfEdit({ images, mask, fidelity }: EditRequest, target: Target<EditField>): void {
  for (const { source, at } of images) if ('file' in source) target.lose('imageFiles', at)
  if (mask !== undefined) target.lose('mask')
  if (fidelity !== undefined) target.lose('fidelity')
}

function asText(request: ImageRequest | EditRequest): TextRequest {
  const { model, prompt, count, seed, user } = request
  const images: readonly MediaPart[] = 'images' in request ? request.images : []
  return {
    model,
    stream: false,
    streamUsage: false,
    system: [],
    turns: [{ role: 'user', parts: [...images, { type: 'text', text: prompt }] }],
    tools: [],
    modalities: ['text', 'image'],
    left: [],
    ...given({ candidates: count === 1 ? undefined : count, seed, user }),
  }
}

/** The few canonical fields of texts that such a request has. */
const NAMES: Partial<Record<Field, ImageField>> = { candidates: 'count', seed: 'seed', user: 'user' }

function textTarget({ model, traits, lose }: Target<EditField>): Target {
  const named = (at: string | undefined): EditField => (at === undefined ? 'prompt' : 'images')
  return { model, traits, lose: (field, at, why) => lose(NAMES[field] ?? named(at), at, why) }
}

function readImages({ candidates, created, usage }: ReturnType<TextCodec['client']['decodeResult']>): ImageResult {
  const images = candidates.flatMap(({ parts }) => parts.flatMap(readImage))
  const refused = images.length === 0 ? candidates.find(isRefused) : undefined
  if (refused !== undefined) throw filtered(reasonOf(refused))
  return { images: someImages(images), ...given({ created, input: usage?.input, output: usage?.output }) }
}

function readImage(part: Part): MadeImage[] {
  if (part.type !== 'media' || part.kind !== 'image') return []
  const { source, mime } = part
  const held = 'base64' in source ? source.base64 !== '' && source : 'url' in source && source
  return held === false ? [] : [{ source: held, ...given({ mime }) }]
}

function isRefused({ parts, end: { reason } }: Candidate): boolean {
  return reason === 'filter' || reason === 'refusal' || parts.some(({ type }) => type === 'refusal')
}

function reasonOf({ parts, end }: Candidate): string | undefined {
  const words = parts.map(part => (part.type === 'refusal' ? part.text : '')).join('')
  return words === '' ? end.detail : words
}
