import type { CallerRules, GroupConfig } from '../../core/accounting-config.js'
import type { Demand, VerbAmounts } from '../../core/amounts.js'
import { boundText, priceText, usdText } from '../../core/bound-text.js'
import type { Scope, ScopeLimits } from '../../core/bounds.js'
import type { Caller } from '../../core/caller.js'
import { numbered } from '../../core/numbered.js'
import type { Exchange, Route } from '../../core/plan.js'
import type { Priority } from '../../core/priority.js'
import { worstOf } from '../../core/worst.js'
import { asBuffer } from '../../wire/bytes.js'
import { demandAsSent, demandOfBytes, SESSION } from '../../wire/demand.js'
import { valuesOfBytes } from '../../wire/demand-values.js'
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

/** `body` is the client's, `sent` what the upstream gets. */
export function chargeFacts(
  { tariff, adds }: Exchange,
  route: Route,
  { policy }: Pick<Caller, 'policy'>,
  { body, sent }: { readonly body: Uint8Array | undefined; readonly sent: string | undefined },
): ChargeFacts | undefined {
  if (tariff === undefined) return undefined
  const { price, unpriced } = tariff
  const paths = route.protocol?.amounts
  const isFree =
    paths?.batch !== true && (paths?.free === true || (route.model === undefined && route.task === undefined))
  if (isFree) return { price: 'nothing is charged' }
  const missing = `none: ${unpriced === 'free' ? 'free' : 'refused'} where a budget holds that does not say otherwise`
  const demand = demandSent(demandOf(route, body), adds, sent)
  const scopes = [...(policy?.scopes ?? []), ...tariff.scopes]
  const limits = scopes.map(scope => scope.limits.max_output).filter(limit => limit !== undefined)
  const most = limits.length === 0 ? undefined : Math.min(...limits)
  if (most !== undefined && demand?.output !== undefined && demand.output > most) {
    return {
      price: price === undefined ? missing : priceText(price),
      reserved: `refused: the limit of output is ${most} tokens`,
    }
  }
  const worst = demand && worstOf(demand, paths, tariff, most)
  return {
    price: price === undefined ? missing : priceText(price),
    ...(worst === undefined
      ? {}
      : { reserved: `${worst.tokens} tokens${price === undefined ? '' : `, ${usdText(worst.cost)} at most`}` }),
  }
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
