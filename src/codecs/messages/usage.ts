import type { JsonObject } from '../../core/json.js'
import type { TextUsage } from '../../core/text.js'
import { countOf, given, objectOf } from '../read.js'

/** Members of `usage` that are read. */
export const USAGE_MEMBERS = [
  ...['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens'],
  ...['output_tokens_details', 'server_tool_use', 'service_tier'],
]

/** `input_tokens` counts neither what came from the cache nor what went into it; `output_tokens` counts thoughts. */
export function decodeUsage(usage: JsonObject | undefined): TextUsage | undefined {
  if (usage === undefined) return undefined
  const own = countOf(usage.input_tokens)
  const cached = countOf(usage.cache_read_input_tokens)
  const cacheWrite = countOf(usage.cache_creation_input_tokens)
  const output = countOf(usage.output_tokens)
  const reasoning = countOf(objectOf(usage.output_tokens_details)?.thinking_tokens)
  const inputs = [own, cached, cacheWrite].filter(count => count !== undefined)
  const read = given({
    input: inputs.length === 0 ? undefined : inputs.reduce((sum, count) => sum + count),
    output,
    cached,
    cacheWrite,
    reasoning,
    searches: countOf(objectOf(usage.server_tool_use)?.web_search_requests),
  })
  return Object.keys(read).length === 0 ? undefined : read
}

/** What both the message and the last event of a stream tell; 0 where it is not known. */
export function encodeCounts(usage: TextUsage | undefined): JsonObject {
  const { input = 0, output = 0, cached = 0, cacheWrite = 0, reasoning, searches } = usage ?? {}
  const counts = {
    input_tokens: Math.max(0, input - cached - cacheWrite),
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
    output_tokens: output,
  }
  return {
    ...counts,
    ...(reasoning !== undefined && { output_tokens_details: { thinking_tokens: reasoning } }),
    ...(searches !== undefined && { server_tool_use: { web_search_requests: searches, web_fetch_requests: 0 } }),
  }
}

export function encodeUsage(usage: TextUsage | undefined, serviceTier: string | undefined): JsonObject {
  return {
    cache_creation: null,
    server_tool_use: null,
    ...encodeCounts(usage),
    service_tier: encodeUsedTier(serviceTier),
    inference_geo: null,
  }
}

const USED_TIERS: readonly string[] = ['standard', 'priority', 'batch']

/** Tiers in the words of the compatible protocols, where `standard` is `default`. */
export function decodeUsedTier(tier: string | undefined): string | undefined {
  return tier === 'standard' ? 'default' : tier
}

function encodeUsedTier(tier: string | undefined): string | null {
  const word = tier === 'default' ? 'standard' : tier
  return word !== undefined && USED_TIERS.includes(word) ? word : null
}
