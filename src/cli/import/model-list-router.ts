import type { Json } from '../../core/json.js'
import type { Draft } from './draft.js'
import { seconds } from './durations.js'
import type { ReaderInput } from './reader.js'
import type { View } from './view.js'

/** Strategies that measure, by the foreign word. */
const STRATEGIES: Readonly<Record<string, string>> = {
  'least-busy': 'least_in_flight',
  'latency-based-routing': 'fastest',
  'cost-based-routing': 'cheapest',
}

const MAX_ATTEMPTS = 20

/** What holds for all models: aliases, fallbacks, retries, time-outs, the key of the administrator. */
export function readRouter({ root, draft }: ReaderInput): void {
  const router = root.child('router_settings')
  const general = root.child('litellm_settings')
  for (const settings of [router, general]) {
    readAliases(settings.child('model_group_alias'), draft)
    readFallbacks(settings, draft)
  }
  for (const settings of [router, general]) readDefaultFallbacks(settings.child('default_fallbacks'), draft)
  readDrops(general)
  readStrategy(router.child('routing_strategy'), draft)
  readRetries([router, general, root.child('general_settings')], draft)
  const key = root.child('general_settings', 'master_key')
  if (key.exists) {
    draft.addKey('master', { ...draft.secretOf(key, 'GATEWAY_KEY'), models: ['*'] })
    key.find('approximate', 'the key calls every model here; it administers nothing')
  }
}

/** Of one model, or of all: whether members that a provider lacks are left out. */
export function readDrops(settings: View): void {
  for (const name of ['drop_params', 'modify_params']) {
    const view = settings.child(name)
    if (view.flag() === true)
      view.find('approximate', 'what cannot be translated is left out anyway; relayed bodies stay as they are')
    else if (view.exists)
      view.find('approximate', 'what cannot be translated is left out; strict: true of a model refuses it')
  }
}

function readAliases(view: View, draft: Draft): void {
  for (const [alias, value] of view.entries()) {
    const name = value.text() ?? value.child('model').text()
    const meant = name === undefined ? undefined : draft.models.get(name)
    if (meant === undefined) value.find('unsupported', 'it names a model that is not in the result')
    else if (!draft.models.has(alias)) draft.models.set(alias, meant)
    if (value.child('hidden').flag() === true)
      value.child('hidden').find('unsupported', 'each model is listed to the keys that may use it')
  }
}

const KINDS_OF_FALLBACK = {
  fallbacks: ['overloaded', 'timeout', 'rate_limited'],
  context_window_fallbacks: ['context_too_long'],
  content_policy_fallbacks: ['content_refused'],
} as const

function readFallbacks(settings: View, draft: Draft): void {
  for (const [member, causes] of Object.entries(KINDS_OF_FALLBACK)) {
    const view = settings.child(member)
    for (const [name, list] of view.items().flatMap(item => item.entries())) {
      const known = list.texts().filter(one => one !== name && serves(draft, one))
      if (known.length < list.texts().length) list.find('unsupported', 'it names a model that is not in the result')
      const model = draft.models.get(name)
      if (model === undefined) list.find('unsupported', `${JSON.stringify(name)} is not in the result`)
      else if (known.length > 0) addFallbacks(model.settings, causes, known)
    }
    if (view.exists && member === 'fallbacks')
      view.find('approximate', 'they follow overload, rate limits and time-outs; other errors go to the client')
  }
}

function readDefaultFallbacks(view: View, draft: Draft): void {
  const known = view.texts().filter(name => serves(draft, name))
  if (!view.exists) return
  view.find('approximate', 'written at each model without fallbacks of its own')
  for (const [name, model] of draft.models) {
    const others = known.filter(one => one !== name)
    if (others.length > 0 && model.settings.fallbacks === undefined)
      addFallbacks(model.settings, KINDS_OF_FALLBACK.fallbacks, others)
  }
}

function addFallbacks(settings: Record<string, Json>, causes: readonly string[], names: readonly string[]): void {
  const before = settings.fallbacks as Readonly<Record<string, Json>> | undefined
  settings.fallbacks = { ...before, ...Object.fromEntries(causes.map(cause => [cause, names])) }
}

function serves(draft: Draft, name: string): boolean {
  return (draft.models.get(name)?.targets.length ?? 0) > 0
}

function readStrategy(view: View, draft: Draft): void {
  const word = view.text()
  if (word === undefined || word === 'simple-shuffle') return
  const strategy = STRATEGIES[word]
  if (strategy === undefined) {
    view.find('unsupported', `there is no strategy like ${JSON.stringify(word)}; targets share evenly`)
    return
  }
  view.find('approximate', `the nearest strategy is ${strategy}; it measures in its own way`)
  for (const { targets, settings } of draft.models.values()) if (targets.length > 1) settings.strategy = strategy
}

function readRetries(places: readonly View[], draft: Draft): void {
  const find = (name: string): View | undefined => places.map(one => one.child(name)).find(({ exists }) => exists)
  for (const name of ['num_retries', 'request_timeout', 'timeout', 'allowed_fails', 'cooldown_time'])
    for (const place of places) place.child(name).number()
  const retries = find('num_retries')
  const attempts = retries?.number()
  if (retries !== undefined && attempts !== undefined) {
    draft.top.retry = { attempts: Math.min(MAX_ATTEMPTS, Math.max(1, Math.round(attempts) + 1)) }
    retries.find('approximate', 'attempts go through the targets first, and then back to those that may be asked again')
  }
  const total = (find('timeout') ?? find('request_timeout'))?.number()
  if (total !== undefined && total > 0) draft.top.timeouts = { total: seconds(total) }
  const health: Record<string, Json> = {}
  const [fails, pause] = [find('allowed_fails'), find('cooldown_time')]
  const [failures, cooldown] = [fails?.number(), pause?.number()]
  if (failures !== undefined) health.failures = Math.max(1, Math.round(failures) + 1)
  if (cooldown !== undefined && cooldown > 0) {
    Object.assign(health, { cooldown: seconds(cooldown), max_cooldown: seconds(Math.max(60, cooldown)) })
  }
  if (Object.keys(health).length > 0) draft.top.health = health
  for (const one of [fails, pause])
    one?.find('approximate', 'failures in a row count here, not those of a minute; the target is then asked last')
}
