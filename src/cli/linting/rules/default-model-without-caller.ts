import { Holders, listsOfKeys, saidOfTokens } from '../callers.js'
import type { Linted, Rule } from '../rule.js'

export const defaultModelWithoutCaller: Rule = {
  id: 'default-model-without-caller',
  severity: 'warning',
  finds: 'a default model that no key may use',
  why: 'Requests that name no model are refused, though the file says which model they get.',
  mend: 'Add the model to `models` of a key, or delete the line of `default_models`.',
  *check({ config }: Linted) {
    if (saidOfTokens(config, 'models') === undefined || config.identity !== undefined) return
    const callers = new Holders(listsOfKeys(config).map(lists => ({ lists })))
    const seen = new Set<string>()
    for (const { protocol, model } of Object.values(config.routes)) {
      const name = model?.byDefault
      if (protocol === undefined || name === undefined || config.models[name] === undefined || seen.has(protocol))
        continue
      seen.add(protocol)
      if (callers.has(name)) continue
      yield {
        path: ['default_models', protocol],
        message: `no key may use ${JSON.stringify(name)}, the default model of ${protocol}`,
      }
    }
  },
}
