import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { wrongValue } from '../../families/refusals.js'
import { typed } from '../../form.js'
import type { Call, Protocol } from '../../protocol.js'
import { inputDescriptions, onlyFiles, picturesOf, sizeOf } from './given.js'
import { answerWith } from './index.js'
import { type ImageRequest, readImageRequest } from './request.js'

/** `POST /v1/images/variations`: images whose description names what they vary. */
export const variations: Protocol = {
  method: 'POST',
  path: '/v1/images/variations',
  body: 'form',
  family: compatible,
  models: ['sim-image'],
  answer: call => answerWith(readVariation(call), call),
}

const FIELDS = ['model', 'n', 'response_format', 'size', 'user']

function readVariation(call: Call): ImageRequest {
  const [picture, ...others] = picturesOf(onlyFiles(call, ['image']), 'image')
  if (picture === undefined || others.length > 0) throw wrongValue('image', "Invalid 'image': one image is varied.")
  const body = new Fields(typed(call.body, { n: 'number' })).only(FIELDS).object
  const given = inputDescriptions([picture])
  const prompt = `A variation of ${given.join()}`
  return { ...readImageRequest({ body: { ...body, prompt, size: body.size ?? sizeOf(picture) } }), given }
}
