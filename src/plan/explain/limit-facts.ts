import type { CallerRules, GroupConfig } from '../../core/accounting-config.js'
import type { Demand, VerbAmounts } from '../../core/amounts.js'
import { boundText, priceText, usdText } from '../../core/bound-text.js'
import type { CallerPolicy, Price, Scope, ScopeLimits } from '../../core/bounds.js'
import type { Caller } from '../../core/caller.js'
import type { GatewayError } from '../../core/errors.js'
import { outputTooLarge, priceRefusal, refused } from '../../core/limit-refusals.js'
import { numbered } from '../../core/numbered.js'
import type { Exchange, Route } from '../../core/plan.js'
import type { Priority } from '../../core/priority.js'
import { isFree } from '../../core/route-access.js'
import { type Worst, worstOf } from '../../core/worst.js'
import { asBuffer } from '../../wire/bytes.js'
import { demandAsSent, demandOfBytes, SESSION } from '../../wire/demand.js'
import { valuesOfBytes } from '../../wire/demand-values.js'
import { apply } from '../../wire/json-edit.js'
import { limitingOutput, memberWith } from '../../wire/output-limit.js'
import { duration } from './format.js'

/** What a target charges, and what an attempt reserves there before it is sent. */
export interface ChargeFacts {
  /** `input 2.00, output 8.00`, or what is done without one. */
  readonly price: string
  /** `1234 tokens, at most 0.02 USD`: of the body that was given. */
  readonly reserved?: string
}

/** What a key or a group may, beside its models. */
export interface RuleFacts {
  readonly group?: string
  readonly bounds?: readonly string[]
  readonly routes?: readonly string[]
  readonly networks?: readonly string[]
  readonly priority?: Priority
  readonly regions?: readonly string[]
}

export function ruleFacts({ group, limits, routes, networks, priority, regions }: CallerRules): RuleFacts {
  return {
    ...(group === undefined ? {} : { group }),
    ...limitFacts(limits),
    ...(routes === undefined ? {} : { routes }),
    ...(networks === undefined ? {} : { networks }),
    ...(priority === undefined ? {} : { priority }),
    ...(regions === undefined ? {} : { regions }),
  }
}

export interface GroupFacts extends RuleFacts {
  readonly name: string
  /** Absent: every model. */
  readonly models?: readonly string[]
}

export function groupFacts(name: string, { models, ...rules }: GroupConfig): GroupFacts {
  return { name, ...ruleFacts(rules), ...(models === undefined ? {} : { models }) }
}

/** What keys, groups, models and upstreams say of their bounds. */
export function limitFacts(limits: ScopeLimits | undefined): Pick<RuleFacts, 'bounds'> {
  return limits === undefined ? {} : { bounds: boundsOf(limits) }
}

/** Rows of a table with two columns before these. */
export function ruleRows({
  group,
  bounds,
  routes,
  networks,
  priority,
  regions,
}: RuleFacts): readonly (readonly string[])[] {
  return [
    ...(group === undefined ? [] : [['', '', `group ${group}`]]),
    ...(bounds === undefined ? [] : [['', '', `bounds: ${bounds.join(', ')}`]]),
    ...(routes === undefined ? [] : [['', '', `only on ${routes.join(', ')}`]]),
    ...(networks === undefined ? [] : [['', '', `only from ${networks.join(', ')}`]]),
    ...(priority === undefined ? [] : [['', '', `${priority} priority`]]),
    ...(regions === undefined ? [] : [['', '', `only in the regions ${regions.join(', ')}`]]),
  ]
}

/** The bounds that a request meets: `key alice: requests 10/s, in flight 8`. */
export function boundFacts(scopes: readonly Scope[]): readonly string[] {
  return scopes.map(({ type, name, limits }) => `${type} ${name}: ${boundsOf(limits).join(', ') || 'none'}`)
}

function boundsOf(limits: ScopeLimits): readonly string[] {
  const { bounds, in_flight, streams, max_output, body, queue, unpriced, when_store_fails } = limits
  return [
    ...bounds.map(bound => `${bound.unit} ${boundText(bound)}`),
    ...(in_flight === undefined ? [] : [`${numbered(in_flight, 'request')} at once`]),
    ...(streams === undefined ? [] : [`${numbered(streams, 'stream')} at once`]),
    ...(max_output === undefined ? [] : [`${numbered(max_output, 'token')} of output`]),
    ...(body === undefined ? [] : [`bodies of ${numbered(body, 'byte')}`]),
    ...(queue === undefined ? [] : [`queue ${duration(queue)}`]),
    ...(unpriced === undefined ? [] : [`unpriced ${unpriced}`]),
    ...(when_store_fails === undefined ? [] : [`${when_store_fails} if the store fails`]),
  ]
}

/** The networks that a key may come from. */
export function networkFacts({ networks = [] }: Pick<CallerPolicy, 'networks'>): readonly string[] {
  return networks.map(list => `only from ${list.join(', ')}`)
}

/** A request for one exchange. `body` is the client's, `sent` what the upstream gets. */
interface Charged {
  readonly exchange: Exchange
  readonly route: Route
  /** As the request names it. */
  readonly model: string
  readonly caller: Pick<Caller, 'policy'>
  readonly body: Uint8Array | undefined
  readonly sent: string | undefined
}

export function chargeFacts(charged: Charged): ChargeFacts | undefined {
  const { tariff } = charged.exchange
  if (tariff === undefined) return undefined
  const { price, unpriced } = tariff
  if (isFree(charged.route)) return { price: 'nothing is charged' }
  const missing = `none: ${unpriced === 'free' ? 'free' : 'refused'} where a budget holds that does not say otherwise`
  const worst = worstFor(charged)
  return {
    price: price === undefined ? missing : priceText(price),
    ...(worst === undefined ? {} : { reserved: reservedText(worst, price) }),
  }
}

function reservedText({ tokens, cost }: Worst, price: Price | undefined): string {
  return `${tokens} tokens${price === undefined ? '' : `, ${usdText(cost)} at most`}`
}

function worstFor({ exchange, route, caller, body, sent }: Charged): Worst | undefined {
  const demand = demandSent(demandOf(route, body), exchange.adds, sent)
  return demand && worstOf(demand, route.protocol?.amounts, exchange.tariff, mostOutput(caller))
}

/** How limits refuse the request, however little of them is used. `others`: another target may be asked. */
export interface LimitRefusal {
  readonly error: GatewayError
  readonly others: boolean
}

export function limitRefusal(charged: Charged): LimitRefusal | undefined {
  const { exchange, route, model, caller, body, sent } = charged
  const { tariff } = exchange
  if (tariff === undefined || isFree(route)) return undefined
  const most = mostOutput(caller)
  const { output = 0 } = demandSent(demandOf(route, body), exchange.adds, sent) ?? {}
  if (most !== undefined && output > most && route.tunnel === undefined) {
    const param = body && memberWith(output, asBuffer(body), route.protocol?.amounts)
    return { error: outputTooLarge(output, most, param), others: false }
  }
  const scopes = [...(caller.policy?.scopes ?? []), ...tariff.scopes]
  // Only the gateway knows how many lines the file of a batch has: it read the upload.
  const lines = route.protocol?.amounts?.batch === true ? 1 : undefined
  const unpriced = priceRefusal(tariff, [scopes], model, lines)
  if (unpriced !== undefined) return { error: unpriced, others: true }
  const worst = worstFor(charged)
  if (worst === undefined) return undefined
  const reserved = { requests: 1, tokens: worst.tokens, budget: worst.cost }
  const cause = `it reserves ${reservedText(worst, tariff.price)}`
  for (const scope of scopes) {
    const bound = scope.limits.bounds.find(({ unit, amount }) => reserved[unit] > amount)
    if (bound === undefined) continue
    const error = refused({ scope, unit: bound.unit, bound, retryAfterMs: undefined, cause }, route.errors)
    return { error, others: tariff.scopes.includes(scope) }
  }
  return undefined
}

/** The body with the limit of output that is sent where the client names none. */
export function withOutputLimit(
  body: Uint8Array,
  exchange: Exchange,
  { protocol }: Route,
  caller: Pick<Caller, 'policy'>,
): Uint8Array {
  const most = mostOutput(caller)
  const paths = protocol?.amounts
  if (most === undefined || paths === undefined || demandOfBytes(asBuffer(body), paths).output !== undefined)
    return body
  const edits = limitingOutput(body, paths.output, most, exchange)
  return edits.length === 0 ? body : apply(asBuffer(body), edits)
}

function mostOutput({ policy }: Pick<Caller, 'policy'>): number | undefined {
  const limits = (policy?.scopes ?? []).flatMap(scope => scope.limits.max_output ?? [])
  return limits.length === 0 ? undefined : Math.min(...limits)
}

function demandSent(
  demand: Demand | undefined,
  adds: VerbAmounts | undefined,
  sent: string | undefined,
): Demand | undefined {
  if (demand === undefined || adds === undefined) return demand
  const input = demand.input + adds.text
  if (sent === undefined || adds.paths === undefined) return { ...demand, input }
  return { ...demandAsSent(demand, valuesOfBytes(Buffer.from(sent), adds.paths), adds.paths), input }
}

function demandOf(route: Route, body: Uint8Array | undefined): Demand | undefined {
  if (route.tunnel !== undefined) return SESSION
  return body === undefined ? undefined : demandOfBytes(asBuffer(body), route.protocol?.amounts)
}
