import type { Json } from '../../core/json.js'
import { asName, asVariable } from './address.js'
import type { Target } from './draft.js'
import { milliseconds } from './durations.js'
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
  for (const key of root.child('api_keys').items()) readKey(key, input)
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

function readKey(key: View, { draft }: ReaderInput): void {
  const name = asName(nameOf(key))
  const [variable, hash] = [key.child('key_env').text(), key.child('key_hash').text()]
  const wanted = asVariable(`${name}_key`)
  const secret = /^[0-9a-f]{64}$/i.test(hash ?? '') ? { hash: `sha256:${hash}` } : { env: variable ?? wanted }
  if (variable === undefined && hash === undefined) key.find('manual', `the key is not copied: set ${wanted}`)
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
  draft.keys.set(name, { secret, models, ...(expires === undefined ? {} : { expires }), ...off })
}
