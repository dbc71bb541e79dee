import type { Target } from '../../core/codec.js'
import type { EmbedField, EmbedInput, EmbedRequest } from '../../core/embed.js'
import { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import { isDeclared } from '../embed-media.js'
import { mediaData } from '../native-media.js'
import { compact } from '../read.js'

/** A canonical request as EmbedContentRequest, which holds one input. */
export function encodeSingle(request: EmbedRequest, target: Target<EmbedField>): JsonObject {
  const [input, ...others] = request.inputs
  if (input === undefined || others.length > 0) {
    const at = others[0]?.at
    const message = "The model's upstream speaks another protocol, which embeds one input at a time."
    throw new GatewayError('untranslatable', message, at === undefined ? {} : { param: at })
  }
  if (request.user !== undefined) target.lose('user')
  return writeOne(input, request, target)
}

/** A canonical request as BatchEmbedContentsRequest. */
export function encodeBatch(request: EmbedRequest, target: Target<EmbedField>): JsonObject {
  if (request.user !== undefined) target.lose('user')
  return { requests: request.inputs.map(input => writeOne(input, request, target)) }
}

function writeOne(input: EmbedInput, request: EmbedRequest, target: Target<EmbedField>): JsonObject {
  return compact({
    model: target.model.includes('/') ? target.model : `models/${target.model}`,
    content: { parts: writeParts(input, target) },
    taskType: request.task,
    title: request.title,
    outputDimensionality: request.dimensions,
  })
}

function writeParts(input: EmbedInput, target: Target<EmbedField>): readonly JsonObject[] {
  if ('tokens' in input) {
    target.lose('tokenInputs', input.at)
    return []
  }
  return input.parts.map(part => {
    if (part.type === 'text') return { text: part.text }
    if (!isDeclared(target.traits)) target.lose('mediaInputs', part.at)
    const data = mediaData(part)
    if (data !== undefined) return data
    throw new GatewayError('untranslatable', 'The upstream cannot use a file id of another protocol.', {
      param: part.at,
    })
  })
}
