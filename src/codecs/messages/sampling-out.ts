import type { Target } from '../../core/codec.js'
import type { TextRequest } from '../../core/text.js'

type SamplingOut = Readonly<Partial<Record<'temperature' | 'top_p' | 'top_k', number>>>

/** Least `top_p` that the service takes while thinking. */
const MIN_THINKING_TOP_P = 0.95

/**
 * While the model thinks, `temperature` has to be 1, which it is by itself, and there is no `top_k`. `temperature` and
 * `top_p` exclude each other.
 */
export function encodeSampling(request: TextRequest, thinks: boolean, target: Target): SamplingOut {
  if (target.traits.sampling === false) {
    for (const field of ['temperature', 'topP', 'topK'] as const) {
      if (request[field] !== undefined) target.lose(field, undefined, 'the model does not accept sampling parameters')
    }
    return {}
  }
  const temperature = encodeTemperature(request, thinks, target)
  const topP = encodeTopP(request, temperature !== undefined, thinks, target)
  const { topK } = request
  if (topK !== undefined && thinks) target.lose('topK', undefined, 'the model thinks')
  return {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(topK !== undefined && !thinks && { top_k: topK }),
  }
}

function encodeTemperature({ temperature }: TextRequest, thinks: boolean, target: Target): number | undefined {
  if (temperature === undefined) return undefined
  if (thinks) {
    if (temperature !== 1) target.lose('temperature', undefined, 'the model thinks')
    return undefined
  }
  if (temperature >= 0 && temperature <= 1) return temperature
  target.lose('temperature', undefined, 'it goes from 0 to 1 here')
  return temperature > 1 ? 1 : 0
}

function encodeTopP({ topP }: TextRequest, besides: boolean, thinks: boolean, target: Target): number | undefined {
  if (topP === undefined) return undefined
  const why = besides ? 'it is not accepted with a temperature' : 'the model thinks'
  if (!besides && !(thinks && topP < MIN_THINKING_TOP_P)) return topP
  target.lose('topP', undefined, why)
  return undefined
}
