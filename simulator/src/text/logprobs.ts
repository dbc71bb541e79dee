import type { Seed } from '../seed.js'

/** A token with its logarithmic probability and what might have stood in its place; the token itself comes first. */
export interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[]
  readonly top_logprobs: readonly Omit<TokenLogprob, 'top_logprobs'>[]
}

const ALTERNATIVES = [' the', ' a', ' and', '.', ',', ' to', ' of', ' in', ' is', ' that', ' it', ' for'] as const

/** Plausible figures: likely tokens, and alternatives that are ever less so. `top` from 0 to 20. */
export function logprobOf(token: string, index: number, top: number, seed: Seed): TokenLogprob {
  const chance = seed.fork('logprob', index).fraction()
  const first = entry(token, -chance * 0.7)
  const others = ALTERNATIVES.filter(other => other !== token)
  const rest = Array.from({ length: Math.max(0, top - 1) }, (_, rank) =>
    entry(others[rank] ?? ` ${rank}`, -1 - chance - rank * 0.5),
  )
  return { ...first, top_logprobs: top === 0 ? [] : [first, ...rest] }
}

function entry(token: string, logprob: number): Omit<TokenLogprob, 'top_logprobs'> {
  return { token, logprob: Math.round(logprob * 1e6) / 1e6, bytes: [...Buffer.from(token)] }
}
