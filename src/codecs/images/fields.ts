import type { Carry, Held } from '../../core/fields.js'
import type { ImageField } from '../../core/image.js'

/** Members of CreateImageRequest. */
export const IMAGES_FIELDS: Readonly<Record<string, Held<ImageField>>> = {
  model: { here: 'chooses the model' },
  prompt: 'prompt',
  n: 'count',
  size: 'size',
  response_format: 'urls',
  quality: 'quality',
  style: 'style',
  background: 'background',
  output_format: 'mime',
  output_compression: 'compression',
  moderation: 'moderation',
  stream: { here: 'the whole images come as events' },
  partial_images: 'partials',
  user: 'user',
}

const ABSENT: Carry = { dropped: 'the protocol has no such member' }
const SHAPED: Carry = { approximated: 'as the nearest of three sizes' }

export const IMAGES_CARRIES: Readonly<Record<ImageField, Carry>> = {
  prompt: 'carried',
  count: 'carried',
  size: 'carried',
  aspect: SHAPED,
  resolution: { dropped: 'sizes are told in pixels, and most models have three' },
  urls: 'carried',
  quality: 'carried',
  style: 'carried',
  background: 'carried',
  mime: 'carried',
  compression: 'carried',
  moderation: 'carried',
  partials: { dropped: 'the upstream is asked for whole images' },
  negative: ABSENT,
  seed: ABSENT,
  user: 'carried',
}
