import { isObject, type Json } from '../core/json.js'
import type { TokenLogprob } from '../core/text.js'
import { arrayOf, numberOf } from './read.js'

/** Log probabilities as the compatible protocols list them; undefined where there are none. */
export function readLogprobs(value: Json | undefined): TokenLogprob[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const read = (value as readonly Json[]).flatMap(entry => {
    const token = readToken(entry)
    if (token === undefined) return []
    const top = arrayOf(isObject(entry) ? entry.top_logprobs : undefined).flatMap(other => readToken(other) ?? [])
    return [top.length > 0 ? { ...token, top } : token]
  })
  return read.length > 0 ? read : undefined
}

function readToken(value: Json | undefined): Omit<TokenLogprob, 'top'> | undefined {
  if (!isObject(value) || typeof value.token !== 'string') return undefined
  const { token, bytes } = value
  const logprob = numberOf(value.logprob)
  if (logprob === undefined) return undefined
  const numbers = Array.isArray(bytes) ? bytes.filter(byte => typeof byte === 'number') : undefined
  return numbers === undefined ? { token, logprob } : { token, logprob, bytes: numbers }
}
