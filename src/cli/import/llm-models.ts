import type { Json } from '../../core/json.js'
import { asName, asVariable } from './address.js'
import { bodyVerb } from './body-verbs.js'
import { cloudWish } from './clouds.js'
import { copiedHeaders } from './copies.js'
import type { Draft, Model, Target } from './draft.js'
import { Limits } from './limits.js'
import type { Reader, ReaderInput } from './reader.js'
import type { View } from './view.js'

/** `llm` with providers, models and virtual models, which name models as their targets. */
export const llmModelsReader: Reader = input => {
  const { root, draft } = input
  const llm = root.child('llm')
  const port = llm.child('port').number()
  const origins = llm.child('policies', 'cors', 'allowOrigins').texts()
  const listen: Record<string, Json> = {}
  if (port !== undefined) listen.port = port
  if (origins.length > 0) listen.cors = { origins }
  if (Object.keys(listen).length > 0) draft.top.listen = listen
  const body = root.child('frontendPolicies', 'http', 'maxBufferSize').number()
  if (body !== undefined) draft.top.limits = { body: `${Math.ceil(body / 1024)}KiB` }
  const shared = new Map(
    llm
      .child('providers')
      .items()
      .map(one => [one.child('name').text() ?? '', one]),
  )
  const internal = new Map<string, Model>()
  for (const model of llm.child('models').items()) readModel(model, shared, internal, input)
  for (const model of llm.child('virtualModels').items()) readVirtual(model, internal, input)
  for (const [at, key] of llm.child('policies', 'apiKey', 'keys').items().entries()) {
    const name = asName(key.child('metadata', 'name').text() ?? `key-${at + 1}`)
    draft.addKey(name, { ...draft.secretOf(key.child('key'), asVariable(`${name}_key`)), models: ['*'] })
  }
  const shares = bucketsOf(llm.child('policies', 'localRateLimit'), 'all keys together', draft)
  if (!shares.isEmpty) draft.boundAll(shares.value)
}

/** Buckets of requests or of tokens, as limits. */
function bucketsOf(list: View, holder: string, draft: Draft): Limits {
  const found = new Limits(holder, draft)
  for (const bucket of list.items()) {
    const [size, fill, interval] = ['maxTokens', 'tokensPerFill', 'fillInterval'].map(word => bucket.child(word))
    const unit = bucket.child('type').text() === 'tokens' ? 'tokens' : 'requests'
    if (size !== undefined && fill !== undefined && interval !== undefined)
      found.addBucket(unit, bucket, { size, fill, interval })
  }
  return found
}

/** Headers that are set or added; those that are removed never pass unless a list says so. */
function headersOf(places: readonly (View | undefined)[]): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const place of [...places].reverse()) {
    const filter = place?.child('requestHeaders')
    if (filter?.exists !== true) continue
    const [set, added] = [plainHeaders(filter.child('set')), plainHeaders(filter.child('add'))]
    Object.assign(found, set, added)
    if (Object.keys(set).length > 0) filter.child('set').find('exact', 'headers of the upstream')
    if (Object.keys(added).length > 0)
      filter.child('add').find('approximate', "headers of the upstream, in place of the client's of that name")
    if (filter.child('remove').items().length > 0)
      filter
        .child('remove')
        .find('approximate', "a client's header passes only where forward of the upstream or its kind lists it")
  }
  return found
}

/** What a language of expressions writes into a header is not copied. */
function plainHeaders(view: View): Readonly<Record<string, string>> {
  const list = view.items().map(one => [one.child('name').text() ?? '', one.child('value')] as const)
  return copiedHeaders(list.length > 0 ? list : view.entries())
}

function readModel(
  model: View,
  shared: ReadonlyMap<string, View>,
  internal: Map<string, Model>,
  { draft, words, data }: ReaderInput,
): void {
  const name = model.child('name').text() ?? ''
  const reference = model.child('provider', 'reference').text()
  const base = reference === undefined ? undefined : shared.get(reference)
  const provider = base ?? model
  const isCustom = provider.child('provider', 'custom').take() !== undefined
  const word = provider.child('provider').text() ?? (isCustom ? words.compatible : undefined)
  if (word === undefined || name === '') {
    model.find('unsupported', 'it names no provider that this file has')
    return
  }
  const param = (member: string): View | undefined =>
    [model.child('params', member), base?.child('params', member)].find(view => view?.exists === true)
  const [address, secret] = [param('baseUrl'), param('apiKey')]
  const upstream = draft.upstream({
    provider: word,
    name: reference ?? word,
    at: model,
    ...(address === undefined ? {} : { address }),
    ...(secret === undefined ? {} : { secret }),
    headers: headersOf([model, base]),
    model: param('model')?.text() ?? name,
    cloud: cloudWish(data, param),
  })
  if (upstream === undefined) return
  const as = nameThere(name, param('model')?.text(), [model, base])
  const request = [...bodyVerb('default', model.child('defaults')), ...bodyVerb('set', model.child('overrides'))]
  const target: Target = { upstream, ...(as === undefined ? {} : { as }), ...(request.length === 0 ? {} : { request }) }
  if (model.child('visibility').text() === 'internal') {
    internal.set(name, { targets: [target], settings: {}, comments: [] })
    return
  }
  draft.addTarget(name, target)
  draft.model(name).comments.push(...model.comments())
  const limits = bucketsOf(model.child('localRateLimit'), `the model ${JSON.stringify(name)}`, draft)
  if (!limits.isEmpty) draft.model(name).settings.limits = limits.value
}

/** `stripPrefix("x/")` of a glob `x/*` is what its star stands for. */
function nameThere(
  name: string,
  written: string | undefined,
  places: readonly (View | undefined)[],
): string | undefined {
  for (const place of places) {
    const view = place?.child('transformation', 'model')
    const prefix = /stripPrefix\("([^"]*)"\)$/.exec(String(view?.value ?? ''))?.[1]
    if (prefix !== undefined && name === `${prefix}*`) {
      view?.text()
      return '*'
    }
  }
  return written === name ? undefined : written
}

function readVirtual(model: View, internal: ReadonlyMap<string, Model>, { draft }: ReaderInput): void {
  const name = model.child('name').text() ?? ''
  const routing = model.child('routing')
  const [weighted, failover, conditional] = ['weighted', 'failover', 'conditional'].map(one =>
    routing.child(one, 'targets').items(),
  )
  const add = (target: View, extra: { readonly weight?: number }): void => {
    const meant = target.child('model').text() ?? ''
    const found = targetsOf(meant, internal, draft.models)
    if (found.length === 0) target.find('unsupported', 'it names a model that is not in the result')
    for (const one of found) draft.addTarget(name, { ...one, ...extra })
  }
  for (const target of weighted ?? []) {
    const weight = target.child('weight').number() ?? 1
    if (weight === 0) target.find('exact', 'its weight is 0, so it is left out')
    else add(target, { weight })
  }
  if ((weighted ?? []).length > 0) draft.model(name).settings.retry = { attempts: 1 }
  addTiers(failover ?? [], routing, add)
  for (const target of conditional ?? []) {
    const when = target.child('when')
    if (when.exists) when.find('manual', 'write it as `when` at a target; the target without a condition is taken')
    else add(target, {})
  }
}

/** Targets of one priority share its load. Neighbours with weights are one group, so only the first tier has weights. */
function addTiers(
  targets: readonly View[],
  routing: View,
  add: (target: View, extra: { readonly weight?: number }) => void,
): void {
  const ordered = targets
    .map(one => ({ one, priority: one.child('priority').number() ?? 0 }))
    .sort((a, b) => a.priority - b.priority)
  const count = (wanted: number | undefined): number => ordered.filter(({ priority }) => priority === wanted).length
  const first = ordered[0]?.priority
  for (const { one, priority } of ordered) add(one, priority === first && count(first) > 1 ? { weight: 1 } : {})
  if (ordered.some(({ priority }) => count(priority) > 1)) {
    const message =
      'targets of the first priority share the load evenly, not by their health; the others follow in order'
    routing.child('failover').find('approximate', message)
  }
}

/** The targets of a model by its name or glob, with the name there. */
function targetsOf(
  name: string,
  internal: ReadonlyMap<string, Model>,
  models: ReadonlyMap<string, Model>,
): readonly Target[] {
  for (const known of [internal, models]) {
    const exact = known.get(name)
    if (exact !== undefined) return exact.targets.map(target => ({ ...target, as: target.as ?? name }))
    for (const [glob, { targets }] of known) {
      const star = glob.endsWith('*') && name.startsWith(glob.slice(0, -1)) ? name.slice(glob.length - 1) : undefined
      if (star !== undefined) return targets.map(target => ({ ...target, as: (target.as ?? glob).replace('*', star) }))
    }
  }
  return []
}
