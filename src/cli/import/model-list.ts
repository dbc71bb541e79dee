import { isObject, type Json } from '../../core/json.js'
import { bodyVerb, defaultsIn } from './body-verbs.js'
import { cloudWish } from './clouds.js'
import { copiedHeaders } from './copies.js'
import type { Target } from './draft.js'
import { seconds } from './durations.js'
import { Limits } from './limits.js'
import { readSpending } from './model-list-budgets.js'
import { noteShares, outputTraits, readPrices } from './model-list-facts.js'
import { readDrops, readRouter } from './model-list-router.js'
import type { Reader, ReaderInput } from './reader.js'
import type { View } from './view.js'

/** A file with `model_list`: deployments (several may share a name) and settings of the router. */
export const modelListReader: Reader = input => {
  const groups = new Map<string, Deployment[]>()
  for (const item of input.root.child('model_list').items()) {
    const name = item.child('model_name').text()
    if (name === undefined) {
      item.find('unsupported', 'a deployment without a model_name')
      continue
    }
    const deployment = deploymentOf(item, name, input)
    if (deployment !== undefined) groups.set(name, [...(groups.get(name) ?? []), deployment])
  }
  for (const [name, group] of groups) addGroup(name, group, input)
  readRouter(input)
  readSpending(input)
}

interface Deployment {
  readonly item: View
  readonly target: Target
  readonly share: View | undefined
  readonly order: number
  /** Whether its upstream has limits of its rates. */
  readonly isBound: boolean
}

function deploymentOf(item: View, name: string, input: ReaderInput): Deployment | undefined {
  const params = item.child('litellm_params')
  const credential = credentialOf(params, input.root)
  const written = params.child('model').text() ?? ''
  const split = splitModel(written, params, credential, input)
  if (split === undefined) {
    params.child('model').find('manual', `its provider is missing, and does not follow from ${JSON.stringify(written)}`)
    return undefined
  }
  const { model, region } = inCloud(split.model, input)
  const limits = boundsOf(params, input)
  const upstream = input.draft.upstream({
    provider: split.provider,
    at: params.child('model'),
    ...viewOf('address', first(params, credential, 'api_base', 'base_url')),
    ...viewOf('secret', first(params, credential, 'api_key')),
    headers: headersOf(params, input.data),
    ...(limits.isEmpty ? {} : { settings: { limits: limits.value }, isOwn: true }),
    model,
    cloud: {
      ...cloudWish(input.data, word => first(params, credential, word)),
      ...(region !== undefined && { region }),
    },
  })
  if (upstream === undefined) return undefined
  noteVersion(params, credential)
  const as = upstreamName(name, model, params)
  if (as === false) return undefined
  const limit = input.draft.wantsLimit(upstream) ? limitOf(params) : {}
  readPrices(item, `${upstream}/${as ?? name}`, input.draft)
  const verbs = requestOf(params)
  const request = limit.traits === undefined ? verbs : verbs.flatMap(withoutLimit)
  const target = {
    upstream,
    ...(as === undefined ? {} : { as }),
    ...(request.length === 0 ? {} : { request }),
    ...outputTraits(item.child('model_info', 'max_output_tokens'), limit),
  }
  const share = ['weight', 'rpm', 'tpm'].map(word => params.child(word)).find(one => one.exists)
  const isBound = limits.value.requests !== undefined || limits.value.tokens !== undefined
  return { item, target, share, order: params.child('order').number() ?? Number.MAX_VALUE, isBound }
}

/** What bounds a deployment: its budget, and its rates where they are enforced and no mere shares. */
function boundsOf(params: View, { root, draft }: ReaderInput): Limits {
  const limits = new Limits('the upstream of this deployment', draft)
  limits.add('budget', params.child('max_budget'), params.child('budget_duration'))
  const router = root.child('router_settings')
  const checks = router.child('optional_pre_call_checks').value
  const areEnforced =
    /^usage-based-routing/.test(String(router.child('routing_strategy').value ?? '')) ||
    (Array.isArray(checks) && checks.includes('enforce_model_rate_limits'))
  if (!areEnforced) return limits
  limits.add('requests', params.child('rpm'), 'minute')
  limits.add('tokens', params.child('tpm'), 'minute')
  return limits
}

/** A model's name without the words before it that say how and where it is asked. */
function inCloud(written: string, { data }: ReaderInput): { readonly model: string; readonly region?: string } {
  const way =
    data
      .child('model_prefixes')
      .texts()
      .find(one => written.startsWith(one)) ?? ''
  const rest = written.slice(way.length)
  const [, region, model] = /^([a-z]{2}(?:-[a-z]+)+-\d)\/(.+)$/.exec(rest) ?? []
  return region === undefined || model === undefined ? { model: rest } : { model, region }
}

function addGroup(name: string, group: readonly Deployment[], { draft }: ReaderInput): void {
  const sorted = [...group].sort((a, b) => a.order - b.order)
  const tier = sorted.filter(({ order }) => order === sorted[0]?.order)
  const areWeighted = tier.every(({ share }) => share !== undefined)
  for (const { item, target, share, order, isBound } of sorted) {
    const isFirst = tier[0]?.order === order
    const isShared = isFirst && tier.length > 1
    if (!isFirst && sorted.some(one => one.item !== item && one.order === order))
      item.find('approximate', 'those of the first order share the load; the others follow one by one')
    const weight = isShared ? (areWeighted ? (share?.number() ?? 1) : 1) : undefined
    const shares = { share, isUsed: isShared && areWeighted, isLone: group.length === 1 }
    if (!isBound) noteShares({ params: item.child('litellm_params'), ...shares }, draft.model(name))
    if (weight === 0) item.find('exact', 'its weight is 0, so it is left out')
    else draft.addTarget(name, { ...target, ...(weight === undefined ? {} : { weight }) })
    draft.model(name).comments.push(...item.comments(), ...item.child('litellm_params', 'model').comments())
    readTimes(item.child('litellm_params'), name, draft.model(name).settings)
  }
}

function readTimes(params: View, name: string, settings: Record<string, Json>): void {
  const times: Record<string, Json> = {}
  const [total, first] = [params.child('timeout').number(), params.child('stream_timeout').number()]
  if (total !== undefined && total > 0) times.total = seconds(total)
  if (first !== undefined && first > 0) times.first_event = seconds(first)
  if (Object.keys(times).length === 0) return
  if (settings.timeouts !== undefined && JSON.stringify(settings.timeouts) !== JSON.stringify(times))
    params.find(
      'approximate',
      `the time-outs of ${JSON.stringify(name)} hold for all its targets: those of the last are used`,
    )
  settings.timeouts = times
}

/** `provider/model`, or a model whose provider the file or the name says. */
function splitModel(
  text: string,
  params: View,
  credential: View | undefined,
  { words }: ReaderInput,
): { provider: string; model: string } | undefined {
  const said =
    params.child('custom_llm_provider').text() ??
    credential?.child('credential_info', 'custom_llm_provider').text() ??
    credential?.child('credential_info', 'provider').text()
  const slash = text.indexOf('/')
  const prefix = slash === -1 ? undefined : text.slice(0, slash)
  if (prefix !== undefined && (prefix === said?.toLowerCase() || said === undefined) && words.isProvider(prefix))
    return { provider: prefix, model: text.slice(slash + 1) }
  if (said !== undefined) return { provider: said, model: text }
  const guess = words.guess(text)
  if (guess !== undefined) return { provider: guess, model: text }
  const hasAddress = first(params, credential, 'api_base', 'base_url') !== undefined
  if (prefix !== undefined) return { provider: prefix, model: text.slice(slash + 1) }
  return hasAddress ? { provider: words.compatible, model: text } : undefined
}

/** The name there: none where it is the client's, and false where it cannot be said. */
function upstreamName(name: string, as: string, params: View): string | undefined | false {
  if (as === name || as === '') return undefined
  const stars = (text: string): number => text.split('*').length - 1
  if (stars(as) <= 1 && (stars(as) === 0 || stars(name) > 0)) return as
  params.child('model').find('unsupported', 'a * in it has no single * of the model name to stand for')
  return false
}

/** The default of a limit that the translation to this upstream needs. */
function limitOf(params: View): Pick<Target, 'traits'> {
  const limits = ['max_tokens', 'max_completion_tokens'].map(name => params.child(name))
  const [limit] = limits.flatMap(one => (one.exists ? (one.number() ?? []) : []))
  return limit === undefined || limit < 1 ? {} : { traits: { max_output: limit } }
}

/** The trait says it: such a default would come after the translation. */
function withoutLimit(verb: Json): readonly Json[] {
  if (!isObject(verb) || !isObject(verb.default)) return [verb]
  const { max_tokens: _, max_completion_tokens: __, ...rest } = verb.default
  return Object.keys(rest).length === 0 ? [] : [{ default: rest }]
}

function requestOf(params: View): readonly Json[] {
  readDrops(params)
  const dropped = params.child('additional_drop_params').texts()
  const plain = dropped.filter(path => /^[A-Za-z_][\w.-]*$/.test(path))
  if (plain.length < dropped.length)
    params.child('additional_drop_params').find('unsupported', 'a path into lists cannot be removed')
  return [
    ...defaultsIn(params),
    ...bodyVerb('set', params.child('extra_body')),
    ...(plain.length === 0 ? [] : [{ remove: plain }]),
  ]
}

function headersOf(params: View, data: View): Readonly<Record<string, string>> {
  const organization = params.child('organization')
  const header = data.child('organization_header').text() ?? ''
  const text = organization.text() ?? ''
  const isPlain = /^[\w-]+$/.test(text)
  if (organization.exists && !isPlain)
    organization.find('manual', `write it under headers of the upstream, as ${header}`)
  return {
    ...copiedHeaders(params.child('headers').entries()),
    ...copiedHeaders(params.child('extra_headers').entries()),
    ...(isPlain ? { [header]: text } : {}),
  }
}

function credentialOf(params: View, root: View): View | undefined {
  const name = params.child('litellm_credential_name').text()
  if (name === undefined) return undefined
  const found = root
    .child('credential_list')
    .items()
    .filter(one => one.child('credential_name').text() === name)
  if (found.length === 1) return found[0]
  const reason = found.length === 0 ? 'no credential has this name' : 'several credentials have this name'
  params.child('litellm_credential_name').find('manual', reason)
  return undefined
}

function first(params: View, credential: View | undefined, ...names: readonly string[]): View | undefined {
  const values = credential?.child('credential_values')
  return names
    .flatMap(name => [params.child(name), ...(values === undefined ? [] : [values.child(name)])])
    .find(({ exists }) => exists)
}

function noteVersion(params: View, credential: View | undefined): void {
  first(params, credential, 'api_version')?.find('approximate', 'paths without a dated version are called here')
}

function viewOf<Name extends string>(name: Name, view: View | undefined): { readonly [key in Name]?: View } {
  return view === undefined ? {} : ({ [name]: view } as { readonly [key in Name]: View })
}
