import type { Usage } from './plan.js'

/**
 * Some upstreams count in the total alone what neither side has: sound that was heard, or what a cache has to do with, where the
 * difference is exactly that; or else thoughts, which are output.
 */
export function withRest(usage: Usage): Usage {
  const { input, output, total } = usage
  if (input === undefined || output === undefined || total === undefined) return usage
  const rest = total - input - output
  if (rest <= 0) return usage
  const { cached = 0, cacheWrite = 0, inputAudio = 0, reasoning } = usage
  const isRead = rest !== reasoning && (rest === inputAudio || rest === cached + cacheWrite)
  return isRead ? { ...usage, input: input + rest } : { ...usage, output: output + rest }
}
