import type { Rule } from '../rule.js'

export const fallbackLeavesRegion: Rule = {
  id: 'fallback-leaves-region',
  severity: 'note',
  finds: 'a model with targets in different regions, or with and without a region',
  why: 'After a failure a request is processed elsewhere. Keys with `regions` are kept from that; keys without are not.',
  mend: 'Write `regions` at the keys whose requests have to stay, or keep each model in one region.',
  *check({ config: { models, upstreams, keys, groups } }) {
    const allBound = Object.values(keys).every(
      key => key.regions !== undefined || (key.group !== undefined && groups[key.group]?.regions !== undefined),
    )
    if (allBound) return
    for (const [name, { targets }] of Object.entries(models)) {
      const regions = new Set(targets.map(({ upstream }) => upstreams[upstream]?.region))
      if (regions.size < 2) continue
      const list = [...regions].map(region => region ?? 'none').join(', ')
      yield {
        path: ['models', name],
        message: `the targets of ${JSON.stringify(name)} are in several regions: ${list}`,
      }
    }
  },
}
