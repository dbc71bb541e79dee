import type { Target } from '../../core/codec.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { TextRequest } from '../../core/text.js'
import { hoistSystem } from '../turns.js'
import { configOut } from './config-out.js'
import { resolutionOf } from './parts-in.js'
import { toolConfigOut, toolsOut } from './tools-out.js'
import { TurnsOut } from './turns-out.js'
import { wireTier } from './usage.js'

/** The body of `generateContent` and `streamGenerateContent`; the model is in the path. */
export function encodeRequest(request: TextRequest, target: Target): JsonObject {
  for (const turn of request.turns) if (turn.role === 'system') target.lose('midSystem', turn.at)
  for (const part of request.system) if (part.cache !== undefined) target.lose('cacheMarks', part.at)
  const { system, turns } = hoistSystem(request)
  const out = new TurnsOut(target)
  for (const turn of turns) out.add(turn)
  const body: Record<string, Json> = { contents: out.contents() }
  const instructions = system.filter(({ text }) => text !== '')
  if (instructions.length > 0) body.systemInstruction = { parts: instructions.map(({ text }) => ({ text })) }

  const tools = toolsOut(request, target)
  if (tools.length > 0) body.tools = tools
  const toolConfig = toolConfigOut(request, target)
  if (toolConfig !== undefined) body.toolConfig = toolConfig

  const config = configOut(request, target)
  if (new Set(out.details).size > 1) target.lose('imageDetail', undefined, 'one resolution holds for all media')
  const resolution = resolutionOf(out.details)
  if (resolution !== undefined) config.mediaResolution = resolution
  if (Object.keys(config).length > 0) body.generationConfig = config

  const tier = tierOut(request.serviceTier, target)
  if (tier !== undefined) body.serviceTier = tier
  if (request.store !== undefined) body.store = request.store
  loseRest(request, target)
  return body
}

function tierOut(tier: string | undefined, target: Target): string | undefined {
  if (tier === undefined) return undefined
  const word = tier === 'auto' ? undefined : wireTier(tier)
  if (word === undefined && tier !== 'auto') target.lose('serviceTier', undefined, 'the protocol has no such tier')
  return word
}

function loseRest(request: TextRequest, target: Target): void {
  if (request.turns.at(-1)?.role === 'assistant') target.lose('prefill', request.turns.at(-1)?.at)
  if (request.logitBias !== undefined) target.lose('logitBias')
  if (request.verbosity !== undefined) target.lose('verbosity')
  if (request.user !== undefined) target.lose('user')
  if (request.safetyId !== undefined) target.lose('safetyId')
  if (request.metadata !== undefined) target.lose('metadata')
  if (request.cacheKey !== undefined) target.lose('cacheKey')
  if (request.cacheRetention !== undefined) target.lose('cacheRetention')
}
