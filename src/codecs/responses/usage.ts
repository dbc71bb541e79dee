import type { Json, JsonObject } from '../../core/json.js'
import type { TextUsage } from '../../core/text.js'
import { given } from '../members.js'
import { compact, countOf, objectOf } from '../read.js'
import { tokenCounts, totalOf } from '../token-counts.js'

/** `usage` of a response: input counts cached tokens, output counts thoughts. */
export function readUsage(value: Json | undefined): TextUsage | undefined {
  const usage = objectOf(value)
  if (usage === undefined) return undefined
  const input = objectOf(usage.input_tokens_details)
  const output = objectOf(usage.output_tokens_details)
  const read = given({
    ...tokenCounts(countOf(usage.input_tokens), countOf(usage.output_tokens), countOf(usage.total_tokens)),
    cached: countOf(input?.cached_tokens),
    cacheWrite: countOf(input?.cache_write_tokens),
    reasoning: countOf(output?.reasoning_tokens),
    inputAudio: countOf(input?.audio_tokens),
    outputAudio: countOf(output?.audio_tokens),
  })
  return Object.keys(read).length === 0 ? undefined : read
}

/** Every answer of this protocol has both details. */
export function writeUsage(usage: TextUsage): JsonObject {
  const { input = 0, output = 0, cached = 0, cacheWrite, reasoning = 0 } = usage
  return {
    input_tokens: input,
    input_tokens_details: compact({ cached_tokens: cached, cache_write_tokens: cacheWrite }),
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: totalOf(usage),
  }
}
