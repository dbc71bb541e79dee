import { numbered } from '../core/numbered.js'
import { credentials } from '../features/credentials/index.js'
import { health } from '../features/health/index.js'
import type { ShownHealth } from '../features/health/shown.js'
import type { Pipeline } from '../kernel/pipeline.js'

/** What rests in this process, by the names of upstreams. */
export function shownBy(pipeline: Pipeline): ReadonlyMap<string, ShownHealth> {
  return pipeline.serviceOf(health)?.shown() ?? new Map()
}

/**
 * Why upstreams rest, in words, of those that a caller's models lead to. Models are counted and not named: a model's name at an
 * upstream is not the one that callers know.
 */
export function restingFor(
  reached: ReadonlySet<string> | undefined,
  shown: ReadonlyMap<string, ShownHealth>,
): ReadonlyMap<string, string> {
  const resting = new Map<string, string>()
  for (const [name, health] of shown) if (reached?.has(name) === true) resting.set(name, inWords(health))
  return resting
}

/** Why upstreams have no credential, or no newer one, of those that a caller's models lead to. */
export function withoutCredential(
  reached: ReadonlySet<string> | undefined,
  pipeline: Pipeline,
): Readonly<Record<string, ReadonlyMap<string, string>>> {
  const faults = [...(pipeline.serviceOf(credentials)?.faults ?? [])].filter(([name]) => reached?.has(name) === true)
  return faults.length === 0 ? {} : { credentials: new Map(faults) }
}

function inWords({ reason, models = [], secrets = [], more = 0 }: ShownHealth): string {
  const count = models.length + more
  return [
    ...(reason === undefined ? [] : [reason]),
    ...(secrets.length === 0 ? [] : [`${numbered(secrets.length, 'secret')}: ${secrets[0]?.reason}`]),
    ...(count === 0 ? [] : [`${numbered(count, 'model')}: ${models[0]?.reason}`]),
  ].join(', ')
}
