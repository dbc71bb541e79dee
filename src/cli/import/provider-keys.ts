import { overlap } from '../../core/glob.js'
import type { Json, JsonObject } from '../../core/json.js'
import { asName } from './address.js'
import { cloudWish } from './clouds.js'
import { copiedHeaders } from './copies.js'
import { type Spoken, speaksOf } from './custom-requests.js'
import { seconds } from './durations.js'
import { Governance } from './governance.js'
import type { Reader, ReaderInput } from './reader.js'
import type { View } from './view.js'

/** `providers` by name, each with keys that share its load; clients name models `provider/model`. */
export const providerKeysReader: Reader = input => {
  for (const [name, provider] of input.root.child('providers').entries()) readProvider(name, provider, input)
  const { root, draft } = input
  const body = root.child('client', 'max_request_body_size_mb').number()
  if (body !== undefined && body > 0) draft.top.limits = { body: `${body}MiB` }
  const origins = root.child('client', 'allowed_origins').texts()
  const usable = origins.filter(origin => origin === '*' || /^https?:\/\/[^/\s]+$/.test(origin))
  if (usable.length > 0) draft.top.listen = { cors: { origins: usable } }
  const governance = new Governance(root, draft)
  for (const key of root.child('governance', 'virtual_keys').items()) readKey(key, governance, input)
  governance.readTargets(root)
}

function readProvider(name: string, provider: View, input: ReaderInput): void {
  const network = provider.child('network_config')
  const custom = provider.child('custom_provider_config')
  const word = custom.child('base_provider_type').text() ?? name
  const times: Record<string, Json> = {}
  const total = network.child('default_request_timeout_in_seconds').number()
  if (total !== undefined && total > 0) times.total = seconds(total)
  const idle = network.child('stream_idle_timeout_in_seconds').number()
  if (idle !== undefined && idle > 0) times.idle = seconds(idle)
  const listed = provider.child('keys').items()
  const keys = listed.length === 0 && custom.child('is_key_less').flag() === true ? [provider] : listed
  for (const key of keys) {
    const cloud = key.entries().find(([member]) => member.endsWith('_key_config'))?.[1]
    const address = [network.child('base_url'), cloud?.child('endpoint')].find(view => view?.exists === true)
    const secret = key.child('value')
    const upstream = input.draft.upstream({
      provider: word,
      name: keys.length > 1 ? `${name}-${key.child('name').text() ?? 'key'}` : name,
      at: key,
      ...(address === undefined ? {} : { address }),
      ...(secret.exists && secret.value !== '' ? { secret } : {}),
      source: keys.length > 1 ? `${name}:${key.path.at(-1)}` : undefined,
      headers: copiedHeaders(network.child('extra_headers').entries()),
      ...(custom.exists ? { speaks: (spoken: Spoken) => speaksOf(custom, input.data, spoken) } : {}),
      ...(cloud === undefined ? {} : { cloud: cloudWish(input.data, word => cloud.child(word)) }),
      settings: Object.keys(times).length === 0 ? {} : { timeouts: times },
    })
    if (upstream !== undefined) addModels(name, key, cloud, upstream, keys.length > 1, input)
  }
}

function addModels(
  name: string,
  key: View,
  cloud: View | undefined,
  upstream: string,
  isShared: boolean,
  { draft }: ReaderInput,
): void {
  const weight = key.child('weight').number() ?? 1
  const share = isShared ? { weight } : {}
  if (isShared && weight === 0) return
  const deployments = new Map(
    cloud
      ?.child('deployments')
      .entries()
      .map(([model, view]) => [model, view.text()]),
  )
  const list = key.child('models')
  const listed = list.texts()
  if (list.exists) noteEmpty(list)
  if (!list.exists || listed.includes('*')) draft.addTarget(`${name}/*`, { upstream, as: '*', ...share })
  for (const model of listed.filter(model => model !== '*'))
    draft.addTarget(`${name}/${model}`, { upstream, as: deployments.get(model) ?? model, ...share })
}

function noteEmpty(list: View): void {
  if (Array.isArray(list.value) && list.value.length > 0) return
  list.find('approximate', 'empty or absent, it allows nothing, as since version 1.5; before, it allowed all')
}

function readKey(key: View, governance: Governance, { draft }: ReaderInput): void {
  const name = asName(key.child('name').text() ?? key.child('id').text() ?? 'key')
  const value = key.child('value')
  if (!value.exists) {
    key.find('manual', 'its value is not in the file; make a key with `gateway keys new`')
    return
  }
  const configs = key.child('provider_configs').items()
  const models = configs.flatMap(config => {
    const provider = config.child('provider').text() ?? ''
    noteEmpty(config.child('allowed_models'))
    const allowed = config.child('allowed_models').texts()
    return allowed.map(model => `${provider}/${model}`)
  })
  noteEmpty(key.child('provider_configs'))
  const known = models.filter(model => [...draft.models.keys()].some(one => overlap(one, model)))
  if (known.length < models.length)
    key.child('provider_configs').find('unsupported', 'some of its models are not in the result')
  const made: JsonObject = { ...draft.secretOf(value, `KEY_${name.toUpperCase().replaceAll(/\W/g, '_')}`) }
  const off = key.child('is_active').flag() === false ? { disabled: true } : {}
  draft.addKey(name, {
    ...made,
    models: known,
    ...off,
    ...governance.ofKey(key, name),
  })
}
