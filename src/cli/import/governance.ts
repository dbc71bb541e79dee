import type { Json } from '../../core/json.js'
import { asName } from './address.js'
import type { Draft } from './draft.js'
import { Limits } from './limits.js'
import type { View } from './view.js'

/** What limits callers: customers and teams as groups, and the budgets and rates that any of them names. */
export class Governance {
  readonly #draft: Draft
  readonly #budgets: readonly View[]
  readonly #rates: readonly View[]
  /** Names of groups, by `team:` or `customer:` and the id of either. */
  readonly #groups = new Map<string, string>()

  constructor(root: View, draft: Draft) {
    const governance = root.child('governance')
    this.#draft = draft
    this.#budgets = governance.child('budgets').items()
    this.#rates = governance.child('rate_limits').items()
    for (const customer of governance.child('customers').items()) this.#addGroup(customer, 'customer', undefined)
    for (const team of governance.child('teams').items())
      this.#addGroup(team, 'team', this.#groups.get(`customer:${team.child('customer_id').text() ?? ''}`))
  }

  /** What a key of a caller belongs to and may use. */
  ofKey(key: View, name: string): Readonly<Record<string, Json>> {
    const [team, customer] = [key.child('team_id').text(), key.child('customer_id').text()]
    const group = this.#groups.get(`team:${team ?? ''}`) ?? this.#groups.get(`customer:${customer ?? ''}`)
    const limits = this.limits(key, `the key ${JSON.stringify(name)}`, 'virtual_key_id')
    return { ...(group === undefined ? {} : { group }), ...(limits === undefined ? {} : { limits }) }
  }

  /** Of models and providers, for all callers together. */
  readTargets(root: View): void {
    for (const config of root.child('governance', 'model_configs').items()) {
      const [provider, model] = [config.child('provider').text(), config.child('model_name').text()]
      const found = this.#draft.models.get(`${provider ?? ''}/${model ?? ''}`)
      const limits = found && this.limits(config, `the model "${provider}/${model}"`, 'model_config_id')
      if (found !== undefined && limits !== undefined) found.settings.limits = limits
      else config.find('manual', 'write limits at the models: this one has none here, or no limits')
    }
    for (const config of root.child('governance', 'providers').items()) {
      const name = asName(config.child('name').text() ?? '')
      const limits = this.#draft.hasUpstream(name)
        ? this.limits(config, `the upstream ${JSON.stringify(name)}`, 'provider_id')
        : undefined
      if (limits !== undefined) this.#draft.bound(name, limits)
      else config.find('manual', 'write limits at its upstreams: it has several here, or none')
    }
  }

  /** By `budget_id` and `rate_limit_id` of the holder, or by the holder's id in those. */
  limits(holder: View, name: string, reference: string): Record<string, Json> | undefined {
    const id = holder.child('id').text()
    const names = (one: View, word: string): boolean =>
      (one.child('id').exists && one.child('id').value === holder.child(word).value) ||
      (id !== undefined && one.child(reference).value === id)
    const found = new Limits(name, this.#draft)
    for (const budget of [...this.#budgets.filter(one => names(one, 'budget_id')), holder.child('budget')])
      found.add('budget', read(budget, 'max_limit'), budget.child('reset_duration'))
    for (const rate of [...this.#rates.filter(one => names(one, 'rate_limit_id')), holder.child('rate_limit')]) {
      found.add('requests', read(rate, 'request_max_limit'), rate.child('request_reset_duration'))
      found.add('tokens', read(rate, 'token_max_limit'), rate.child('token_reset_duration'))
    }
    for (const [word, list] of Object.entries({ budget_id: this.#budgets, rate_limit_id: this.#rates }))
      if (list.some(one => one.child('id').value === holder.child(word).value)) holder.child(word).text()
    return found.isEmpty ? undefined : found.value
  }

  #addGroup(view: View, word: string, parent: string | undefined): void {
    const id = view.child('id').text() ?? ''
    const name = this.#draft.freeGroup(asName(view.child('name').text() ?? id))
    const limits = this.limits(view, `the group ${JSON.stringify(name)}`, `${word}_id`)
    this.#groups.set(`${word}:${id}`, name)
    this.#draft.groups.set(name, {
      ...(parent === undefined ? {} : { group: parent }),
      ...(limits === undefined ? {} : { limits }),
    })
  }
}

/** A member of a budget or rate limit, which then counts as read with what else it says of itself. */
function read(view: View, member: string): View {
  for (const word of [
    'id',
    'calendar_aligned',
    'virtual_key_id',
    'team_id',
    'customer_id',
    'model_config_id',
    'provider_id',
  ])
    view.child(word).text()
  return view.child(member)
}
