import type { Caller } from '../core/caller.js'
import { type CanaryStanding, canaries } from '../features/canaries/index.js'
import { type MirrorStanding, mirrors } from '../features/mirrors/index.js'
import type { Pipeline } from '../kernel/pipeline.js'

/** What the mirrors and canaries of models have come to in this process. */
interface ShownRouting {
  readonly mirrors: readonly MirrorStanding[]
  readonly canaries: readonly CanaryStanding[]
}

export function shownRouting(pipeline: Pipeline): ShownRouting {
  return {
    mirrors: pipeline.serviceOf(mirrors)?.snapshot() ?? [],
    canaries: pipeline.serviceOf(canaries)?.snapshot() ?? [],
  }
}

/** In words, by the names of models that a caller may use. */
export function routingFor(caller: Caller, shown: ShownRouting): Readonly<Record<string, ReadonlyMap<string, string>>> {
  const mirrors = shown.mirrors.filter(({ of }) => caller.may(of)).map(one => [one.of, mirrorText(one)] as const)
  const canaries = shown.canaries.filter(({ of }) => caller.may(of)).map(one => [one.of, canaryText(one)] as const)
  return {
    ...(mirrors.length > 0 && { mirrors: new Map(mirrors) }),
    ...(canaries.length > 0 && { canaries: new Map(canaries) }),
  }
}

function mirrorText({ sent, dropped, inFlight }: MirrorStanding): string {
  return `${sent} copied, ${dropped} dropped, ${inFlight} under way`
}

function canaryText({ canary, others, restsUntil }: CanaryStanding): string {
  const counts = `${canary.failures} of ${canary.requests} failed, of the others ${others.failures} of ${others.requests}`
  return restsUntil === undefined ? counts : `${counts}; rests until ${new Date(restsUntil).toISOString()}`
}
