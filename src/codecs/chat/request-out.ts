import type { Target } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Format, TextRequest } from '../../core/text.js'
import { sampled, schemaName, userName, writeTier } from '../compatible-settings.js'
import { effortWished } from '../effort.js'
import { compact } from '../read.js'
import { writeMessages } from './messages-out.js'
import { writeTools } from './tools-in.js'

/** Most stop sequences that the protocol's reference allows. */
const MAX_STOPS = 4

/** A canonical request in the words of the chat protocol. Streams are always asked to end with usage. */
export function encodeRequest(request: TextRequest, target: Target): JsonObject {
  const { traits } = target
  const limit = traits.max_tokens_field ?? 'max_completion_tokens'
  if (request.topK !== undefined) target.lose('topK')
  return compact({
    model: target.model,
    messages: writeMessages(request, target),
    stream: request.stream ? true : undefined,
    stream_options: request.stream ? { include_usage: true } : undefined,
    ...writeTools(request, target),
    [limit]: request.maxTokens,
    temperature: sampled('temperature', request.temperature, target),
    top_p: sampled('topP', request.topP, target),
    stop: writeStop(request.stop, target),
    seed: request.seed,
    presence_penalty: request.presencePenalty,
    frequency_penalty: request.frequencyPenalty,
    logit_bias: request.logitBias,
    n: request.candidates,
    ...writeLogprobs(request.logprobs),
    response_format: writeFormat(request.format),
    verbosity: request.verbosity,
    reasoning_effort: writeEffort(request, target),
    user: userName('user', request.user, target),
    safety_identifier: userName('safetyId', request.safetyId, target),
    metadata: writeMetadata(request, target),
    service_tier: writeTier(request.serviceTier),
    prompt_cache_key: request.cacheKey,
    prompt_cache_retention: request.cacheRetention,
    store: request.store,
    modalities: request.modalities,
    audio: request.audio === undefined ? undefined : compact({ ...request.audio }),
  })
}

function writeStop(stop: readonly string[] | undefined, target: Target): readonly string[] | undefined {
  if (stop === undefined || stop.length === 0) return undefined
  if (stop.length > MAX_STOPS) target.lose('stop', undefined, `only the first ${MAX_STOPS}: chat accepts no more`)
  return stop.slice(0, MAX_STOPS)
}

/** The protocol takes metadata for answers that are stored, and refuses a request with others. */
function writeMetadata({ metadata, store }: TextRequest, target: Target): TextRequest['metadata'] {
  if (metadata === undefined || store === true) return metadata
  target.lose('metadata')
  return undefined
}

function writeLogprobs(count: number | undefined): Record<string, Json | undefined> {
  return { logprobs: count === undefined ? undefined : true, top_logprobs: count || undefined }
}

function writeFormat(format: Format | undefined): JsonObject | undefined {
  if (format === undefined) return undefined
  if (format.type === 'json') return { type: 'json_object' }
  const { name, description, schema, strict } = format
  const json_schema = compact({ name: schemaName(name), description, schema, strict })
  return { type: 'json_schema', json_schema }
}

function writeEffort({ reasoning }: TextRequest, target: Target): string | undefined {
  if (reasoning === undefined) return undefined
  const { budget, show, sealed } = reasoning
  const effort = effortWished(reasoning)
  if (show !== undefined) target.lose('showReasoning')
  if (sealed === true) target.lose('sealedReasoning')
  if (target.traits.reasoning === 'none') {
    const why = 'the effort of the model cannot be set'
    if (effort !== undefined) target.lose(reasoning.effort === undefined ? 'budget' : 'effort', undefined, why)
    return undefined
  }
  if (budget !== undefined) target.lose('budget')
  return effort
}
