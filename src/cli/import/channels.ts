import { isObject, type Json } from '../../core/json.js'
import { asName, asVariable } from './address.js'
import type { Reader, ReaderInput } from './reader.js'
import type { View } from './view.js'

/** The channels of a gateway that keeps them in a database, as its API lists them. */
export const channelsReader: Reader = input => {
  const { root } = input
  const list = [root.child('data', 'items'), root.child('data'), root.child('channels')].find(({ value }) =>
    Array.isArray(value),
  )
  const channels = (list?.items() ?? []).map(view => ({ view, priority: view.child('priority').number() ?? 0 }))
  const sorted = [...channels].sort((a, b) => b.priority - a.priority)
  for (const [at, { view, priority }] of sorted.entries()) {
    // Neighbours with weights are one group, so only the first tier has weights.
    const isFirst = priority === sorted[0]?.priority && sorted.filter(one => one.priority === priority).length > 1
    readChannel(view, isFirst, at, input)
  }
  if (new Set(channels.map(one => one.priority)).size > 1)
    list?.find('approximate', 'channels of the highest priority share the load; the others follow in order')
}

function readChannel(view: View, isShared: boolean, at: number, input: ReaderInput): void {
  const { data, draft } = input
  const number = view.child('type').text() ?? ''
  const word = data.child('types', number).text()
  const name = asName(view.child('name').text() ?? `channel-${at + 1}`)
  if (word === undefined) {
    view.child('type').find('unsupported', `no kind is known for the type ${number}`)
    return
  }
  const status = view.child('status').number()
  if (status === 3) view.child('status').find('manual', 'it was switched off by itself; it is on here')
  const address = view.child('base_url')
  const request = forced(view.child('param_override'))
  const { region, isAccount } = inKey(view)
  const secrets = isAccount ? accountIn(view) : secretsOf(view.child('key'), `${asVariable(name)}_KEY`)
  const upstream = draft.upstream({
    provider: word,
    name,
    at: view,
    ...(typeof address.value === 'string' && address.value !== '' ? { address } : {}),
    model: view.child('models').text()?.split(',')[0]?.trim() ?? '',
    cloud: { region },
    settings: { ...secrets, ...(status === 2 ? { disabled: true } : {}) },
  })
  if (upstream === undefined) return
  const names = mapping(view.child('model_mapping'))
  const weight = isShared
    ? { weight: (view.child('weight').number() ?? 0) + Number(data.child('added_weight').text() ?? 0) || 1 }
    : {}
  for (const model of (view.child('models').text() ?? '')
    .split(',')
    .map(one => one.trim())
    .filter(Boolean)) {
    const as = names[model]
    draft.addTarget(model, {
      upstream,
      ...(typeof as === 'string' && as !== model ? { as } : {}),
      ...(request.length === 0 ? {} : { request }),
      ...weight,
    })
  }
}

/** For a cloud, the region is beside the key, or its last part: `id|secret|region`, or `key|region`. */
function inKey(view: View): { readonly region: View | string; readonly isAccount: boolean } {
  const parts = String(view.child('key').value ?? '').split('|')
  const last = parts.at(-1) ?? ''
  if (parts.length < 2 || !/^[a-z]{2}(?:-[a-z]+)+-\d$/.test(last))
    return { region: view.child('other'), isAccount: false }
  return { region: last, isAccount: parts.length === 3 }
}

function accountIn(view: View): { readonly [name: string]: Json } {
  view.child('key').find('manual', 'the key is not copied: its credential reads one where it usually is')
  return {}
}

/** Keys are never copied: one variable, or one for each line. */
function secretsOf(view: View, variable: string): { readonly [name: string]: Json } {
  const count = (view.text() ?? '').split('\n').filter(line => line.trim() !== '').length
  if (count > 0) view.find('manual', `keys are not copied: set ${count > 1 ? `${variable}_1 and so on` : variable}`)
  if (count <= 1) return { secret: { env: variable } }
  const secrets = Array.from({ length: Math.min(count, 32) }, (_, at) => ({ env: `${variable}_${at + 1}` }))
  return { secrets }
}

function mapping(view: View): { readonly [name: string]: Json | undefined } {
  const value = jsonOf(view)
  return isObject(value) ? value : {}
}

function forced(view: View): readonly Json[] {
  const value = jsonOf(view)
  if (!isObject(value)) return []
  if (value.operations !== undefined) {
    view.find('unsupported', 'operations on the body are written as verbs: set, rename, remove')
    return []
  }
  const members = Object.entries(value).filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
  return members.length === 0 ? [] : [{ set: Object.fromEntries(members) }]
}

/** JSON in a text, as these databases keep it. */
function jsonOf(view: View): Json | undefined {
  const text = view.text()
  if (text === undefined || text.trim() === '') return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    view.find('manual', 'this is not JSON')
    return undefined
  }
}
