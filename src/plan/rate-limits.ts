import type { RateLimitName, RateLimitReset, RateLimits } from '../core/rate-limits.js'
import { RATE_LIMITED, type RateLimitsConfig } from '../core/rate-limits-config.js'
import { NameSet } from './names.js'

/** Pairs the headers of two protocols that are about the same limits. */
export function compileRateLimits(
  upstream: RateLimitsConfig | undefined,
  client: RateLimitsConfig | undefined,
): RateLimits {
  const own = new NameSet(lower(client?.headers))
  const theirs = new NameSet(lower(upstream?.headers))
  return { names: namesOf(upstream, client), foreign: name => theirs.has(name) && !own.has(name) }
}

/** The headers of a protocol that say when limits reset. */
export function compileResets(config: RateLimitsConfig | undefined): readonly RateLimitReset[] | undefined {
  if (config === undefined) return undefined
  return RATE_LIMITED.flatMap(what => {
    const found = config[what]
    if (found === undefined) return []
    return [{ remaining: found.remaining.toLowerCase(), reset: found.reset.toLowerCase(), form: config.reset }]
  })
}

function namesOf(
  upstream: RateLimitsConfig | undefined,
  client: RateLimitsConfig | undefined,
): ReadonlyMap<string, RateLimitName> {
  const names = new Map<string, RateLimitName>()
  if (upstream === undefined || client === undefined) return names
  for (const what of RATE_LIMITED) {
    const [from, to] = [upstream[what], client[what]]
    if (from === undefined || to === undefined) continue
    for (const count of ['limit', 'remaining'] as const) {
      names.set(from[count].toLowerCase(), { name: to[count].toLowerCase(), reset: undefined })
    }
    const reset = { from: upstream.reset, to: client.reset }
    names.set(from.reset.toLowerCase(), { name: to.reset.toLowerCase(), reset })
  }
  return names
}

function lower(globs: readonly string[] = []): readonly string[] {
  return globs.map(glob => glob.toLowerCase())
}
