import { GatewayError } from '../../core/errors.js'
import type { Exchange, Route } from '../../core/plan.js'
import { unknownModel } from '../../core/refusals.js'
import type { ResourceKind, ResourceRule } from '../../core/resources.js'
import type { Call } from '../call.js'
import { resolve } from '../resolve.js'
import { type Slot, slot } from '../slot.js'
import { RESULT_NAMES } from './batch/result-names.js'
import { type Hint, needsAllModels, noObject, noUpstreamEver, noUpstreamNow } from './faults.js'
import { idIn } from './ownership-store.js'
import { resumedUpload } from './session.js'
import { exchangeForUnknownIds } from './unknown-ids.js'

/**
 * The exchanges for a request about things that upstreams keep: for one that exists, the upstream that has it; for a new
 * one, the upstream that is to have it. Throws `not_found` for what is not the caller's, before any upstream hears of it.
 */
export async function routeToOwner(call: Call, route: Route, rule: ResourceRule): Promise<readonly Exchange[]> {
  if (rule.action === 'create') return (await resumedUpload(call, route)) ?? exchangesForCreate(call, route)
  const { kind, parameter } = rule
  const text = parameter === undefined ? '' : (call.params[parameter] ?? '')
  const id = idIn(kind.prefix + text, kind)
  const resource = id === undefined ? undefined : await call.kernel.state.ownership.find(ownerOf(call), kind, id)
  if (resource === undefined) {
    const passing = id === undefined ? undefined : await exchangeForUnknown(call, route, rule, id)
    if (passing === undefined) throw noObject(kind, text)
    call.set(UNKNOWN, true)
    return [passing]
  }
  const exchange = exchangesOf(route).find(({ upstream }) => upstream.name === resource.upstream)
  // Its content may not be there yet, or no longer: that says nothing about the resource.
  if (rule.action !== 'use') call.set(FOUND, { kind, id: resource.id })
  if (exchange === undefined) {
    throw new GatewayError('unavailable', 'The upstream that keeps this is switched off, or no longer serves it.')
  }
  if (route.results !== undefined) {
    const names = await call.kernel.state.batchNames.find(ownerOf(call), resource.id)
    if (names !== undefined) call.set(RESULT_NAMES, new Map([[resource.upstream, names]]))
  }
  return [exchange]
}

/** Set if the request is about a resource without an owner, which stays without one. */
export const UNKNOWN: Slot<true> = slot('unknown_resource')

/** The resource that the request is about, if the gateway knows it. */
const FOUND = slot<{ readonly kind: ResourceKind; readonly id: string }>('resource')

/** Forgets a resource that its upstream has deleted. */
export function forgetIfGone(call: Call): void {
  const found = call.get(FOUND)
  if (found !== undefined && call.status === 404) forget(call, found.kind, found.id).catch(() => undefined)
}

/** What is not there any more is nobody's. */
export async function forget(call: Call, kind: ResourceKind, id: string): Promise<void> {
  const { ownership, batchNames } = call.kernel.state
  await ownership.forget(ownerOf(call), kind, id)
  if (call.generation.plan.routes.some(({ batch, resource: rule }) => batch !== undefined && rule?.kind === kind)) {
    await batchNames.forget(ownerOf(call), id)
  }
}

/** The upstream that takes ids which belong to no key, where the caller's models lead to one. */
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
  return (await kernel.state.ownership.isOwned(kind, id)) ? undefined : exchangeForUnknownIds(able, id)
}

export function ownerOf({ caller }: Call): string {
  return caller?.name ?? ''
}

/** Who may hold what the request makes. Where it names no model there is one: a body that is passed on is sent once. */
function exchangesForCreate(call: Call, route: Route): readonly Exchange[] {
  const { caller, generation } = call
  if (route.requiresAllModels && caller?.models.includes('*') !== true) throw needsAllModels()
  if (route.model !== undefined) return resolve(call, route)
  // The models of its requests decide.
  if (route.batch !== undefined) return exchangesOf(route)
  const hint = hintIn(call, route)
  const reached = caller === undefined ? undefined : generation.plan.models.upstreams(caller, hint?.model)
  if (reached === undefined) throw unknownModel(hint?.model ?? '', route, 'the key has no such model')
  const exchange = exchangesOf(route).find(({ upstream }) => reached.has(upstream.name))
  if (exchange !== undefined) return [exchange]
  // Clients ask again after 503, which helps only where somebody who is switched off could hold it.
  throw [...reached].some(name => route.speakers.has(name)) ? noUpstreamNow() : noUpstreamEver(hint)
}

/** The model that the request names for no other purpose than to say where its things are to be. */
function hintIn({ query, request }: Call, { modelHints }: Route): Hint | undefined {
  for (const { from, name } of modelHints) {
    const value = from === 'query' ? query?.get(name) : request.headers[name]
    if (typeof value === 'string' && value !== '') return { model: value, param: name }
  }
  return undefined
}

/** Every upstream that could serve the route. */
function exchangesOf(route: Route): readonly Exchange[] {
  return route.resolve('')?.groups.flatMap(group => group.exchanges) ?? []
}
