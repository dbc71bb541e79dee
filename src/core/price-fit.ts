import type { AmountsConfig } from './amounts.js'
import type { Price, PriceUnit } from './bounds.js'
import { taskFamily } from './task.js'

/** What protocols declare that matters here. */
type Declared = Readonly<Record<string, { readonly amounts?: AmountsConfig; readonly task?: unknown }>>

/** Where requests of a protocol say how much they ask for. Protocols of one family of tasks make the same things, unless they say otherwise. */
export function amountsOf(protocols: Declared, name: string): AmountsConfig | undefined {
  const own = Object.hasOwn(protocols, name) ? protocols[name]?.amounts : undefined
  if (own !== undefined) return own
  const family = taskFamily(name)
  const found = Object.hasOwn(protocols, family) ? protocols[family] : undefined
  return found?.task === undefined ? undefined : found.amounts
}

/** The units in which requests of a protocol may be charged. A price that has none of them says nothing of what they cost. */
export function unitsBilled(amounts: AmountsConfig | undefined): ReadonlySet<PriceUnit> {
  const units = new Set<PriceUnit>(['request'])
  if (amounts?.batch === true) return units
  const add = (...more: readonly PriceUnit[]): void => {
    for (const unit of more) units.add(unit)
  }
  if (amounts === undefined) add('input', 'output', 'input_audio', 'output_audio', 'audio_second')
  else if (amounts.output !== undefined) add('input', 'output')
  if (amounts?.images !== undefined) add('image', 'input', 'output')
  if (amounts?.characters !== undefined) add('character', 'input', 'output', 'output_audio')
  if (amounts?.audio === true) add('audio_second', 'input', 'input_audio', 'output')
  if (amounts?.seconds !== undefined) add('video_second')
  else if (amounts?.items !== undefined && amounts.output === undefined) add('search', 'input')
  else if (units.size === 1) add('input')
  return units
}

/** The units that a price or one of its steps names; none where it is free. */
export function unitsOfPrice({ above = [], ...rates }: Price): ReadonlySet<PriceUnit> {
  return new Set([rates, ...above.map(step => step.rates)].flatMap(one => Object.keys(one) as PriceUnit[]))
}

/** Whether a price says what something costs that is charged in these units. */
export function fits(price: Price, units: ReadonlySet<PriceUnit>): boolean {
  const priced = unitsOfPrice(price)
  return priced.size === 0 || [...priced].some(unit => units.has(unit))
}
