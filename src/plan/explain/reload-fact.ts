import type { ReloadConfig } from '../../core/reload.js'
import { duration } from './format.js'

/** `canary 5% for 2m, back if errors +1% or ttft_p95 +20%; keeps 1`. */
export function reloadFact({ canary, keep }: ReloadConfig): string {
  const kept = `keeps ${keep}`
  if (canary === undefined) return kept
  const { errors, ttft } = canary.backIf
  const bounds = [
    ...(errors === undefined ? [] : [`errors +${percent(errors)}`]),
    ...(ttft === undefined ? [] : [`ttft_p95 +${percent(ttft)}`]),
  ]
  return `canary ${percent(canary.share)} for ${duration(canary.for)}, back if ${bounds.join(' or ')}; ${kept}`
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`
}
