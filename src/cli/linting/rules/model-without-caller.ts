import type { Json } from '../../../core/json.js'
import { Holders, listsOfKeys, saidOfTokens } from '../callers.js'
import type { Linted, Rule } from '../rule.js'

export const modelWithoutCaller: Rule = {
  id: 'model-without-caller',
  severity: 'warning',
  finds: 'a model that no key and no holder of a token may use, and that no other model leads to',
  why: 'It looks served and is not: every caller gets the answer of a model that does not exist. Keys of the store are not looked at.',
  mend: 'Add the name or a glob to `models` of a key, or delete the model.',
  *check({ config }: Linted) {
    const tokens = saidOfTokens(config, 'models')
    const providers = Object.values(config.identity?.providers ?? {})
    // A provider without a word on models lets its callers have all of them.
    if (
      tokens === undefined ||
      providers.some(({ caller }) => caller.terms.models === undefined && caller.key === undefined)
    )
      return
    const lists = [...listsOfKeys(config), ...tokens.filter(isStrings).map(list => [list])]
    const callers = new Holders(lists.map(one => ({ lists: one })))
    const led = new Set(Object.values(config.models).flatMap(leadsTo))
    for (const name of Object.keys(config.models)) {
      if (led.has(name) || callers.has(name)) continue
      yield { path: ['models', name], message: `no key may use the model ${JSON.stringify(name)}` }
    }
  },
}

function leadsTo({ fallbacks, mirror, canary }: Linted['config']['models'][string]): readonly string[] {
  return [
    ...Object.values(fallbacks ?? {}).flat(),
    ...(mirror === undefined ? [] : [mirror.to]),
    ...(canary === undefined ? [] : [canary.to]),
  ]
}

function isStrings(value: Json): value is readonly string[] {
  return Array.isArray(value) && value.every(one => typeof one === 'string')
}
