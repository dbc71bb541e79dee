import type { Carry, FieldMapping } from '../../core/fields.js'
import type { EditField, ImageField } from '../../core/image.js'

/** Members of CreateImageRequest. */
export const IMAGES_FIELDS: Readonly<Record<string, FieldMapping<ImageField>>> = {
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
  stream: { here: 'whole images arrive as events' },
  partial_images: 'partials',
  user: 'user',
}

/** Members of EditImageBodyJsonParam. Forms have `image`, once or several times, instead of `images`. */
export const EDITS_FIELDS: Readonly<Record<string, FieldMapping<EditField>>> = {
  model: { here: 'chooses the model' },
  prompt: 'prompt',
  images: 'images',
  'images[].image_url': 'images',
  'images[].file_id': 'imageFiles',
  mask: 'mask',
  'mask.image_url': 'mask',
  'mask.file_id': 'mask',
  n: 'count',
  size: 'size',
  response_format: 'urls',
  quality: 'quality',
  background: 'background',
  input_fidelity: 'fidelity',
  output_format: 'mime',
  output_compression: 'compression',
  moderation: 'moderation',
  stream: { here: 'whole images arrive as events' },
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
  resolution: { dropped: 'sizes are in pixels, and most models have three' },
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

/** What edits have beside other requests for images, for models of texts that look at images. */
export const EDITS_OWN: Readonly<Record<Exclude<EditField, ImageField>, Carry>> = {
  images: 'carried',
  imageFiles: { refused: 'the file is at another upstream; give the image itself' },
  mask: { refused: 'such a model knows what to change only from the prompt' },
  fidelity: { dropped: 'such a model gets only the prompt' },
}
