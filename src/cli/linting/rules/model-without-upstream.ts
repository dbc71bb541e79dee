import type { Rule } from '../rule.js'

export const modelWithoutUpstream: Rule = {
  id: 'model-without-upstream',
  severity: 'warning',
  finds: 'a model all of whose upstreams are disabled',
  why: 'Clients do not find it in the list of models, and a request for it gets 404.',
  mend: 'Enable one of its upstreams, add a target, or delete the model.',
  *check({ config: { models, upstreams } }) {
    for (const [name, { targets }] of Object.entries(models)) {
      if (targets.some(({ upstream }) => upstreams[upstream]?.off !== 'disabled')) continue
      yield { path: ['models', name], message: `every upstream of ${JSON.stringify(name)} is disabled` }
    }
  },
}
