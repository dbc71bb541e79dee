import { type Json, parseJson } from '../../core/json.js'
import { asName, asVariable } from './address.js'
import { copiedHeaders, copiedMembers } from './copies.js'
import type { Draft } from './draft.js'
import type { Reader, ReaderInput } from './reader.js'
import { View } from './view.js'

/** The channels of a gateway that keeps them in a database, as its API lists them. */
export const channelsReader: Reader = input => {
  const { root } = input
  const data = root.child('data')
  const list = [data.child('items'), data, root.child('channels')].find(({ value }) => Array.isArray(value))
  // An answer about one channel has it as its data; a request that makes one is it, or has it.
  const one = [data, root.child('channel'), root].find(view => view.child('type').exists)
  const views = list?.items() ?? (one === undefined ? [] : [one])
  if (list === undefined && views.length === 0)
    root.find('unsupported', 'it has no channels, neither in data nor in channels')
  const channels = views.map(view => ({ view, priority: view.child('priority').number() ?? 0 }))
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
  const own = view.child('base_url')
  const address = typeof own.value === 'string' && own.value !== '' ? own : data.child('bases', number)
  const request = forced(inJson(view.child('param_override')))
  const { region, isAccount } = inKey(view)
  const secrets = isAccount ? accountIn(view) : secretsOf(view, at, `${asVariable(name)}_KEY`, draft)
  const upstream = draft.upstream({
    provider: word,
    name,
    at: view,
    ...(address.exists ? { address } : {}),
    model: view.child('models').text()?.split(',')[0]?.trim() ?? '',
    headers: headersOf(view, data),
    cloud: { region },
    settings: { ...secrets, ...(status === 2 ? { disabled: true } : {}) },
  })
  if (upstream === undefined) return
  const names = inJson(view.child('model_mapping'))
  const weight = isShared ? { weight: weightOf(view, data) } : {}
  for (const model of (view.child('models').text() ?? '')
    .split(',')
    .map(one => one.trim())
    .filter(Boolean)) {
    const as = names.child(model).text()
    draft.addTarget(model, {
      upstream,
      ...(as !== undefined && as !== model ? { as } : {}),
      ...(request.length === 0 ? {} : { request }),
      ...weight,
    })
  }
}

/** What is added to each weight; where nothing says it, weights are not looked at, and channels share evenly. */
function weightOf(view: View, data: View): number {
  const added = data.child('added_weight').number()
  const own = view.child('weight')
  if (added !== undefined) return (own.number() ?? 0) + added || 1
  if ((own.number() ?? 0) > 0) own.find('exact', 'channels of one priority are drawn evenly: weights say nothing')
  return 1
}

function headersOf(view: View, data: View): Readonly<Record<string, string>> {
  const organization = view.child(data.child('organization', 'member').text() ?? '').text() ?? ''
  const header = data.child('organization', 'header').text() ?? ''
  const override = inJson(view.child('header_override'))
  const entries = override.entries()
  // Braces are a variable: a key, or what the client sends.
  const plain = entries.filter(([, { value }]) => !/[{}]/.test(String(value)))
  for (const [name, value] of entries)
    if (!plain.some(([other]) => other === name))
      value.find('manual', `write ${JSON.stringify(name)} under headers of the upstream: it is not copied`)
  return {
    ...(header !== '' && /^[\w-]+$/.test(organization) && { [header]: organization }),
    ...copiedHeaders(plain),
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
function secretsOf(channel: View, at: number, wanted: string, draft: Draft): { readonly [name: string]: Json } {
  const view = channel.child('key')
  const lines = (view.text() ?? '').split('\n').filter(line => line.trim() !== '')
  if (lines.length <= 1) {
    const [source = `channel:${channel.child('id').text() ?? at}`] = lines.map(line => `key:${line.trim()}`)
    const env = draft.variableFor(source, wanted)
    view.find('manual', `keys are not copied: set ${env}`)
    return { secret: { env } }
  }
  const used = lines.slice(0, 32)
  const secrets = used.map((line, at) => ({ env: draft.variableFor(`key:${line.trim()}`, `${wanted}_${at + 1}`) }))
  view.find('manual', `keys are not copied: set ${secrets[0]?.env} and so on`)
  return { secrets }
}

function forced(view: View): readonly Json[] {
  if (view.child('operations').exists) {
    view.find('unsupported', 'operations on the body are written as verbs: set, rename, remove')
    return []
  }
  const members = copiedMembers(view.entries())
  const usable = members.filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
  if (usable.length < members.length) view.find('unsupported', 'a member with such a name cannot be set')
  return usable.length === 0 ? [] : [{ set: Object.fromEntries(usable) }]
}

/** JSON in a text, as these databases keep it. */
function inJson(view: View): View {
  const text = view.text() ?? ''
  const value = parseJson(text)
  if (value === undefined && text.trim() !== '') view.find('manual', 'this is not JSON')
  return value === undefined ? view : new View(view.reading, view.path, value)
}
