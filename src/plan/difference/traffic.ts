import type { AmountPaths } from '../../core/amounts.js'
import type { Scope } from '../../core/bounds.js'
import type { Caller } from '../../core/caller.js'
import { costOf, unitsOf } from '../../core/cost.js'
import { LruCache } from '../../core/lru.js'
import type { Exchange, Route, Usage } from '../../core/plan.js'
import { isFree } from '../../core/route-access.js'
import { asSound } from '../../core/sound-units.js'
import type { Side } from './change.js'
import { decide } from './decision.js'
import { lossesBetween, lossesTo, lostSince, NO_LOSS } from './field-losses.js'
import { isUnreachable } from './outcome.js'
import { EVERYBODY } from './terms.js'

/** A request that was served, as a log or receipt has it. */
export interface PastRequest {
  readonly route: string
  readonly key: string
  readonly model: string
  /** The upstream that was asked first. */
  readonly upstream: string
  /** The protocol that it was translated to; empty: it was passed on. Absent: no one knows. */
  readonly translated?: string
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
  /** Of the refused: those that nothing serves, and not because of the key's own terms. */
  readonly unreachable: number
  /** By the limit: requests that the next target or a queue would take. */
  readonly full: Readonly<Record<string, number>>
  /** By translation, `chat → messages`: requests to a target that cannot be given members which theirs before could; of drawn ones their share. */
  readonly lossy: Readonly<Record<string, number>>
  /** By translation: those members, which the request may have. */
  readonly drops: Readonly<Record<string, readonly string[]>>
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
  readonly isUnreachable: boolean
  /** Those that may be asked first, each with its share of 1. */
  readonly first: readonly { readonly exchange: Exchange; readonly share: number }[]
  readonly meets: Meets
  readonly amounts: AmountPaths | undefined
}

const NOTHING: Meets = { caller: [], targets: [], isFree: true }

/** Decides past requests again, one at a time, by one plan. Memory does not grow with their number. */
export class TrafficReplay {
  readonly #limits: PastLimits | undefined
  readonly #router: PastRouter
  /** By the plan before, which tells what translation lost then. */
  readonly #before: PastRouter | undefined
  readonly #moved = new Map<string, number>()
  readonly #refused = new Map<string, number>()
  readonly #lossy = new Map<string, number>()
  readonly #drops = new Map<string, Set<string>>()
  #requests = 0
  #unreachable = 0
  #same = 0
  #costBefore = 0
  #costAfter = 0
  #unpriced = 0

  constructor(side: Side, limits?: PastLimits, before?: Side) {
    this.#limits = limits
    this.#router = new PastRouter(side)
    this.#before = before && new PastRouter(before)
  }

  add(request: PastRequest): void {
    this.#requests += 1
    const routing = this.#router.of(request)
    const cost = costNow(request, routing)
    const refused = routing.refused ?? this.#shortOf(request, routing, cost ?? 0)
    if (refused !== undefined) {
      count(this.#refused, refused, 1)
      if (routing.isUnreachable) this.#unreachable += 1
      this.#costBefore += request.cost ?? 0
      return
    }
    for (const { exchange, share } of routing.first) {
      const to = exchange.upstream.name
      this.#note(request, exchange, share)
      if (to === request.upstream) this.#same += share
      else count(this.#moved, to, share)
    }
    if (request.cost === undefined) return
    if (cost === undefined) {
      this.#unpriced += 1
      return
    }
    this.#costBefore += request.cost
    this.#costAfter += cost
  }

  #shortOf(request: PastRequest, { meets }: Routing, cost: number): string | undefined {
    return request.began === undefined ? undefined : this.#limits?.take(request, meets, cost)
  }

  /** Counts what translation loses now and did not lose before. */
  #note(request: PastRequest, { translation }: Exchange, share: number): void {
    if (translation === undefined) return
    const { server, client } = translation
    const lost = lostSince(this.#lostBefore(request, server.protocol), lossesBetween(server, client))
    if (lost.length === 0) return
    const pair = `${server.protocol} → ${client.protocol}`
    count(this.#lossy, pair, share)
    const drops = this.#drops.get(pair) ?? new Set()
    if (this.#drops.size < MAX_NAMES) this.#drops.set(pair, drops)
    for (const member of lost) drops.add(member)
  }

  /** By the receipt, else by the plan before. A log alone does not say it. */
  #lostBefore(request: PastRequest, protocol: string): ReadonlySet<string> {
    if (request.translated !== undefined) return lossesTo(protocol, request.translated)
    const first = this.#before?.of(request).first.find(({ exchange }) => exchange.upstream.name === request.upstream)
    const translation = first?.exchange.translation
    return translation === undefined ? NO_LOSS : lossesBetween(translation.server, translation.client)
  }

  facts(): TrafficFacts {
    return {
      requests: this.#requests,
      same: Math.round(this.#same),
      moved: rounded(this.#moved),
      refused: rounded(this.#refused),
      full: rounded(this.#limits?.full ?? new Map()),
      unreachable: this.#unreachable,
      lossy: rounded(this.#lossy),
      drops: Object.fromEntries([...this.#drops].map(([pair, members]) => [pair, [...members]])),
      cost: { before: this.#costBefore, after: Math.round(this.#costAfter) },
      unpriced: this.#unpriced,
    }
  }
}

/** Where one plan sends past requests. */
class PastRouter {
  readonly #side: Side
  readonly #now = Date.now()
  readonly #routes: ReadonlyMap<string, Route>
  readonly #routings = new LruCache<Routing>(CACHED_DECISIONS)

  constructor(side: Side) {
    this.#side = side
    this.#routes = new Map(side.plan.routes.map(route => [route.id, route]))
  }

  of(request: PastRequest): Routing {
    const id = `${request.key}\0${request.model}\0${request.route}\0${request.stream === true}`
    const known = this.#routings.get(id)
    if (known !== undefined) return known
    const routing = this.#decide(request)
    this.#routings.set(id, routing)
    return routing
  }

  #decide({ route: id, model, key, stream }: PastRequest): Routing {
    const route = this.#routes.get(id)
    const caller = this.#callerOf(key)
    const decision = decide(this.#side, route, model, caller)
    const found = (stream === true ? decision.facts[1] : undefined) ?? decision.facts[0] ?? decision.refused
    const facts = typeof found === 'object' ? found : undefined
    const refused = facts === undefined ? String(found) : undefined
    const order = facts?.exchanges.filter(({ group }, _, all) => group === all[0]?.group) ?? []
    const exchanges = route?.resolve(model)?.groups.flatMap(group => group.exchanges) ?? []
    const first = order.flatMap(({ upstream, model: name, share = 100 / order.length }) => {
      const exchange = exchanges.find(one => one.upstream.name === upstream && one.model === name)
      return exchange === undefined ? [] : [{ exchange, share: share / 100 }]
    })
    const isAllowed = caller !== undefined && (model === '' || caller.may(model))
    const targets = first.map(({ exchange, share }) => ({ scopes: exchange.tariff?.scopes ?? [], share }))
    const meets = route && { caller: caller?.policy?.scopes ?? [], targets, isFree: isFree(route) }
    return {
      refused,
      isUnreachable: isUnreachable(refused) && isAllowed,
      first,
      meets: meets ?? NOTHING,
      amounts: route?.protocol?.amounts,
    }
  }

  /** Keys of the store, and callers with tokens, are not in the file: they are taken to be allowed. */
  #callerOf(key: string): Caller | undefined {
    const found = this.#side.plan.keys.named(key, this.#now)
    if (found === undefined) return EVERYBODY
    return 'refused' in found ? undefined : found
  }
}

/** What the same usage costs by the new prices, millionths of a USD. Undefined: a target has no price, or no usage is known. */
function costNow({ usage }: PastRequest, { first, amounts }: Routing): number | undefined {
  if (usage === undefined) return undefined
  let sum = 0
  for (const { exchange, share } of first) {
    const price = exchange.tariff?.price
    if (price === undefined) return undefined
    sum += share * costOf(asSound(unitsOf(usage, price), amounts, price), price)
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
