import type { Config } from '../../../core/config.js'
import type { Rule } from '../rule.js'

const LONG: ReadonlySet<string> = new Set(['day', 'month', 'total'])

export const limitsInMemory: Rule = {
  id: 'limits-in-memory',
  severity: 'warning',
  finds: 'bounds of a day, a month or for ever while `store` is `memory`',
  why: 'A restart forgets what was spent, and several processes count each for itself.',
  mend: 'Write `store: { type: file, path: ./data }`, or name a Redis or PostgreSQL.',
  *check({ config }) {
    if (config.store.type !== 'memory') return
    for (const [section, name, { limits }] of holdersOf(config)) {
      const bound = limits?.bounds.find(({ window }) => LONG.has(window))
      if (bound === undefined) continue
      const message = `what this ${bound.unit === 'budget' ? 'budget' : `bound of ${bound.unit}`} counts is lost when the process ends: the store is memory`
      yield { path: [section, name, 'limits', bound.unit], message }
    }
  },
}

function holdersOf({
  keys,
  groups,
  models,
  upstreams,
}: Config): readonly (readonly [string, string, Pick<Config['models'][string], 'limits'>])[] {
  return Object.entries({ keys, groups, models, upstreams }).flatMap(([section, entries]) =>
    Object.entries(entries).map(([name, one]) => [section, name, one] as const),
  )
}
