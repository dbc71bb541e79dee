import type { Json } from '../../core/json.js'
import type { Draft, Model, Target } from './draft.js'
import type { View } from './view.js'

const MILLION = 1_000_000
/** Most that a rate of this language may be. */
const MAX_RATE = 999_999_999

/** Prices of one token, with what a million of them is called here. */
const PRICES: Readonly<Record<string, string>> = {
  input_cost_per_token: 'input',
  output_cost_per_token: 'output',
  cache_read_input_token_cost: 'cached',
  cache_creation_input_token_cost: 'cache_write',
}

/** The prices of a deployment, which it has beside its other settings or among what is said of its model. */
export function readPrices(item: View, name: string, draft: Draft): void {
  const price: Record<string, number> = {}
  const places = [item.child('model_info'), item.child('litellm_params')]
  const found = places.flatMap(place => Object.keys(PRICES).map(word => place.child(word)))
  for (const view of found) {
    const usd = view.number()
    const word = PRICES[String(view.path.at(-1))]
    if (usd !== undefined && usd >= 0 && word !== undefined) price[word] = perMillion(usd)
    else if (view.exists) view.find('manual', 'write it under prices, per million tokens')
  }
  if (Object.keys(price).length > 0) draft.price(name, price, item)
}

/** Without what binary fractions add. */
export function perMillion(usd: number): number {
  return Number((usd * MILLION).toFixed(6))
}

/** The limit of requests that have none, where the upstream's protocol wants one: a default of the file goes before the model's own. */
export function outputTraits(most: View, given: Pick<Target, 'traits'>): Pick<Target, 'traits'> {
  const limit = most.number()
  if (given.traits !== undefined || limit === undefined || !Number.isInteger(limit) || limit < 1) return given
  return { traits: { max_output: limit } }
}

interface Shares {
  readonly params: View
  /** What says the share of a target among others. */
  readonly share: View | undefined
  readonly isUsed: boolean
  /** Whether the model has no other target. */
  readonly isLone: boolean
}

/** Requests and tokens a minute: shares among several targets, bounds of one that is alone. */
export function noteShares({ params, share, isUsed, isLone }: Shares, { settings }: Model): void {
  if (isLone) readBounds(params, settings)
  else if (share !== undefined && share.path.at(-1) !== 'weight') {
    const message = isUsed
      ? 'it is the share of this target; to bound it, write limits of the upstream'
      : 'nothing bounds this target; write limits of the upstream, such as { requests: 60/min }'
    share.find(isUsed ? 'approximate' : 'unsupported', message)
  }
}

function readBounds(params: View, settings: Record<string, Json>): void {
  const limits: Record<string, Json> = {}
  for (const [word, name] of [
    ['rpm', 'requests'],
    ['tpm', 'tokens'],
  ] as const) {
    const view = params.child(word)
    const rate = view.number()
    if (rate === undefined || !Number.isInteger(rate) || rate < 1 || rate > MAX_RATE) continue
    limits[name] = `${rate}/min`
    view.find('approximate', `it bounds the model here, by limits { ${name} }: more requests are refused`)
  }
  if (Object.keys(limits).length > 0) settings.limits = limits
}
