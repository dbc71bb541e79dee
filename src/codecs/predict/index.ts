import type { ImageCodec, RequestHead, Target } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { Carry, FieldMapping } from '../../core/fields.js'
import type { ImageField, ImageRequest, ImageResult, MadeImage } from '../../core/image.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Left } from '../../core/text.js'
import { filtered, someImages } from '../images/result.js'
import { type Shapes, shapeOf } from '../images/shape.js'
import { decodeError, errorOf, streamError } from '../native-errors.js'
import { arrayOf, badUpstream, compact, given, invalid, leaveOthers, objectOf, Reader, stringOf } from '../read.js'

const LEFT_PARAMETER: FieldMapping<ImageField> = { left: 'only this protocol has this parameter' }

/** Members of a request, as the official clients write them. */
const PREDICT_FIELDS: Readonly<Record<string, FieldMapping<ImageField>>> = {
  'instances[].prompt': 'prompt',
  'parameters.sampleCount': 'count',
  'parameters.aspectRatio': 'aspect',
  'parameters.sampleImageSize': 'resolution',
  'parameters.outputOptions.mimeType': 'mime',
  'parameters.outputOptions.compressionQuality': 'compression',
  'parameters.negativePrompt': 'negative',
  'parameters.seed': 'seed',
  'parameters.includeRaiReason': { here: 'reasons of refusals are always sent' },
  'parameters.includeSafetyAttributes': LEFT_PARAMETER,
  'parameters.personGeneration': LEFT_PARAMETER,
  'parameters.safetySetting': LEFT_PARAMETER,
  'parameters.language': LEFT_PARAMETER,
  'parameters.enhancePrompt': LEFT_PARAMETER,
  'parameters.addWatermark': LEFT_PARAMETER,
  'parameters.guidanceScale': LEFT_PARAMETER,
  'parameters.storageUri': LEFT_PARAMETER,
}

/** The shapes that its models know. */
const PREDICT_SHAPES: Shapes = {
  aspects: ['1:1', '3:4', '4:3', '9:16', '16:9'],
  resolutions: [
    ['1K', 1024],
    ['2K', 2048],
  ],
}

const ABSENT: Carry = { dropped: 'the protocol has no such member' }

const PREDICT_CARRIES: Readonly<Record<ImageField, Carry>> = {
  prompt: 'carried',
  count: 'carried',
  size: { approximated: 'as the nearest aspect ratio and resolution' },
  aspect: 'carried',
  resolution: 'carried',
  urls: { refused: 'its images are bytes, and the gateway stores none; ask for b64_json' },
  quality: ABSENT,
  style: ABSENT,
  background: ABSENT,
  mime: 'carried',
  compression: 'carried',
  moderation: ABSENT,
  partials: { dropped: 'the protocol has no streams' },
  negative: 'carried',
  seed: 'carried',
  user: ABSENT,
}

const PARAMETERS = new Set([
  ...['sampleCount', 'aspectRatio', 'sampleImageSize', 'outputOptions', 'negativePrompt', 'seed', 'includeRaiReason'],
])
/** What holds where nothing is said is not missed. */
const DEFAULTS: ReadonlyMap<string, unknown> = new Map([
  ['includeSafetyAttributes', false],
  ['addWatermark', true],
  ['enhancePrompt', true],
])
const WHY = 'only this protocol has this parameter'

/** Images that its models make where a request does not say, by their reference. */
const DEFAULT_COUNT = 4

/** A request of `:predict` in canonical form: one instance, which has a prompt. */
function decodeRequest(value: JsonObject, head: RequestHead): ImageRequest {
  const body = new Reader(value)
  const left: Left[] = []
  leaveOthers(body, new Set(['instances', 'parameters']), left)
  const [instance, ...others] = body.objects('instances') ?? []
  if (instance === undefined) throw invalid('instances', 'expected one instance')
  if (others.length > 0) {
    const message = "The model's upstream speaks another protocol, which accepts one prompt at a time."
    throw new GatewayError('untranslatable', message, { param: 'instances[1]' })
  }
  leaveOthers(instance, new Set(['prompt']), left)
  const parameters = body.object('parameters')
  return {
    model: head.model,
    prompt: instance.required('prompt'),
    stream: false,
    count: DEFAULT_COUNT,
    ...(parameters === undefined ? {} : readParameters(parameters, left)),
    left,
  }
}

function readParameters(parameters: Reader, left: Left[]): Partial<ImageRequest> {
  const others: Left[] = []
  leaveOthers(parameters, PARAMETERS, others)
  for (const { field } of others) {
    const name = field.replace('parameters.', '')
    if (!DEFAULTS.has(name) || parameters.raw(name) !== DEFAULTS.get(name)) left.push({ field, why: WHY })
  }
  const output = parameters.object('outputOptions')
  return given({
    count: parameters.number('sampleCount'),
    aspect: parameters.string('aspectRatio'),
    resolution: parameters.string('sampleImageSize'),
    mime: output?.string('mimeType'),
    compression: output?.number('compressionQuality'),
    negative: parameters.string('negativePrompt'),
    seed: parameters.number('seed'),
  })
}

const NOT_KNOWN = ['urls', 'quality', 'style', 'background', 'moderation', 'partials', 'user'] as const

/** Formats that its models write. */
const MIMES = ['image/png', 'image/jpeg']

/** A canonical request for `:predict`. The model is in the path. */
function encodeRequest(request: ImageRequest, target: Target<ImageField>): JsonObject {
  for (const field of NOT_KNOWN) if (request[field] !== undefined) target.lose(field)
  const { aspect, resolution } = shapeOf(request, PREDICT_SHAPES, target)
  return {
    instances: [{ prompt: request.prompt }],
    parameters: compact({
      // Where nothing is said it makes more.
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

/** An answer of `:predict` in canonical form. Throws `bad_upstream_response`, or `upstream_rejected` where all was filtered. */
function decodeResult(body: Json): ImageResult {
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
function encodeResult({ images }: ImageResult, { mime }: ImageRequest): JsonObject {
  return { predictions: images.map(image => writeImage(image, mime ?? 'image/png')) }
}

function writeImage({ source, mime, prompt }: MadeImage, fallback: string): JsonObject {
  if ('base64' in source) return compact({ mimeType: mime ?? fallback, bytesBase64Encoded: source.base64, prompt })
  const message = 'The upstream sent the URL of an image, but clients of this protocol need its bytes.'
  throw new GatewayError('bad_upstream_response', message, { phase: 'content' })
}

/** Native models that do nothing but make images: `POST …/models/{model}:predict`. */
export const predict: ImageCodec = {
  operation: 'image',
  protocol: 'predict',
  server: { decodeRequest, encodeResult, fields: PREDICT_FIELDS },
  client: { encodeRequest, decodeResult, decodeError, carries: PREDICT_CARRIES },
}
