import { isDeepStrictEqual } from 'node:util'
import type { Target } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Format, TextRequest } from '../../core/text.js'
import { userDigest } from '../compatible-settings.js'
import { demandsCall, forceTool } from '../forced-tool.js'
import { compact } from '../read.js'
import { encodeReasoning, type ReasoningOut } from './reasoning-out.js'
import { strictSchema } from './strict-schema.js'
import { encodeTools } from './tools-out.js'
import { continuesWithoutThoughts, encodeSampling, encodeSystem, encodeTurns, wireMessages } from './turns-out.js'

/** What is said for `json_object`: the service takes schemas of closed objects only. */
const ONLY_JSON = 'Answer with one JSON object and nothing else.'

/**
 * `CreateMessageParams` of the reference. Throws `untranslatable` for what cannot be said and cannot be left out, and
 * where no limit of tokens is named, which the protocol demands.
 */
export function encodeRequest(request: TextRequest, target: Target): JsonObject {
  const maxTokens = limitOf(request, target)
  const question = encodeQuestion(request, maxTokens, target)
  const thinks = question.thinking !== undefined && (question.thinking as JsonObject).type !== 'disabled'
  loseOthers(request, target)
  return compact(question, { max_tokens: maxTokens }, encodeSampling(request, thinks, target), {
    stop_sequences: encodeStop(request, target),
    metadata: encodeUser(request, target),
    service_tier: encodeTier(request, target),
    stream: request.stream || undefined,
  })
}

/** `CountMessageTokensParams`: the same without what governs the answer. A tool that will be forced is counted. */
export function encodeCount(asked: TextRequest, target: Target): JsonObject {
  const byTool = target.traits.structured === 'tool' || asked.format?.type === 'json'
  const request = byTool ? forceTool(asked, target) : asked
  return compact(encodeQuestion(request, request.maxTokens ?? target.traits.max_output, target))
}

/** What the prompt is made of. */
function encodeQuestion(
  request: TextRequest,
  maxTokens: number | undefined,
  target: Target,
): Readonly<Record<string, Json | undefined>> {
  const { format, toolChoice } = request
  const system = encodeSystem(request, target)
  if (format?.type === 'json') target.lose('formatJson', undefined, 'requested from the model, but not enforced')
  const instructions = format?.type === 'json' ? [...system, { type: 'text', text: ONLY_JSON }] : system
  const messages = encodeTurns(request.turns, target)
  const tools = encodeTools(request, target)
  const { thinking, effort } = encodeReasoning(
    request.reasoning,
    {
      maxTokens,
      demandsCall: tools.tools !== undefined && demandsCall(toolChoice),
      prefilled: messages.at(-1)?.role === 'assistant',
      thoughtless: continuesWithoutThoughts(messages),
    },
    target,
  )
  return {
    model: target.model,
    messages: wireMessages(messages),
    system: instructions.length === 0 ? undefined : instructions,
    thinking,
    output_config: encodeOutput(effort, format, target),
    ...tools,
  }
}

/** Clients of each protocol call the limit otherwise, and know the model by another name: the error says neither. */
function limitOf({ maxTokens }: TextRequest, { traits }: Target): number {
  const limit = maxTokens ?? traits.max_output
  if (limit !== undefined) return limit
  const why = 'The model needs a limit of output tokens, and neither the request nor its max_output sets one.'
  throw new GatewayError('untranslatable', why)
}

function encodeOutput(effort: ReasoningOut['effort'], format: Format | undefined, target: Target): Json | undefined {
  if (format?.type !== 'schema') return effort === undefined ? undefined : { effort }
  const schema = strictSchema(format.schema, undefined)
  if (!isDeepStrictEqual(schema, format.schema)) target.lose('formatSchema')
  return { ...(effort !== undefined && { effort }), format: { type: 'json_schema', schema } }
}

function encodeStop({ stop }: TextRequest, target: Target): Json | undefined {
  const visible = stop?.filter(sequence => sequence.trim() !== '')
  if (visible?.length !== stop?.length) target.lose('stop', undefined, 'white-space sequences are not accepted')
  return visible === undefined || visible.length === 0 ? undefined : visible
}

/** Longest `user_id`, in characters. */
const MAX_USER_CHARS = 512
/** E-mail addresses and telephone numbers, which the protocol forbids as a `user_id`. */
const PERSONAL = /[^\s@]@[^\s@]+\.[^\s@]|^\+[\d\s().-]{7,}$/

function encodeUser({ user, safetyId }: TextRequest, target: Target): Json | undefined {
  const id = user ?? safetyId
  if (user !== undefined && safetyId !== undefined && user !== safetyId) {
    target.lose('safetyId', undefined, 'its only place is taken by the end user')
  }
  if (id === undefined) return undefined
  if (id.length <= MAX_USER_CHARS && !PERSONAL.test(id)) return { user_id: id }
  return { user_id: userDigest(user === undefined ? 'safetyId' : 'user', id, target) }
}

const TIERS: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['priority', 'auto'],
  ['default', 'standard_only'],
  ['standard_only', 'standard_only'],
])

function encodeTier({ serviceTier }: TextRequest, target: Target): string | undefined {
  if (serviceTier === undefined) return undefined
  const tier = TIERS.get(serviceTier)
  if (tier === undefined) target.lose('serviceTier', undefined, 'it has no such tier')
  return tier
}

function loseOthers(request: TextRequest, target: Target): void {
  for (const field of DROPPED) if (request[field] !== undefined) target.lose(field)
  if (request.candidates !== undefined && request.candidates > 1) target.lose('candidates')
  if (request.store === true) target.lose('store')
  if (request.modalities?.some(kind => kind !== 'text')) target.lose('modalities')
  if (request.audio !== undefined) target.lose('audioOutput')
}

const DROPPED = [
  'seed',
  'presencePenalty',
  'frequencyPenalty',
  'logitBias',
  'logprobs',
  'verbosity',
  'metadata',
  'cacheKey',
  'cacheRetention',
] as const
