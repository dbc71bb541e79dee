import type { Config, ModelConfig } from '../../../core/config.js'
import { hostOf } from '../hosts.js'
import type { Rule } from '../rule.js'

export const fallbackToSameProvider: Rule = {
  id: 'fallback-to-same-provider',
  severity: 'warning',
  finds: 'a model all of whose targets and fallbacks are at one address',
  why: 'What makes the first target fail (an outage, a network, a certificate) makes the others fail, too.',
  mend: 'Add a target at another provider. If only rate limits are shared out, one upstream with several secrets says so.',
  *check({ config }) {
    for (const [name, model] of Object.entries(config.models)) {
      const bases = basesOf(model, config)
      const hosts = new Set(bases)
      const [host] = hosts
      if (bases.length < 2 || hosts.size !== 1 || host === undefined) continue
      const message = `all targets of ${JSON.stringify(name)} are at ${host}, so they fail together`
      yield { path: ['models', name], message }
    }
  },
}

/** Hosts of the targets, and of those of the models that are asked instead. */
function basesOf(
  { targets, fallbacks = {} }: ModelConfig,
  { models, upstreams }: Config,
): readonly (string | undefined)[] {
  const others = [...new Set(Object.values(fallbacks).flat())].flatMap(name => models[name]?.targets ?? [])
  return [...targets, ...others].flatMap(({ upstream }) => {
    const config = upstreams[upstream]
    return config === undefined ? [] : [hostOf(config)]
  })
}
