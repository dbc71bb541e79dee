import type { Carry, FieldMapping } from '../../core/fields.js'
import type { ImageField } from '../../core/image.js'
import type { Shapes } from '../images/shape.js'

const LEFT_PARAMETER: FieldMapping<ImageField> = { left: 'only this protocol has this parameter' }

/** Members of a request, as the official clients write them. */
export const PREDICT_FIELDS: Readonly<Record<string, FieldMapping<ImageField>>> = {
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
export const PREDICT_SHAPES: Shapes = {
  aspects: ['1:1', '3:4', '4:3', '9:16', '16:9'],
  resolutions: [
    ['1K', 1024],
    ['2K', 2048],
  ],
}

const ABSENT: Carry = { dropped: 'the protocol has no such member' }

export const PREDICT_CARRIES: Readonly<Record<ImageField, Carry>> = {
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
