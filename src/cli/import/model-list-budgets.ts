import { asName } from './address.js'
import { fitted, Limits } from './limits.js'
import type { ReaderInput } from './reader.js'
import type { View } from './view.js'

/** Of keys, teams and users that are made while the other gateway runs: where it has them, and what they are here. */
const MADE_LATER = [
  ['default_key_generate_params', 'each key that you make'],
  ['upperbound_key_generate_params', 'each key that you make'],
  ['default_internal_user_params', 'the group of each user'],
  ['default_team_params', 'the group of each team'],
] as const

/** What all callers may spend together, and each provider; and what keys and teams would get that are not in the file. */
export function readSpending(input: ReaderInput): void {
  const { root, draft } = input
  const [settings, general] = [root.child('litellm_settings'), root.child('general_settings')]
  const all = new Limits('all keys together', draft)
  for (const place of [settings, general]) all.add('budget', place.child('max_budget'), place.child('budget_duration'))
  all.addInFlight(general.child('global_max_parallel_requests'))
  if (!all.isEmpty) draft.boundAll(all.value)
  for (const [provider, view] of root.child('router_settings', 'provider_budget_config').entries())
    readProvider(provider, view, input)
  for (const place of [settings, general]) for (const [word, holder] of MADE_LATER) noteLater(place.child(word), holder)
  const users = settings.child('max_internal_user_budget')
  noteAmount([users, settings.child('internal_user_budget_duration')], 'the group of each user')
}

/** A provider with one upstream has its budget there. */
function readProvider(provider: string, view: View, { draft }: ReaderInput): void {
  const names = draft.upstreamNames.filter(name => name === asName(provider) || name.startsWith(`${asName(provider)}-`))
  const [only] = names
  if (only === undefined || names.length > 1) {
    const reason =
      only === undefined ? 'no upstream of this provider is in the result' : 'its upstreams cannot share one'
    view.find('manual', `write limits { budget } at upstreams: ${reason}`)
    return
  }
  const limits = new Limits(`the upstream ${JSON.stringify(only)}`, draft)
  const [amount, time] = ['budget_limit', 'time_period'].map(word => view.child(word))
  const isOther = amount?.exists !== true
  limits.add('budget', isOther ? view.child('max_budget') : amount, isOther ? view.child('budget_duration') : time)
  if (!limits.isEmpty) draft.bound(only, limits.value)
}

/** The words to write, since what they are for is not in the file. */
function noteLater(view: View, holder: string): void {
  if (!view.exists) return
  noteAmount([view.child('max_budget'), view.child('budget_duration')], holder)
  const rates = [
    ['rpm_limit', 'requests'],
    ['tpm_limit', 'tokens'],
  ] as const
  for (const [word, unit] of rates) {
    const rate = view.child(word)
    const count = rate.number()
    if (count !== undefined) rate.find('manual', `write limits { ${unit}: ${count}/min } at ${holder}`)
  }
}

function noteAmount([amount, time]: readonly (View | undefined)[], holder: string): void {
  if (amount?.exists !== true) return
  const found = fitted('budget', amount, time)
  const text = typeof found === 'string' ? '' : `: ${found.text}`
  amount.find('manual', `write limits { budget${text} } at ${holder}`)
}
