import type { EditCodec, ImageCodec } from '../../core/codec.js'
import type { Carry } from '../../core/fields.js'
import type { ImageField } from '../../core/image.js'
import { isObject, type JsonObject } from '../../core/json.js'
import { chat } from '../chat/index.js'
import { decodeError } from '../compatible-errors.js'
import { generate } from '../generate/index.js'
import { isFetched } from '../media.js'
import { compact } from '../read.js'
import { editsByText, type ImagesByText, imagesByText } from './by-text.js'
import {
  decodeEdit,
  decodeRequest,
  EDITS_FIELDS,
  EDITS_OWN,
  encodeEdit,
  encodeRequest,
  IMAGES_CARRIES,
  IMAGES_FIELDS,
} from './request.js'

import { decodeResult, encodeEditEvents, encodeEvents, encodeResult } from './result.js'
import type { Shapes } from './shape.js'

/** Compatible image generation: `POST …/images/generations`. */
export const images: ImageCodec = {
  operation: 'image',
  protocol: 'images.generations',
  server: { decodeRequest, encodeResult, encodeEvents, fields: IMAGES_FIELDS },
  client: { encodeRequest, decodeResult, decodeError, carries: IMAGES_CARRIES },
}

/** Compatible edits: `POST …/images/edits`. Upstreams that take no forms get the JSON that the protocol has in their place. */
export const edits: EditCodec = {
  operation: 'edit',
  protocol: 'images.edits',
  forms: true,
  server: { decodeRequest: decodeEdit, encodeResult, encodeEvents: encodeEditEvents, fields: EDITS_FIELDS },
  client: {
    encodeRequest: encodeEdit,
    decodeResult,
    decodeError,
    carries: { ...IMAGES_CARRIES, ...EDITS_OWN, mask: 'carried', fidelity: 'carried' },
    takesUrl: (part, traits) => isFetched(part, traits, false),
  },
}

/** Shapes in the ImageConfig of text models. */
const SHAPES: Shapes = {
  aspects: [
    ...['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9'],
    ...['1:4', '4:1', '1:8', '8:1'],
  ],
  resolutions: [
    ['1K', 1024],
    ['2K', 2048],
    ['4K', 4096],
  ],
}

const ABSENT: Carry = { dropped: 'such a model gets only the prompt' }

const CARRIES: Readonly<Record<ImageField, Carry>> = {
  prompt: 'carried',
  count: 'carried',
  size: { approximated: 'as the nearest aspect ratio and resolution' },
  aspect: 'carried',
  resolution: 'carried',
  urls: { refused: 'its images are bytes, and the gateway stores none; ask for b64_json' },
  quality: ABSENT,
  style: ABSENT,
  background: ABSENT,
  mime: { dropped: 'such a model chooses the format' },
  compression: ABSENT,
  moderation: ABSENT,
  partials: { dropped: 'such a model returns whole images' },
  negative: ABSENT,
  seed: 'carried',
  user: ABSENT,
}

const BY_GENERATE: ImagesByText = {
  shapes: SHAPES,
  declared: false,
  carries: CARRIES,
  shaped: (body, { aspect, resolution }) => {
    const config = isObject(body.generationConfig) ? body.generationConfig : {}
    return {
      ...body,
      generationConfig: { ...config, imageConfig: named('aspectRatio', aspect, 'imageSize', resolution) },
    }
  },
}

const BY_CHAT: ImagesByText = {
  shapes: SHAPES,
  declared: true,
  carries: { ...CARRIES, user: 'carried' },
  shaped: (body, { aspect, resolution }) => ({
    ...body,
    image_config: named('aspect_ratio', aspect, 'image_size', resolution),
  }),
}

/** Images of the native protocol: `:generateContent` with the modality of images. */
export const imagesByGenerate: ImageCodec = imagesByText(generate, BY_GENERATE)
export const editsByGenerate: EditCodec = editsByText(generate, BY_GENERATE)

/** Images of chat models, which are beside the words of the message. */
export const imagesByChat: ImageCodec = imagesByText(chat, BY_CHAT)
export const editsByChat: EditCodec = editsByText(chat, BY_CHAT)

function named(first: string, aspect: string | undefined, second: string, resolution: string | undefined): JsonObject {
  return compact({ [first]: aspect, [second]: resolution })
}
