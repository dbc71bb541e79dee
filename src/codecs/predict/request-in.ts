import type { RequestHead } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { ImageRequest } from '../../core/image.js'
import type { JsonObject } from '../../core/json.js'
import type { Left } from '../../core/text.js'
import { given, leaveOthers } from '../members.js'
import { invalid, Reader } from '../read.js'

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

/** A request of `:predict` in canonical form: one instance, which has a prompt. */
export function decodeRequest(value: JsonObject, head: RequestHead): ImageRequest {
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
