import type { Target } from '../../core/codec.js'
import type { Field } from '../../core/fields.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Format, TextRequest } from '../../core/text.js'
import { answeredTier, sampled, schemaName, userName } from '../compatible-settings.js'
import { effortWished } from '../effort.js'
import { compact } from '../read.js'
import { plainText } from '../turns.js'
import { writeInput } from './items-out.js'
import { writeTools } from './tools-out.js'

/** Least limit of tokens that the protocol takes. */
const MIN_OUTPUT_TOKENS = 16

/**
 * A canonical request in the words of the responses protocol. The conversation is sent whole and nothing is left at the
 * upstream (`store: false`) unless the client says otherwise: the gateway keeps the state. Thoughts then have to come
 * sealed, or the next turn could not continue from them.
 */
export function encodeRequest(request: TextRequest, target: Target): JsonObject {
  const stored = request.store ?? false
  return compact({
    model: target.model,
    ...promptOf(request, target),
    stream: request.stream ? true : undefined,
    store: stored,
    include: includeOf(request, stored),
    ...writeTools(request, target),
    ...settingsOf(request, target),
    text: textOf(request),
    reasoning: reasoningOf(request, target),
    user: userName('user', request.user, target),
    safety_identifier: userName('safetyId', request.safetyId, target),
    metadata: request.metadata,
    service_tier: tierOf(request.serviceTier, target),
    prompt_cache_key: request.cacheKey,
    prompt_cache_retention: request.cacheRetention,
  })
}

/** The body of a count: what takes up tokens of the input. */
export function encodeCount(request: TextRequest, target: Target): JsonObject {
  return compact({
    model: target.model,
    ...promptOf(request, target),
    ...writeTools(request, target),
    text: textOf(request),
  })
}

/** Instructions alone are not questions to the protocol, so they are in the conversation then. */
function promptOf(request: TextRequest, target: Target): Readonly<Record<string, Json | undefined>> {
  const input = writeInput(request, target)
  if (request.system.length === 0) return { input }
  const instructions = instructionsOf(request, target)
  if (input.length > 0) return { input, instructions }
  return { input: [{ type: 'message', role: 'developer', content: [{ type: 'input_text', text: instructions }] }] }
}

function instructionsOf({ system }: TextRequest, target: Target): string {
  for (const part of system) if (part.cache !== undefined) target.lose('cacheMarks', part.at)
  return plainText(system)
}

/** Members that the protocol does not have are lost; the others pass. */
function settingsOf(request: TextRequest, target: Target): Readonly<Record<string, Json | undefined>> {
  const lost: readonly (readonly [Field, unknown])[] = [
    ['topK', request.topK],
    ['stop', request.stop],
    ['seed', request.seed],
    ['presencePenalty', request.presencePenalty],
    ['frequencyPenalty', request.frequencyPenalty],
    ['logitBias', request.logitBias],
    ['modalities', request.modalities],
    ['audioOutput', request.audio],
  ]
  for (const [field, value] of lost) if (value !== undefined) target.lose(field)
  if (request.candidates !== undefined && request.candidates > 1) target.lose('candidates')
  const { maxTokens } = request
  if (maxTokens !== undefined && maxTokens < MIN_OUTPUT_TOKENS) {
    target.lose('maxTokens', undefined, `${MIN_OUTPUT_TOKENS} is the minimum of this protocol`)
  }
  return {
    max_output_tokens: maxTokens === undefined ? undefined : Math.max(maxTokens, MIN_OUTPUT_TOKENS),
    temperature: sampled('temperature', request.temperature, target),
    top_p: sampled('topP', request.topP, target),
    top_logprobs: request.logprobs,
  }
}

function includeOf({ logprobs, reasoning }: TextRequest, stored: boolean): readonly string[] | undefined {
  const sealed = !stored || reasoning?.sealed === true
  const include = [
    ...(sealed ? ['reasoning.encrypted_content'] : []),
    ...(logprobs === undefined ? [] : ['message.output_text.logprobs']),
  ]
  return include.length === 0 ? undefined : include
}

function textOf({ format, verbosity }: TextRequest): JsonObject | undefined {
  const text = compact({ format: formatOf(format), verbosity })
  return Object.keys(text).length === 0 ? undefined : text
}

function formatOf(format: Format | undefined): JsonObject | undefined {
  if (format === undefined) return undefined
  if (format.type === 'json') return { type: 'json_object' }
  const { name, description, schema, strict } = format
  return compact({ type: 'json_schema', name: schemaName(name), description, schema, strict: strict ?? false })
}

function reasoningOf({ reasoning }: TextRequest, target: Target): JsonObject | undefined {
  if (reasoning === undefined) return undefined
  const effort = effortWished(reasoning)
  if (target.traits.reasoning === 'none') {
    const field = reasoning.effort === undefined && reasoning.budget !== undefined ? 'budget' : 'effort'
    if (effort !== undefined) target.lose(field, undefined, 'the effort of the model cannot be set')
    return undefined
  }
  if (reasoning.budget !== undefined) target.lose('budget')
  const { show } = reasoning
  // Anyone who speaks of thoughts without a word on showing them comes from a protocol where they are shown.
  const summary =
    show === 'none' ? undefined : (show ?? (effort === undefined || effort === 'none' ? undefined : 'auto'))
  const wish = compact({ effort, summary })
  return Object.keys(wish).length === 0 ? undefined : wish
}

/** Words that this protocol does not know are lost. */
function tierOf(tier: string | undefined, target: Target): string | undefined {
  const word = answeredTier(tier)
  if (tier !== undefined && word === undefined) target.lose('serviceTier', undefined, 'it has no such tier')
  return word
}
