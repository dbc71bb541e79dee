import type { Target } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { Effort, Format, ReasoningWish, TextRequest } from '../../core/text.js'
import { budgetOf, effortOf } from '../effort.js'
import { schemaOut } from './schema-out.js'

/** Most stop sequences that the protocol takes. */
const MAX_STOPS = 5
/** Largest budget that every thinking model takes; efforts ask for no more, a client's own number goes as it is. */
const MAX_EFFORT_TOKENS = 24_576
const MAX_INT32 = 0x7fff_ffff

type Members = Record<string, Json>

/** `generationConfig`; empty where nothing is asked for. */
export function configOut(request: TextRequest, target: Target): Members {
  const config: Members = {}
  if (request.maxTokens !== undefined) config.maxOutputTokens = request.maxTokens
  sampling(config, request, target)
  if (request.stop !== undefined && request.stop.length > 0) config.stopSequences = stopsOut(request.stop, target)
  if (request.candidates !== undefined && request.candidates !== 1) config.candidateCount = request.candidates
  if (request.logprobs !== undefined) {
    config.responseLogprobs = true
    if (request.logprobs > 0) config.logprobs = request.logprobs
  }
  if (request.format !== undefined) formatOut(config, request.format, target)
  if (request.reasoning !== undefined) {
    const thinking = thinkingOut(request.reasoning, target)
    if (Object.keys(thinking).length > 0) config.thinkingConfig = thinking
  }
  if (request.modalities !== undefined) {
    config.responseModalities = request.modalities.map(modality => modality.toUpperCase())
  }
  if (request.audio !== undefined) audioOut(config, request.audio, target)
  return config
}

function sampling(config: Members, request: TextRequest, target: Target): void {
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty } = request
  const isTaken = target.traits.sampling !== false
  const why = 'the model does not accept sampling parameters'
  if (temperature !== undefined)
    isTaken ? set(config, 'temperature', temperature) : target.lose('temperature', undefined, why)
  if (topP !== undefined) isTaken ? set(config, 'topP', topP) : target.lose('topP', undefined, why)
  if (topK !== undefined) isTaken ? set(config, 'topK', topK) : target.lose('topK', undefined, why)
  if (presencePenalty !== undefined) config.presencePenalty = presencePenalty
  if (frequencyPenalty !== undefined) config.frequencyPenalty = frequencyPenalty
  if (seed === undefined) return
  if (Number.isInteger(seed) && Math.abs(seed) <= MAX_INT32) config.seed = seed
  else target.lose('seed', undefined, 'seeds are 32-bit numbers')
}

function set(config: Members, name: string, value: number): void {
  config[name] = value
}

function stopsOut(stop: readonly string[], target: Target): readonly string[] {
  if (stop.length > MAX_STOPS) target.lose('stop', undefined, `at most ${MAX_STOPS} stop sequences are accepted`)
  return stop.slice(0, MAX_STOPS)
}

function formatOut(config: Members, format: Format, target: Target): void {
  config.responseMimeType = 'application/json'
  if (format.type === 'json') return
  const { description } = format
  const unchecked = new Set<string>()
  const schema = schemaOut(format.schema, unchecked)
  if (unchecked.size > 0) {
    target.lose('formatSchema', undefined, `the answer is not checked for ${[...unchecked].join(', ')}`)
  }
  config.responseJsonSchema =
    description === undefined || schema.description !== undefined ? schema : { ...schema, description }
}

/**
 * How much to think, as declared for the model: in levels, or by a budget of tokens. Where nothing is declared
 * a budget is sent, which every thinking model takes; those of the older kind refuse levels. Who says how much to think
 * is shown the thoughts, unless they shall be hidden: this protocol hides them where nothing is said.
 */
function thinkingOut(wish: ReasoningWish, target: Target): JsonObject {
  const thinking: Members = {}
  if (target.traits.reasoning === 'none') {
    loseWish(wish, target)
    return thinking
  }
  if (target.traits.reasoning === 'level') levelOut(thinking, wish, target)
  else budgetOut(thinking, wish, target)
  const isShown = wish.show !== 'none' && (wish.show !== undefined || Object.keys(thinking).length > 0)
  // A model that does not think refuses to be asked for its thoughts.
  if (isShown && thinking.thinkingBudget !== 0) thinking.includeThoughts = true
  return thinking
}

function loseWish({ effort, budget, adaptive, show }: ReasoningWish, target: Target): void {
  const why = 'the model does not think'
  if ((effort !== undefined && effort !== 'none') || adaptive === true) target.lose('effort', undefined, why)
  if (budget !== undefined && budget !== 0) target.lose('budget', undefined, why)
  if (show !== undefined && show !== 'none') target.lose('showReasoning', undefined, why)
}

const LEVELS: Readonly<Record<Effort, string>> = {
  none: 'MINIMAL',
  minimal: 'MINIMAL',
  low: 'LOW',
  medium: 'MEDIUM',
  high: 'HIGH',
  xhigh: 'HIGH',
  max: 'HIGH',
}

/** Adaptive thinking and a budget of -1 are what such a model does by default. */
function levelOut(thinking: Members, { effort, budget }: ReasoningWish, target: Target): void {
  if (effort !== undefined) {
    target.lose('effort', undefined, effort === 'none' ? 'thinking cannot be switched off for this model' : undefined)
    thinking.thinkingLevel = LEVELS[effort]
  } else if (budget !== undefined && budget >= 0) {
    target.lose('budget')
    thinking.thinkingLevel = LEVELS[effortOf(budget)]
  }
}

function budgetOut(thinking: Members, { effort, budget, adaptive }: ReasoningWish, target: Target): void {
  if (budget !== undefined) thinking.thinkingBudget = budget
  else if (effort !== undefined) {
    target.lose('effort')
    thinking.thinkingBudget = Math.min(budgetOf(effort), MAX_EFFORT_TOKENS)
  } else if (adaptive === true) thinking.thinkingBudget = -1
}

function audioOut(config: Members, { voice, format }: NonNullable<TextRequest['audio']>, target: Target): void {
  if (typeof voice === 'string') {
    target.lose('audioOutput')
    config.speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } }
  } else if (voice !== undefined) target.lose('audioOutput', undefined, 'voices are chosen by name here')
  if (format !== undefined) target.lose('audioOutput', undefined, 'the upstream chooses the format of spoken answers')
}
