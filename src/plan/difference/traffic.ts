import type { Scope } from '../../core/bounds.js'
import type { Caller } from '../../core/caller.js'
import { costOf, unitsOf } from '../../core/cost.js'
import { LruCache } from '../../core/lru.js'
import type { Exchange, Route, Usage } from '../../core/plan.js'
import { isFree } from '../../core/route-access.js'
import type { Side } from './change.js'
import { decide } from './decision.js'
import { EVERYBODY } from './terms.js'

/** A request that was served, as a log or receipt has it. */
export interface PastRequest {
  readonly route: string
  readonly key: string
  readonly model: string
  /** The upstream that was asked first. */
  readonly upstream: string
  readonly usage?: Usage
  /** Millionths of a USD. */
  readonly cost?: number
  readonly stream?: boolean
  /** Milliseconds since the epoch. Absent: limits are not decided. */
  readonly began?: number
  readonly ended?: number
}

/** Holders of limits that a request meets. */
export interface Meets {
  readonly caller: readonly Scope[]
  /** Of those that may be asked first, each with its share of 1. */
  readonly targets: readonly { readonly scopes: readonly Scope[]; readonly share: number }[]
  /** It costs nothing, and counts no tokens. */
  readonly isFree: boolean
}

/** Decides whether past requests would have met a limit. They come in the order in which they began. */
export interface PastLimits {
  /** Takes what a request uses, `cost` in millionths of a USD. A text: it is refused by that limit of its caller. */
  take(request: PastRequest, meets: Meets, cost: number): string | undefined
  /** How many found no room in a limit of their model or upstream. */
  readonly full: ReadonlyMap<string, number>
}

/** What would become of past requests. Counts of requests, costs in millionths of a USD. */
export interface TrafficFacts {
  readonly requests: number
  readonly same: number
  /** By the upstream that would be asked first, for requests that another one was asked; of drawn targets their share. */
  readonly moved: Readonly<Record<string, number>>
  /** By status and code, or by the limit. */
  readonly refused: Readonly<Record<string, number>>
  /** By the limit: requests that the next target or a queue would take. */
  readonly full: Readonly<Record<string, number>>
  /** By what is lost: requests that go to another upstream, which cannot be given some members of the protocol. */
  readonly lossy: Readonly<Record<string, number>>
  readonly cost: { readonly before: number; readonly after: number }
  /** Requests with a cost, for which the new plan knows no price. */
  readonly unpriced: number
}

/** Decisions that are kept in each half of the cache. */
const CACHED_DECISIONS = 25_000
/** Keys of the reports' maps; what is beyond is counted as `other`. */
const MAX_NAMES = 1000

interface Routing {
  readonly refused: string | undefined
  /** Those that may be asked first, each with its share of 1. */
  readonly first: readonly { readonly exchange: Exchange; readonly share: number }[]
  readonly lost: string | undefined
  readonly meets: Meets
}

const NOTHING: Meets = { caller: [], targets: [], isFree: true }

/** Decides past requests again, one at a time, by one plan. Memory does not grow with their number. */
export class TrafficReplay {
  readonly #side: Side
  readonly #limits: PastLimits | undefined
  readonly #now: number
  readonly #routes: ReadonlyMap<string, Route>
  readonly #routings = new LruCache<Routing>(CACHED_DECISIONS)
  readonly #moved = new Map<string, number>()
  readonly #refused = new Map<string, number>()
  readonly #lossy = new Map<string, number>()
  #requests = 0
  #same = 0
  #before = 0
  #after = 0
  #unpriced = 0

  constructor(side: Side, limits?: PastLimits) {
    this.#side = side
    this.#limits = limits
    this.#now = Date.now()
    this.#routes = new Map(side.plan.routes.map(route => [route.id, route]))
  }

  add(request: PastRequest): void {
    this.#requests += 1
    const routing = this.#routingOf(request)
    const cost = costNow(request, routing)
    const refused = routing.refused ?? this.#shortOf(request, routing, cost ?? 0)
    if (refused !== undefined) {
      count(this.#refused, refused, 1)
      this.#before += request.cost ?? 0
      return
    }
    const stays = routing.first.some(({ exchange }) => exchange.upstream.name === request.upstream)
    if (!stays && routing.lost !== undefined) count(this.#lossy, routing.lost, 1)
    for (const { exchange, share } of routing.first) {
      const to = exchange.upstream.name
      if (to === request.upstream) this.#same += share
      else count(this.#moved, to, share)
    }
    if (request.cost === undefined) return
    if (cost === undefined) {
      this.#unpriced += 1
      return
    }
    this.#before += request.cost
    this.#after += cost
  }

  #shortOf(request: PastRequest, { meets }: Routing, cost: number): string | undefined {
    return request.began === undefined ? undefined : this.#limits?.take(request, meets, cost)
  }

  #routingOf(request: PastRequest): Routing {
    const id = `${request.key}\0${request.model}\0${request.route}`
    const known = this.#routings.get(id)
    if (known !== undefined) return known
    const routing = this.#decide(request)
    this.#routings.set(id, routing)
    return routing
  }

  #decide({ route: id, model, key }: PastRequest): Routing {
    const route = this.#routes.get(id)
    const caller = this.#callerOf(key)
    const decision = decide(this.#side, route, model, caller)
    const order = decision.facts[0]?.exchanges.filter(({ group }, _, all) => group === all[0]?.group) ?? []
    const exchanges = route?.resolve(model)?.groups.flatMap(group => group.exchanges) ?? []
    const first = order.flatMap(({ upstream, model: name, share = 100 / order.length }) => {
      const exchange = exchanges.find(one => one.upstream.name === upstream && one.model === name)
      return exchange === undefined ? [] : [{ exchange, share: share / 100 }]
    })
    const translated = first.find(({ exchange }) => exchange.translation !== undefined)?.exchange.translation
    const lost = decision.lost.size === 0 || translated === undefined ? undefined : translated
    const pair = lost && `${lost.server.protocol} → ${lost.client.protocol}`
    const targets = first.map(({ exchange, share }) => ({ scopes: exchange.tariff?.scopes ?? [], share }))
    const meets = route && { caller: caller?.policy?.scopes ?? [], targets, isFree: isFree(route) }
    return { refused: decision.refused, first, lost: pair, meets: meets ?? NOTHING }
  }

  /** Keys of the store, and callers with tokens, are not in the file: they are taken to be allowed. */
  #callerOf(key: string): Caller | undefined {
    const found = this.#side.plan.keys.named(key, this.#now)
    if (found === undefined) return EVERYBODY
    return 'refused' in found ? undefined : found
  }

  facts(): TrafficFacts {
    return {
      requests: this.#requests,
      same: Math.round(this.#same),
      moved: rounded(this.#moved),
      refused: rounded(this.#refused),
      full: rounded(this.#limits?.full ?? new Map()),
      lossy: rounded(this.#lossy),
      cost: { before: this.#before, after: Math.round(this.#after) },
      unpriced: this.#unpriced,
    }
  }
}

/** What the same usage costs by the new prices, millionths of a USD. Undefined: a target has no price, or no usage is known. */
function costNow({ usage }: PastRequest, { first }: Routing): number | undefined {
  if (usage === undefined) return undefined
  let sum = 0
  for (const { exchange, share } of first) {
    const price = exchange.tariff?.price
    if (price === undefined) return undefined
    sum += share * costOf(unitsOf(usage, price), price)
  }
  return sum
}

function count(map: Map<string, number>, name: string, by: number): void {
  const counted = map.has(name) || map.size < MAX_NAMES ? name : 'other'
  map.set(counted, (map.get(counted) ?? 0) + by)
}

function rounded(map: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...map].toSorted(([, one], [, other]) => other - one).map(([name, n]) => [name, Math.round(n)]),
  )
}
