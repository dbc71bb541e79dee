import { canaries } from '../features/canaries/index.js'
import { generations } from '../features/generations/index.js'
import type { EventFamilies, StateFamilies } from '../features/metrics/families.js'
import { mirrors } from '../features/mirrors/index.js'
import type { Pipeline } from '../kernel/pipeline.js'

/** Counts what becomes of the copies of mirrors, and of the attempts that canaries are compared by, of models and of reloads. */
export function countRouting(events: EventFamilies, pipeline: Pipeline): void {
  const copies = pipeline.serviceOf(mirrors)?.copies
  if (copies !== undefined) copies.onCopy = ({ of, to }, outcome) => events.mirrorCopies.of(of, to, outcome).add(1)
  const compared = pipeline.serviceOf(generations)
  if (compared !== undefined) {
    compared.onOutcome = (isFresh, hasFailed) =>
      events.reloadOutcomes.of(isFresh ? 'new' : 'old', hasFailed ? 'failed' : 'good').add(1)
  }
  const watched = pipeline.serviceOf(canaries)?.canaries
  if (watched === undefined) return
  watched.onOutcome = ({ of, to }, isCanary, hasFailed) =>
    events.canaryOutcomes.of(of, to, isCanary ? 'canary' : 'others', hasFailed ? 'failed' : 'good').add(1)
}

/** What mirrors and canaries do at the moment. */
export function showRouting(states: StateFamilies, pipeline: Pipeline): void {
  for (const { of, to, inFlight } of pipeline.serviceOf(mirrors)?.snapshot() ?? [])
    states.mirrorsInFlight.of(of, to).add(inFlight)
  for (const { of, to, restsUntil } of pipeline.serviceOf(canaries)?.snapshot() ?? [])
    states.canaryResting.of(of, to).add(restsUntil === undefined ? 0 : 1)
}
