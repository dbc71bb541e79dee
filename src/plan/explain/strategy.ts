import type { Caller } from '../../core/caller.js'
import { FAILURE_CAUSES, OF_REQUEST } from '../../core/failure-cause.js'
import { likelyCost } from '../../core/likely-cost.js'
import type { Choice, Exchange, Route } from '../../core/plan.js'
import { unmeant } from '../../core/refusals.js'
import { mayReach } from '../../core/region.js'
import { nameOf, rendezvous } from '../../core/rendezvous.js'
import { mayCopy } from '../../core/retry.js'
import type { Canary, Fallbacks, Mirror, Sticky, Strategy } from '../../core/strategy.js'
import { failing, type When, whenText } from '../../core/when.js'
import { byLosses, lossesOf } from '../../translate/loss-order.js'
import { asBuffer } from '../../wire/bytes.js'
import { isInShare } from '../../wire/canary-share.js'
import { RequestView } from '../../wire/request-view.js'
import { partOf } from '../regions.js'
import { duration } from './format.js'
import type { Asker } from './members.js'
import type { ReadRequest } from './read-request.js'

/** What decides which target is asked first, for people to read. */
export function strategyText(strategy: Strategy): string {
  return strategy.by === 'sticky' ? `sticky: ${stickyText(strategy)}` : `${strategy.by}: ${WHAT[strategy.by]}`
}

const WHAT: Readonly<Record<Exclude<Strategy['by'], 'sticky'>, string>> = {
  order: 'the targets as they are written',
  weighted: 'one target drawn by weight, then the others',
  least_in_flight: 'the target with the fewest attempts under way for its weight, equal ones by chance',
  fastest: 'of two random targets the one with less time to the first byte and fewer attempts under way',
  cheapest: 'the target that is likely to charge least for the request',
  lossless: 'the target that drops least of the request in translation',
}

function stickyText({ to, header, prefix }: Sticky): string {
  const what = {
    key: 'requests of one key',
    conversation: `requests of one conversation${header === undefined ? '' : ` (header ${header})`}`,
    prefix: `requests whose prompts begin with the same ${prefix} bytes`,
  }
  return `${what[to]} go to one target while it has room`
}

/** `overloaded: other, another (not for this key)`. */
export function fallbackLines(fallbacks: Fallbacks, may: (model: string) => boolean): readonly string[] {
  return FAILURE_CAUSES.flatMap(cause => {
    const models = fallbacks[cause]?.map(name => (may(name) ? name : `${name} (not for this key)`))
    if (models === undefined) return []
    return [`${cause}: ${models.join(', ')}${OF_REQUEST.has(cause) ? ', at once' : ', after the other targets'}`]
  })
}

/** `5 % of requests to next, at most 20 under way`. */
export function mirrorText({ to, share, inFlight }: Mirror): string {
  const part = share === 1 ? 'each request' : `${Math.round(share * 10_000) / 100} % of requests`
  return `${part} to ${to}, at most ${inFlight} under way`
}

/** `10 % of conversations try next first (this one, too); none for 1h if it fails more often than the others`. */
export function canaryText({ to, share, by, rest }: Canary, thisOne = ''): string {
  const what = { conversation: 'conversations', key: 'keys', request: 'requests' }[by]
  const part = `${Math.round(share * 10_000) / 100} % of ${what} try ${to} first${thisOne}`
  return `${part}; none for ${duration(rest)} if it fails more often than the others`
}

/** Whether this request is one of those, where the request alone decides. */
function isTried(canary: Canary, explained: Explained): string {
  const { caller } = explained.asker
  if (!canary.isTarget && !caller.may(canary.to)) return ' (not this key, which may not use it)'
  if (!canary.isTarget && !isReached(canary.to, caller, explained.route)) return ' (not this key or route)'
  if (canary.by === 'key' && caller.name === '') return ''
  if (canary.by === 'request' || (canary.by === 'conversation' && explained.read.body === undefined)) return ''
  return isInShare(canary, viewOf(explained), Math.random) ? ' (this one, too)' : ' (not this one)'
}

/** What a model says of its routing, where its targets' order does not say it. */
export function routingFacts(
  { routing }: Choice,
  explained: Explained,
): {
  readonly strategy?: string
  readonly canary?: string
  readonly fallbacks?: readonly string[]
  readonly mirror?: string
} {
  if (routing === undefined) return {}
  const { strategy, canary, fallbacks, mirror } = routing
  const { route, asker } = explained
  const { caller } = asker
  return {
    ...(strategy.by === 'order' ? {} : { strategy: strategyText(strategy) }),
    ...(canary === undefined ? {} : { canary: canaryText(canary, isTried(canary, explained)) }),
    ...(fallbacks === undefined ? {} : { fallbacks: fallbackLines(fallbacks, name => caller.may(name)) }),
    ...(mirror === undefined ? {} : { mirror: `${mirrorText(mirror)}${whyNotCopied(mirror, caller, route)}` }),
  }
}

function whyNotCopied({ to }: Mirror, caller: Caller, route: Route): string {
  if (!mayCopy(route)) return '; not of this route'
  if (route.resolve(to) === undefined) return '; not of this route, which nothing serves for that model'
  return isReached(to, caller, route) ? '' : '; not for this key: regions'
}

/** Whether a route serves the model where the caller's requests may go. */
function isReached(model: string, { regions }: Caller, route: Route): boolean {
  const groups = route.resolve(model)?.groups ?? []
  return groups.some(({ exchanges }) => exchanges.some(({ upstream }) => mayReach(regions, upstream.region)))
}

/** Whether the first one is drawn, so that each has a known share. */
export function isDrawn(strategy: Strategy | undefined): boolean {
  return strategy === undefined || strategy.by === 'order' || strategy.by === 'weighted'
}

/** What the file and the request say; what is under way, and how fast targets are, only the process knows. */
interface Explained {
  readonly route: Route
  readonly read: ReadRequest
  readonly asker: Asker
}

const NO_BYTES = Buffer.alloc(0)

/** The choice in the order that the strategy gives this request, where that depends on the request alone. */
export function arranged(choice: Choice, explained: Explained): Choice {
  const strategy = choice.routing?.strategy
  if (strategy === undefined || !isKnown(strategy, explained)) return choice
  const view = viewOf(explained)
  const { body = NO_BYTES } = explained.read
  const exchanges = choice.groups.flatMap(group => group.exchanges)
  const weights = choice.groups.flatMap(group => group.weights)
  const cost = ({ tariff }: Exchange): number => likelyCost(view.demand, view.paths, tariff) ?? Number.POSITIVE_INFINITY
  const sorted =
    strategy.by === 'sticky'
      ? rendezvous(
          view.digest(strategy),
          exchanges.map((exchange, index) => ({
            ...{ exchange, name: nameOf(exchange) },
            ...{ weight: weights[index] ?? 1, inFlight: 0 },
          })),
        ).map(({ exchange }) => exchange)
      : strategy.by === 'lossless'
        ? byLosses(exchanges, lossesOf(exchanges, asBuffer(body), explained.read, explained.asker.caller.strict))
        : exchanges.toSorted((one, other) => cost(one) - cost(other))
  return { ...choice, groups: sorted.map(exchange => ({ exchanges: [exchange], weights: [1] })) }
}

/** A conversation may be named by a header, which is not known here: the body alone is taken. */
function isKnown(strategy: Strategy, { read }: Explained): boolean {
  if (strategy.by === 'sticky') return strategy.to === 'key' || read.body !== undefined
  return (strategy.by === 'cheapest' || strategy.by === 'lossless') && read.body !== undefined
}

/**
 * The targets that are for such a request, by all that is known of it. Throws as serving does where none is. `facts` gets a line
 * for each other one.
 */
export function meantFor(choice: Choice, explained: Explained, facts: { left_out?: readonly string[] }): Choice {
  if (choice.routing?.hasConditions !== true) return choice
  const failed = new Map<Exchange, string>()
  for (const exchange of choice.groups.flatMap(({ exchanges }) => exchanges)) {
    const why = exchange.when && standing(exchange.when, explained).failed
    if (why !== undefined) failed.set(exchange, why)
  }
  if (failed.size === 0) return choice
  facts.left_out = [...failed.keys()].map(
    ({ upstream, when = {} }) => `${upstream.name}: ${conditionText(when, explained)}`,
  )
  const left = partOf(choice, exchange => !failed.has(exchange))
  if (left === undefined) throw unmeant([...failed].map(([{ upstream }, why]) => `${upstream.name}: ${why}`).join(', '))
  return left
}

/** What a condition has to know, if more than the path says. */
const NEEDS: Readonly<Record<string, 'key' | 'headers' | 'body'>> = {
  ...{ key: 'key', group: 'key', header: 'headers', body: 'body', tokens: 'body', tools: 'body', images: 'body' },
}
/** Names of callers that could be any one. */
const ANY_CALLERS: ReadonlySet<string> = new Set(['', '*'])

/** The condition that does not hold, and what the others need that is not known. */
function standing(
  when: When,
  explained: Explained,
): { readonly failed?: string | undefined; readonly open: readonly string[] } {
  const { read, asker } = explained
  const unknown = new Set(['headers'])
  if (read.body === undefined) unknown.add('body')
  if (ANY_CALLERS.has(asker.caller.name)) unknown.add('key')
  const needs = Object.keys(when).flatMap(name => NEEDS[name] ?? [])
  const known = Object.entries(when).filter(([name]) => !unknown.has(NEEDS[name] ?? ''))
  const open = [...unknown].filter(what => needs.some(one => one === what))
  return { failed: failing(Object.fromEntries(known), viewOf(explained)), open }
}

/** A target's conditions, and whether they hold: `stream, tokens > 8000: not for this request (tokens)`. */
export function conditionText(when: When, explained: Explained): string {
  const { failed, open } = standing(when, explained)
  const result =
    failed !== undefined
      ? `not for this request (${failed})`
      : open.length === 0
        ? 'for this request'
        : `for a request with ${open.map(what => `its ${what}`).join(' and ')}`
  return `${whenText(when)}: ${result}`
}

function viewOf({ route, read, asker }: Explained): RequestView {
  return new RequestView({
    body: read.body === undefined ? undefined : asBuffer(read.body),
    form: undefined,
    stream: read.stream,
    key: asker.caller.name,
    groups: asker.caller.policy?.groups ?? [],
    header: () => undefined,
    paths: route.protocol?.amounts,
  })
}
