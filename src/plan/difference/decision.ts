import type { Caller } from '../../core/caller.js'
import type { Config } from '../../core/config.js'
import type { Route, Upstream } from '../../core/plan.js'
import type { ExchangeFacts } from '../explain/exchange-facts.js'
import { type ErrorFacts, type RequestFacts, requestFacts } from '../explain/request-facts.js'
import type { Side } from './change.js'
import { lossesBetween } from './field-losses.js'
import { fromFolder } from './words.js'

/** What becomes of one request on one side. */
export interface Decision {
  /** `404 model_not_found`; absent: it is served. */
  readonly refused: string | undefined
  /**
   * Of whole answers, then of streams where requests may ask for either: how they are refused, or facts that can be compared,
   * without names of keys, and without bounds, which are of the key.
   */
  readonly facts: readonly (Comparable | string)[]
  /** The upstreams in order. */
  readonly shown: string
  /** Members of the body that some target cannot be given. */
  readonly lost: ReadonlySet<string>
}

type Comparable = Omit<RequestFacts, 'key' | 'bounds' | 'error' | 'request' | 'route'>

const MISSING: Decision = { refused: '404 no such route', facts: [], shown: '404 no such route', lost: new Set() }

/** How requests of one route are written, so that `explain` can be asked about them. */
function pathOf({ id }: Pick<Route, 'id'>, model: string): string {
  const path = id.slice(id.indexOf(' ') + 1)
  return path.replaceAll(/\{(\w+)(\*?)\}/g, (_, name: string, star: string) => {
    if (name !== 'model') return PARAMETER
    return star === '' ? encodeURIComponent(model) : model.split('/').map(encodeURIComponent).join('/')
  })
}

/** Stands for a parameter of a path that is not the model. */
const PARAMETER = 'x'

/** Asks what `explain` tells, of whole answers and of streams where a request may ask for either. */
export function decide(side: Side, route: Route | undefined, model: string, caller: Caller | undefined): Decision {
  const { plan } = side
  if (route === undefined) return MISSING
  if (caller === undefined) return refusedAs('401 unauthenticated')
  const ask = { method: route.method, path: pathOf(route, model), model, key: caller.name, caller }
  const streams = typeof route.stream === 'object' ? [false, true] : [false]
  const perStream = streams.map(stream => requestFacts(plan, { ...ask, stream }))
  const refusals = perStream.map(({ error }) => error && refusalText(error))
  const [first = ''] = refusals
  if (!refusals.includes(undefined)) return refusedAs(first)
  const served = perStream.filter(({ error }) => error === undefined)
  const partly = refusals.map((refused, at) => (refused === undefined ? '' : `; ${ANSWERS[at]}: ${refused}`))
  return {
    refused: undefined,
    facts: perStream.map((facts, at) => refusals[at] ?? withoutFolder(comparable(facts), side)),
    shown: shownOrder(served[0]?.exchanges ?? []) + partly.join(''),
    lost: lossesOf(
      route,
      model,
      served.flatMap(({ exchanges }) => exchanges),
    ),
  }
}

/** What a budget says of a target without a price: that a key may not use it is not meant. */
export const UNPRICED = '403 no price'

function refusalText({ status, code, limit }: ErrorFacts): string {
  return code === 'forbidden' && limit === 'budget' ? UNPRICED : `${status} ${code}`
}

/** What {@link Decision.facts} are of. */
export const ANSWERS = ['whole answers', 'streams'] as const

/** The folder of recordings is a setting: of a git revision it is another one. */
function comparable({ key: _, bounds: _2, request: _3, route: _4, recorded, ...facts }: RequestFacts): Comparable {
  return recorded === undefined ? facts : { ...facts, recorded: 'yes' }
}

/** Headers may show the path of a file; most configurations have none. */
const SHOWS_PATHS = new WeakMap<Config, boolean>()

function withoutFolder(facts: Comparable, { plan, config, folder }: Side): Comparable {
  const shows = SHOWS_PATHS.get(config) ?? [...plan.upstreams.values()].some(showsPath)
  SHOWS_PATHS.set(config, shows)
  return shows ? JSON.parse(fromFolder(JSON.stringify(facts), folder)) : facts
}

function showsPath({ source }: Upstream): boolean {
  return source?.of.type === 'gcp' && source.of.file !== undefined
}

function refusedAs(refused: string): Decision {
  return { refused, facts: [], shown: refused, lost: new Set() }
}

/** `north, then south`; of groups `north 70 % or south 30 %, then east`. */
function shownOrder(exchanges: readonly ExchangeFacts[]): string {
  const groups = new Map<number, string[]>()
  for (const { group, upstream, share, model, translation } of exchanges) {
    const part = share === undefined ? '' : ` ${share} %`
    const how = translation === undefined ? '' : ` (translated to ${translation.to})`
    const name = model === '' ? '' : ` as ${model}`
    groups.set(group, [...(groups.get(group) ?? []), `${upstream}${name}${part}${how}`])
  }
  return [...groups.values()].map(names => names.join(' or ')).join(', then ')
}

/** By what codecs declare, for any body. */
function lossesOf(route: Route, model: string, asked: readonly ExchangeFacts[]): ReadonlySet<string> {
  const exchanges = route.resolve(model)?.groups.flatMap(group => group.exchanges) ?? []
  const pairs = exchanges.flatMap(({ translation, upstream, model: name }) => {
    const isAsked = asked.some(one => one.upstream === upstream.name && one.model === name)
    return translation === undefined || !isAsked ? [] : [translation]
  })
  return new Set(pairs.flatMap(({ server, client }) => [...lossesBetween(server, client)]))
}
