import type { Json, JsonObject } from '../../core/json.js'
import type { TextUsage } from '../../core/text.js'
import { arrayOf, countOf, given, objectOf, stringOf } from '../read.js'

import { tokenCounts, totalOf } from '../token-usage.js'

/** The protocol's tiers by the canonical words, which are those of the compatible protocols. */
const TIERS: Readonly<Record<string, string>> = {
  default: 'standard',
  standard: 'standard',
  standard_only: 'standard',
  flex: 'flex',
  priority: 'priority',
}

/** Undefined where the protocol has no such tier. */
export function wireTier(tier: string): string | undefined {
  return Object.hasOwn(TIERS, tier) ? TIERS[tier] : undefined
}

/** The canonical word; undefined where nothing is said. */
export function tierOf(word: string | undefined): string | undefined {
  const tier = word?.toLowerCase()
  if (tier === undefined || tier === '' || tier === 'unspecified') return undefined
  return tier === 'standard' ? 'default' : tier
}

/** Members of `usageMetadata` that are read. */
export const USAGE_MEMBERS = [
  ...['promptTokenCount', 'toolUsePromptTokenCount', 'candidatesTokenCount', 'responseTokenCount'],
  ...['thoughtsTokenCount', 'totalTokenCount', 'cachedContentTokenCount', 'serviceTier'],
  ...['promptTokensDetails', 'candidatesTokensDetails'],
]

/**
 * `usageMetadata`. The prompt counts what came from the cache, but not what tools at the upstream added to it; the
 * candidates do not count thoughts.
 */
export function usageIn(usage: JsonObject | undefined): TextUsage | undefined {
  if (usage === undefined) return undefined
  const prompt = countOf(usage.promptTokenCount)
  const tools = countOf(usage.toolUsePromptTokenCount)
  const input = sum(prompt, tools)
  const candidates = countOf(usage.candidatesTokenCount) ?? countOf(usage.responseTokenCount)
  const reasoning = countOf(usage.thoughtsTokenCount)
  const read = given({
    input,
    output: sum(candidates, reasoning),
    total: countOf(usage.totalTokenCount),
    cached: countOf(usage.cachedContentTokenCount),
    reasoning,
    inputAudio: audioIn(usage.promptTokensDetails),
    outputAudio: audioIn(usage.candidatesTokensDetails),
  })
  return tokenCounts(read)
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0)
}

function audioIn(details: Json | undefined): number | undefined {
  for (const detail of arrayOf(details)) {
    const { modality, tokenCount } = objectOf(detail) ?? {}
    const count = modality === 'AUDIO' ? countOf(tokenCount) : undefined
    if (count !== undefined) return count
  }
  return undefined
}

/** The tier that served the answer; undefined where the upstream does not say. */
export function tierIn(usage: JsonObject | undefined): string | undefined {
  return tierOf(stringOf(usage?.serviceTier))
}

/** {@link usageIn}, the other way round. */
export function usageOut(usage: TextUsage, tier: string | undefined): JsonObject {
  const { input, output, cached, reasoning, inputAudio, outputAudio } = usage
  const out: Record<string, Json> = {}
  if (input !== undefined) out.promptTokenCount = input
  if (output !== undefined) out.candidatesTokenCount = Math.max(output - (reasoning ?? 0), 0)
  if (input !== undefined || usage.total !== undefined) out.totalTokenCount = totalOf(usage)
  if (reasoning !== undefined) out.thoughtsTokenCount = reasoning
  if (cached !== undefined) out.cachedContentTokenCount = cached
  if (input !== undefined) out.promptTokensDetails = detailsOut(input, inputAudio)
  if (outputAudio !== undefined) {
    out.candidatesTokensDetails = detailsOut(Math.max((output ?? 0) - (reasoning ?? 0), outputAudio), outputAudio)
  }
  const word = tier === undefined ? undefined : wireTier(tier)
  if (word !== undefined) out.serviceTier = word
  return out
}

function detailsOut(all: number, audio: number | undefined): readonly JsonObject[] {
  const text = { modality: 'TEXT', tokenCount: Math.max(all - (audio ?? 0), 0) }
  return audio === undefined ? [text] : [text, { modality: 'AUDIO', tokenCount: audio }]
}
