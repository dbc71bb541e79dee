import type { Json, JsonObject } from '../../core/json.js'
import type { TokenLogprob } from '../../core/text.js'
import { arrayOf, numberOf, objectOf, stringOf } from '../read.js'

/** `logprobsResult`: the chosen tokens, and beside each the likeliest. Undefined where there are none. */
export function logprobsIn(result: Json | undefined): TokenLogprob[] | undefined {
  const chosen = arrayOf(objectOf(result)?.chosenCandidates)
  if (chosen.length === 0) return undefined
  const top = arrayOf(objectOf(result)?.topCandidates)
  return chosen.flatMap((each, i) => {
    const token = tokenIn(each)
    if (token === undefined) return []
    const beside = arrayOf(objectOf(top[i])?.candidates).flatMap(one => tokenIn(one) ?? [])
    return [beside.length > 0 ? { ...token, top: beside } : token]
  })
}

function tokenIn(value: Json): { readonly token: string; readonly logprob: number } | undefined {
  const candidate = objectOf(value)
  const token = stringOf(candidate?.token)
  // The default of a number is left out on this wire.
  return token === undefined ? undefined : { token, logprob: numberOf(candidate?.logProbability) ?? 0 }
}

export function logprobsOut(logprobs: readonly TokenLogprob[]): JsonObject {
  const chosenCandidates = logprobs.map(tokenOut)
  if (!logprobs.some(({ top }) => top !== undefined && top.length > 0)) return { chosenCandidates }
  return { chosenCandidates, topCandidates: logprobs.map(({ top }) => ({ candidates: (top ?? []).map(tokenOut) })) }
}

function tokenOut({ token, logprob }: { readonly token: string; readonly logprob: number }): JsonObject {
  return { token, logProbability: logprob }
}
