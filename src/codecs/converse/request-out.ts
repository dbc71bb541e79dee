import { isDeepStrictEqual } from 'node:util'
import type { Target } from '../../core/codec.js'
import { jsonText } from '../../core/exact-json.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Format, TextRequest } from '../../core/text.js'
import { demandsCall } from '../forced-tool.js'
import { type Circumstances, encodeReasoning, type ReasoningOut } from '../messages/reasoning-out.js'
import { strictSchema } from '../messages/strict-schema.js'
import { encodeSampling } from '../messages/turns-out.js'
import { compact } from '../read.js'
import { encodeTools } from './tools-out.js'
import { continuesWithoutThoughts, encodeSystem, encodeTurns } from './turns-out.js'

/** What is said for an answer in JSON of any form. */
const ONLY_JSON = 'Answer with one JSON object and nothing else.'

/** The body of `converse` and `converse-stream`; the model is in the path. Throws `untranslatable`. */
export function encodeRequest(request: TextRequest, target: Target): JsonObject {
  const system = encodeSystem(request, target)
  if (request.format?.type === 'json') {
    target.lose('formatJson', undefined, 'requested from the model, but not enforced')
    system.push({ text: ONLY_JSON })
  }
  const messages = encodeTurns(request.turns, target)
  const toolConfig = encodeTools(request, target)
  const circumstances = {
    maxTokens: request.maxTokens ?? target.traits.max_output,
    demandsCall: toolConfig?.toolChoice !== undefined && demandsCall(request.toolChoice),
    prefilled: messages.at(-1)?.role === 'assistant',
    thoughtless: continuesWithoutThoughts(messages),
  }
  const { thinking, effort } = reasoningOf(request.reasoning, circumstances, target)
  loseOthers(request, target)
  return compact({
    messages: messages.map(({ role, content }) => ({ role, content })),
    system: system.length === 0 ? undefined : system,
    inferenceConfig: encodeInference(request, thinking !== undefined && thinking.type !== 'disabled', target),
    toolConfig,
    outputConfig: encodeOutput(effort, request.format, target),
    additionalModelRequestFields: thinking === undefined ? undefined : { thinking },
    requestMetadata: request.metadata,
    serviceTier: encodeTier(request, target),
  })
}

/**
 * Models of several vendors are asked by this protocol. It has an effort of its own; `thinking` goes to those alone that
 * are declared to take it.
 */
function reasoningOf(reasoning: TextRequest['reasoning'], circumstances: Circumstances, target: Target): ReasoningOut {
  const declared = target.traits.reasoning
  if (declared === undefined && (reasoning?.effort === 'none' || reasoning?.budget === 0)) return {}
  const terms = declared === undefined || declared === 'level' ? 'effort' : declared
  const traits = { ...target.traits, reasoning: terms }
  const out = encodeReasoning(reasoning, circumstances, { model: target.model, traits, lose: target.lose })
  const isSeen = reasoning?.show === undefined || reasoning.show === 'none'
  if (out.thinking === undefined && !isSeen) target.lose('showReasoning', undefined, 'the model decides that by itself')
  return out
}

function encodeInference(request: TextRequest, thinks: boolean, target: Target): Json | undefined {
  const { maxTokens, stop, topK, temperature, topP } = request
  if (topK !== undefined) target.lose('topK')
  const { topK: _, ...others } = request
  const sampled =
    thinks || target.traits.sampling === false
      ? encodeSampling(others, thinks, target)
      : { temperature: bounded(temperature, target), top_p: topP }
  const config = compact({
    maxTokens: maxTokens ?? target.traits.max_output,
    temperature: sampled.temperature,
    topP: sampled.top_p,
    stopSequences: stop,
  })
  return Object.keys(config).length === 0 ? undefined : config
}

function bounded(temperature: number | undefined, target: Target): number | undefined {
  if (temperature === undefined || (temperature >= 0 && temperature <= 1)) return temperature
  target.lose('temperature', undefined, 'it goes from 0 to 1 here')
  return temperature > 1 ? 1 : 0
}

function encodeOutput(effort: string | undefined, format: Format | undefined, target: Target): Json | undefined {
  if (format?.type !== 'schema') return effort === undefined ? undefined : { effort }
  const schema = strictSchema(format.schema, undefined)
  if (!isDeepStrictEqual(schema, format.schema)) target.lose('formatSchema')
  const { name, description } = format
  const jsonSchema = compact({ schema: jsonText(schema), name, description })
  return compact({ textFormat: { type: 'json_schema', structure: { jsonSchema } }, effort })
}

const TIERS: ReadonlySet<string> = new Set(['priority', 'default', 'flex', 'reserved'])

function encodeTier({ serviceTier }: TextRequest, target: Target): Json | undefined {
  if (serviceTier === undefined || serviceTier === 'auto') return undefined
  if (TIERS.has(serviceTier)) return { type: serviceTier }
  target.lose('serviceTier', undefined, 'it has no such tier')
  return undefined
}

const DROPPED = [
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'logitBias',
  'logprobs',
  'verbosity',
  'user',
  'safetyId',
  'cacheKey',
  'cacheRetention',
] as const

function loseOthers(request: TextRequest, target: Target): void {
  for (const field of DROPPED) if (request[field] !== undefined) target.lose(field)
  if (request.candidates !== undefined && request.candidates > 1) target.lose('candidates')
  if (request.store === true) target.lose('store')
  if (request.modalities?.some(kind => kind === 'audio')) target.lose('modalities')
  if (request.audio !== undefined) target.lose('audioOutput')
}
