import type { Json, JsonObject } from '../../core/json.js'
import type { TextUsage } from '../../core/text.js'
import { given } from '../members.js'
import { compact, countOf, objectOf } from '../read.js'
import { tokenCounts, totalOf } from '../token-counts.js'

/**
 * `usage` of an answer. Servers differ in where they tell of cached tokens, and some leave thoughts out of
 * `completion_tokens`: there the total says so.
 */
export function readUsage(value: Json | undefined): TextUsage | undefined {
  const usage = objectOf(value)
  if (usage === undefined) return undefined
  const prompt = objectOf(usage.prompt_tokens_details)
  const completion = objectOf(usage.completion_tokens_details)
  const input = countOf(usage.prompt_tokens)
  const said = countOf(usage.completion_tokens)
  const reasoning = countOf(completion?.reasoning_tokens)
  const total = countOf(usage.total_tokens)
  const apart = (reasoning ?? 0) > 0 && total === (input ?? 0) + (said ?? 0) + (reasoning ?? 0)
  const output = apart && reasoning !== undefined ? (said ?? 0) + reasoning : said
  const read = given({
    ...tokenCounts(input, output, total),
    cached: first(prompt?.cached_tokens, usage.prompt_cache_hit_tokens, usage.num_cached_tokens, usage.cached_tokens),
    cacheWrite: countOf(prompt?.cache_write_tokens),
    reasoning,
    inputAudio: first(prompt?.audio_tokens, usage.audio_prompt_tokens),
    outputAudio: countOf(completion?.audio_tokens),
  })
  return Object.keys(read).length === 0 ? undefined : read
}

function first(...values: readonly (Json | undefined)[]): number | undefined {
  return values.map(countOf).find(count => count !== undefined)
}

export function writeUsage(usage: TextUsage): JsonObject {
  const { input = 0, output = 0 } = usage
  const prompt = compact({
    cached_tokens: usage.cached,
    cache_write_tokens: usage.cacheWrite,
    audio_tokens: usage.inputAudio,
  })
  const completion = compact({ reasoning_tokens: usage.reasoning, audio_tokens: usage.outputAudio })
  return compact({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: totalOf(usage),
    prompt_tokens_details: Object.keys(prompt).length > 0 ? prompt : undefined,
    completion_tokens_details: Object.keys(completion).length > 0 ? completion : undefined,
  })
}
