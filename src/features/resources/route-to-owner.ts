import { GatewayError } from '../../core/errors.js'
import type { Exchange, Route } from '../../core/plan.js'
import { unknownModel } from '../../core/refusals.js'
import type { ResourceKind, ResourceRule } from '../../core/resources.js'
import type { Call } from '../../kernel/call.js'
import { resolve } from '../../kernel/resolve.js'
import { type Slot, slot } from '../../kernel/slot.js'
import { BATCH_NAMES, RESULT_NAMES } from '../batches/result-names.js'
import { type Hint, needsAllModels, noObject, noUpstreamEver, noUpstreamNow } from './faults.js'
import { holderAmong } from './holder.js'
import { idIn, OWNERSHIP } from './ownership-store.js'
import { exchangeForUnknownIds } from './unknown-ids.js'
import { resumedUpload } from './upload-session.js'

/**
 * The exchanges for a request about a resource: for an existing one, the upstream that has it; for a new one, the upstream
 * that will. Throws `not_found` for resources of other callers, before any upstream is called.
 */
export async function routeToOwner(call: Call, route: Route, rule: ResourceRule): Promise<readonly Exchange[]> {
  if (rule.action === 'create') return (await resumedUpload(call, route)) ?? exchangesForCreate(call, route)
  const { kind, parameter } = rule
  const text = parameter === undefined ? '' : (call.params[parameter] ?? '')
  const id = idIn(kind.prefix + text, kind)
  const resource = id === undefined ? undefined : await call.kernel.need(OWNERSHIP).find(ownerOf(call), kind, id)
  if (resource === undefined) {
    const passing = id === undefined ? undefined : await exchangeForUnknown(call, route, rule, id)
    if (passing === undefined) throw noObject(kind, text)
    call.set(UNKNOWN, true)
    return [passing]
  }
  const exchange = holderAmong(exchangesOf(route), resource.upstream)
  // Its content may not be there yet, or no longer: that says nothing about the resource.
  if (rule.action === 'read' || rule.action === 'delete')
    call.set(FOUND, { kind, id: resource.id, action: rule.action })
  if (exchange === undefined) {
    throw new GatewayError('unavailable', 'The upstream that keeps this is switched off, or no longer serves it.')
  }
  if (route.results !== undefined) {
    const names = await call.kernel.need(BATCH_NAMES).find(ownerOf(call), resource.id)
    if (names !== undefined) call.set(RESULT_NAMES, new Map([[exchange.upstream.name, names]]))
  }
  return [exchange]
}

/** Set if the request is about a resource without an owner, which stays without one. */
export const UNKNOWN: Slot<true> = slot('unknown_resource')

/** The resource that the request is about, if the gateway knows it. */
const FOUND = slot<{ readonly kind: ResourceKind; readonly id: string; readonly action: 'read' | 'delete' }>('resource')

/** Forgets a resource that its upstream does not have: at once if a client deletes it, later if one reads it. */
export function forgetIfGone(call: Call): void {
  const found = call.get(FOUND)
  if (found === undefined || call.status !== 404) return
  const { kind, id, action } = found
  const forgotten =
    action === 'delete' ? forget(call, kind, id) : call.kernel.need(OWNERSHIP).missing(ownerOf(call), kind, id)
  forgotten.catch(() => undefined)
}

/** Forgets the owner of a resource that no longer exists. */
export async function forget(call: Call, kind: ResourceKind, id: string): Promise<void> {
  const ownership = call.kernel.need(OWNERSHIP)
  const batchNames = call.kernel.need(BATCH_NAMES)
  await ownership.forget(ownerOf(call), kind, id)
  if (call.generation.plan.routes.some(({ batch, resource: rule }) => batch !== undefined && rule?.kind === kind)) {
    await batchNames.forget(ownerOf(call), id)
  }
}

/** The upstream that accepts ids which belong to no key, if the caller has a model there. */
async function exchangeForUnknown(
  call: Call,
  route: Route,
  { kind }: ResourceRule,
  id: string,
): Promise<Exchange | undefined> {
  const { caller, generation, kernel } = call
  const reached = caller === undefined ? undefined : generation.plan.models.upstreams(caller)
  const able = exchangesOf(route).filter(({ upstream }) => reached?.has(upstream.name) === true)
  if (!able.some(({ upstream }) => upstream.passesUnknown)) return undefined
  return (await kernel.need(OWNERSHIP).isOwned(kind, id)) ? undefined : exchangeForUnknownIds(able, id)
}

export function ownerOf({ caller }: Call): string {
  return caller?.name ?? ''
}

/** Upstreams that may keep the new resource. Without a model there is only one, since a body that is streamed is sent once. */
function exchangesForCreate(call: Call, route: Route): readonly Exchange[] {
  const { caller, generation } = call
  if (route.requiresAllModels && caller?.models.includes('*') !== true) throw needsAllModels()
  if (route.model !== undefined) return resolve(call, route)
  // A batch goes to an upstream of its requests' models.
  if (route.batch !== undefined) return exchangesOf(route)
  const hint = hintIn(call, route)
  const reached = caller === undefined ? undefined : generation.plan.models.upstreams(caller, hint?.model)
  if (reached === undefined) throw unknownModel(hint?.model ?? '', route, 'the key has no such model')
  const exchange = exchangesOf(route).find(({ upstream }) => reached.has(upstream.name))
  if (exchange !== undefined) return [exchange]
  // Clients retry after 503, which helps only if an upstream that is switched off could keep it.
  throw [...reached].some(name => route.speakers.has(name)) ? noUpstreamNow() : noUpstreamEver(hint)
}

/** The model that the request names only to choose the upstream of its new resource. */
function hintIn({ query, request }: Call, { modelHints }: Route): Hint | undefined {
  for (const { from, name } of modelHints) {
    const value = from === 'query' ? query?.get(name) : request.headers[name]
    if (typeof value === 'string' && value !== '') return { model: value, param: name }
  }
  return undefined
}

/** An exchange for every upstream of the route. */
function exchangesOf(route: Route): readonly Exchange[] {
  return route.resolve('')?.groups.flatMap(group => group.exchanges) ?? []
}
