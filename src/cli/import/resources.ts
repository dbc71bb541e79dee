import type { Json } from '../../core/json.js'
import { asName, asVariable } from './address.js'
import type { Draft, Target } from './draft.js'
import { milliseconds } from './durations.js'
import { Limits } from './limits.js'
import { perMillion } from './model-list-facts.js'
import type { Reader, ReaderInput } from './reader.js'
import type { View } from './view.js'

/** Lists of resources that name each other: `provider_keys`, `models`, `api_keys`. */
export const resourcesReader: Reader = input => {
  const { root } = input
  const providers = byName(root.child('provider_keys'))
  const plain = root
    .child('models')
    .items()
    .filter(model => !model.child('routing').exists)
  for (const model of plain) readModel(model, providers, input)
  for (const model of root.child('models').items())
    if (!plain.some(one => one.value === model.value)) readRouting(model, input)
  const policies = root.child('rate_limit_policies').items()
  const teams = readTeams(policies, input.draft)
  for (const key of root.child('api_keys').items()) readKey(key, { policies, teams }, input)
  for (const model of root.child('models').items()) readBounds(model, policies, input.draft)
}

/** What bounds callers beside their own settings. */
interface Policies {
  readonly policies: readonly View[]
  /** Groups by the id of a team. */
  readonly teams: ReadonlyMap<string, string>
}

/** Windows of a rate limit, by the letter that ends its members: `rpm`, `tpd`. */
const WINDOWS = { s: 'second', m: 'minute', h: 'hour', d: 'day' } as const

/** A rate limit at a model or key, and the policies that name it. */
function limitsOf(view: View, policies: readonly View[], scope: string, holder: string, draft: Draft): Limits {
  const found = new Limits(holder, draft)
  const own = view.child('rate_limit')
  for (const [letter, window] of Object.entries(WINDOWS)) {
    found.add('requests', own.child(`rp${letter}`), window)
    found.add('tokens', own.child(`tp${letter}`), window)
  }
  found.addInFlight(own.child('concurrency'))
  addPolicies(found, policies, scope, nameOf(view))
  return found
}

/** Policies with conditions are for a person. */
function addPolicies(found: Limits, policies: readonly View[], scope: string, name: string): void {
  for (const policy of policies) {
    if (policy.child('scope').value !== scope || policy.child('scope_ref').value !== name) continue
    if (policy.child('conditions').exists) continue
    for (const word of ['name', 'scope', 'scope_ref']) policy.child(word).text()
    found.add('requests', policy.child('max_requests'), policy.child('window'))
    found.add('tokens', policy.child('max_tokens'), policy.child('window'))
  }
}

/** A team is a group where a policy bounds it. */
function readTeams(policies: readonly View[], draft: Draft): ReadonlyMap<string, string> {
  const teams = new Map<string, string>()
  for (const policy of policies) {
    const team = policy.child('scope_ref').value
    if (policy.child('scope').value !== 'team' || typeof team !== 'string' || teams.has(team)) continue
    const name = draft.freeGroup(asName(team))
    const found = new Limits(`the group ${JSON.stringify(name)}`, draft)
    addPolicies(found, policies, 'team', team)
    if (found.isEmpty) continue
    teams.set(team, name)
    draft.groups.set(name, { limits: found.value })
  }
  return teams
}

function readBounds(model: View, policies: readonly View[], draft: Draft): void {
  const made = draft.models.get(nameOf(model))
  if (made === undefined) return
  const holder = `the model ${JSON.stringify(nameOf(model))}`
  const found = limitsOf(model, policies, 'model', holder, draft)
  if (!found.isEmpty) made.settings.limits = found.value
  const cost = model.child('cost')
  const [input, output] = [cost.child('input_per_1k').number(), cost.child('output_per_1k').number()]
  if (input === undefined && output === undefined) return
  const price = {
    ...(input === undefined ? {} : { input: perMillion(input / 1000) }),
    ...(output === undefined ? {} : { output: perMillion(output / 1000) }),
  }
  const isRouted = model.child('routing').exists
  const [target] = made.targets
  const name = isRouted || target === undefined ? nameOf(model) : `${target.upstream}/${target.as ?? nameOf(model)}`
  draft.price(name, price, model)
  cost.find(
    isRouted ? 'approximate' : 'exact',
    isRouted ? 'prices: what each target costs goes before it' : 'prices, per million tokens',
  )
}

function byName(list: View): ReadonlyMap<string, View> {
  return new Map(list.items().flatMap(one => [[nameOf(one), one] as const]))
}

function nameOf(view: View): string {
  return view.child('display_name').text() ?? view.child('name').text() ?? ''
}

function readModel(model: View, providers: ReadonlyMap<string, View>, { draft }: ReaderInput): void {
  const name = nameOf(model)
  const keyName = model.child('provider_key').text() ?? ''
  const key = providers.get(keyName)
  const word = key?.child('provider').text() ?? key?.child('adapter').text() ?? model.child('provider').text()
  model.child('provider').text()
  if (key === undefined || word === undefined || name === '') {
    model.find('unsupported', 'it names no provider key of this file')
    return
  }
  const [address, secret] = [key.child('api_base'), [key.child('api_key'), key.child('secret')].find(one => one.exists)]
  const upstream = draft.upstream({
    provider: word,
    name: keyName,
    at: model,
    ...(address.exists ? { address } : {}),
    ...(secret === undefined ? {} : { secret }),
    source: `provider_key:${keyName}`,
  })
  if (upstream === undefined) return
  const as = model.child('model_name').text()
  draft.addTarget(name, { upstream, ...(as === undefined || as === name ? {} : { as }) })
  draft.model(name).comments.push(...model.comments())
  const times: Record<string, Json> = {}
  const [total, idle] = [model.child('timeout').number(), model.child('stream_timeout').number()]
  if (total !== undefined && total > 0) times.total = milliseconds(total)
  if (idle !== undefined && idle > 0) times.idle = milliseconds(idle)
  if (Object.keys(times).length > 0) draft.model(name).settings.timeouts = times
}

/** A model of models: their targets in order, or as shares. */
function readRouting(model: View, { draft }: ReaderInput): void {
  const routing = model.child('routing')
  const strategy = routing.child('strategy').text() ?? 'failover'
  const isShared = strategy === 'round_robin'
  if (strategy !== 'failover')
    routing
      .child('strategy')
      .find(
        isShared ? 'approximate' : 'unsupported',
        isShared ? 'shares are drawn, not taken in turn' : 'its targets are asked in order',
      )
  const targets = routing
    .child('targets')
    .items()
    .map(one => ({ one, priority: one.child('priority').number() ?? 0 }))
  for (const { one } of [...targets].sort((a, b) => b.priority - a.priority)) {
    const meant = one.child('model').text() ?? ''
    const inner: readonly Target[] = draft.models.get(meant)?.targets ?? []
    if (inner.length === 0) one.find('unsupported', 'it names a model that is not in the result')
    const weight = one.child('weight').number() ?? 1
    for (const target of weight === 0 ? [] : inner)
      draft.addTarget(nameOf(model), { ...target, as: target.as ?? meant, ...(isShared ? { weight } : {}) })
  }
  const most = routing.child('max_fallbacks').number()
  if (most !== undefined) draft.model(nameOf(model)).settings.retry = { attempts: Math.min(20, most + 1) }
}

function readKey(key: View, { policies, teams }: Policies, { draft }: ReaderInput): void {
  const name = asName(nameOf(key))
  const [variable, hash] = [key.child('key_env').text(), key.child('key_hash').text()]
  const env = variable ?? draft.variableFor(`caller:${nameOf(key)}`, asVariable(`${name}_key`))
  const secret = /^[0-9a-f]{64}$/i.test(hash ?? '') ? { hash: `sha256:${hash}` } : { env }
  if (variable === undefined && hash === undefined) key.find('manual', `the key is not copied: set ${env}`)
  key.child('key').take()
  const allowed = key.child('allowed_models').texts()
  const models = allowed.filter(one => one === '*' || draft.models.has(one))
  if (allowed.length === 0) {
    key.find('exact', 'it may use no model, so it is left out')
    return
  }
  if (models.length < allowed.length)
    key.child('allowed_models').find('unsupported', 'some of them are not in the result')
  const expires = key.child('expires_at').text()
  const off = key.child('disabled').flag() === true ? { disabled: true } : {}
  const found = limitsOf(key, policies, 'api_key', `the key ${JSON.stringify(name)}`, draft)
  const group = teams.get(String(key.child('team_id').value ?? ''))
  if (group !== undefined) key.child('team_id').text()
  draft.addKey(name, {
    ...{ secret, models, ...(expires === undefined ? {} : { expires }), ...off },
    ...(group === undefined ? {} : { group }),
    ...(found.isEmpty ? {} : { limits: found.value }),
  })
}
