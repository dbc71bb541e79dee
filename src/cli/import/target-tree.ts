import type { Json } from '../../core/json.js'
import { bodyVerb } from './body-verbs.js'
import { cloudWish } from './clouds.js'
import { copiedHeaders } from './copies.js'
import type { Target } from './draft.js'
import { milliseconds } from './durations.js'
import type { Reader, ReaderInput } from './reader.js'
import type { View } from './view.js'

/** A tree of targets with a strategy at each level; the client names the model. */
export const targetTreeReader: Reader = input => {
  const { root, draft, model } = input
  const conditions = root.child('strategy', 'conditions').items()
  if (conditions.length > 0) readConditions(conditions, input)
  else for (const target of targetsOf(root, input, true)) draft.addTarget(model, target)
  readRetry(root, input)
  const total = root.child('request_timeout').number()
  if (total !== undefined && total > 0) draft.top.timeouts = { total: milliseconds(total) }
}

/** The targets below a level, in order; those of a level that shares load have weights. */
function targetsOf(view: View, input: ReaderInput, isTop: boolean): readonly Target[] {
  const targets = view.child('targets').items()
  const mode = view.child('strategy', 'mode').text() ?? 'single'
  if (targets.length === 0) return leafOf(view, input)
  if (!isTop)
    view.find('approximate', 'targets of targets become one list: in order, neighbours with weights as a group')
  return targets.flatMap(target => {
    const inner = targetsOf(target, input, false)
    const weight = target.child('weight').number()
    return mode === 'loadbalance'
      ? inner.filter(() => weight !== 0).map(one => ({ ...one, weight: weight ?? 1 }))
      : inner
  })
}

function leafOf(view: View, input: ReaderInput): readonly Target[] {
  const override = view.child('override_params')
  const name = override.child('model').text()
  const [, slugOfModel, modelOfSlug] = /^@([^/]+)\/(.+)$/.exec(name ?? '') ?? []
  const word = slugOfModel ?? view.child('provider').text()?.replace(/^@/, '') ?? view.child('virtual_key').text()
  if (word === undefined) {
    view.find('manual', 'the target names no provider')
    return []
  }
  const provider = providerOf(word, input)
  const isSlug = slugOfModel !== undefined || view.child('provider').text()?.startsWith('@') === true
  const isElsewhere = isSlug || view.child('virtual_key').exists
  if (isElsewhere)
    view.find('manual', `the address and the key of ${JSON.stringify(word)} are not in the file; taken for ${provider}`)
  const host = view.child('custom_host')
  const key = view.child('api_key')
  const upstream = input.draft.upstream({
    provider,
    name: word,
    at: view,
    ...(host.exists ? { address: host } : {}),
    ...(key.exists ? { secret: key } : {}),
    source: isElsewhere ? `slug:${word}` : undefined,
    headers: copiedHeaders(view.child('custom_headers').entries()),
    model: modelOfSlug ?? name ?? '',
    cloud: cloudWish(input.data, word => view.child(word)),
  })
  if (upstream === undefined) return []
  const as = modelOfSlug ?? name
  const request = requestOf(view)
  return [{ upstream, ...(as === undefined ? {} : { as }), ...(request.length === 0 ? {} : { request }) }]
}

/** A slug such as `swift-prod` says its provider by its beginning, if at all. */
function providerOf(word: string, { words }: ReaderInput): string {
  const parts = word.toLowerCase().split(/[-_]/)
  const guesses = parts.map((_, at) => parts.slice(0, parts.length - at).join('-'))
  return guesses.find(guess => words.isProvider(guess)) ?? words.compatible
}

function requestOf(view: View): readonly Json[] {
  const dropped = view.child('drop_params').items()
  const plain = dropped.filter(one => /^[A-Za-z_][\w.]*$/.test(String(one.value)))
  for (const one of dropped) if (!plain.includes(one)) one.find('unsupported', 'a path into lists cannot be removed')
  const removed = plain.flatMap(one => one.text() ?? [])
  return [
    ...bodyVerb('default', view.child('default_params')),
    ...bodyVerb('set', view.child('override_params'), ['model']),
    ...(removed.length === 0 ? [] : [{ remove: removed }]),
  ]
}

/** Conditions on the model's name alone are models of their own; others are reported. */
function readConditions(conditions: readonly View[], input: ReaderInput): void {
  const named = new Map(
    input.root
      .child('targets')
      .items()
      .map(one => [one.child('name').text(), one]),
  )
  input.root.child('strategy', 'mode').text()
  const add = (name: string, then: string | undefined): void => {
    const view = named.get(then)
    for (const target of view === undefined ? [] : leafOf(view, input)) input.draft.addTarget(name, target)
  }
  for (const condition of conditions) {
    const rule = condition.child('query', 'params.model')
    const names = [rule.child('$eq').text() ?? [], ...rule.child('$in').texts()].flat()
    const then = condition.child('then').text()
    if (names.length === 0)
      condition.find('manual', 'write `when` at a target: it looks at headers and bodies, not at metadata')
    for (const name of names) add(name, then)
  }
  add(input.model, input.root.child('strategy', 'default').text())
}

function readRetry(root: View, { draft }: ReaderInput): void {
  const mode = root.child('strategy', 'mode').text()
  const attempts = root.child('retry', 'attempts')
  const count = attempts.number()
  const retry: Record<string, Json> = {}
  if (mode === 'loadbalance' && count === undefined) retry.attempts = 1
  if (count !== undefined) {
    retry.attempts = Math.min(20, Math.max(1, count + 1))
    attempts.find(
      'approximate',
      'attempts go through the targets first, and then back to those that may be asked again',
    )
  }
  const codes = [root.child('strategy', 'on_status_codes'), root.child('retry', 'on_status_codes')]
  const statuses = codes.flatMap(view => view.items()).flatMap(one => one.number() ?? [])
  const usable = [...new Set(statuses)].filter(status => status >= 400 && status <= 599)
  if (usable.length > 0) retry.on = ['connect', 'reset', ...usable]
  if (Object.keys(retry).length > 0) draft.top.retry = retry
}
