import { GatewayError } from '../../core/errors.js'
import type { Route } from '../../core/plan.js'
import type { Answer } from '../../core/route-settings.js'
import type { Call } from '../../kernel/call.js'
import type { Serve } from '../../kernel/inner.js'
import { slot } from '../../kernel/slot.js'
import { holderAmong } from '../resources/holder.js'
import { compact } from './compact.js'
import { noResponse } from './faults.js'
import { itemList } from './item-list.js'
import { STATE } from './state.js'
import type { KeptResponse, StoredResponse } from './stored.js'
import { askOwner, exchangeOfOwner, relayedAnywhere } from './upstream-owned.js'

/** Answers about existing responses. */
export const STATE_ANSWERS: Partial<Record<Answer, (call: Call, route: Route, serve: Serve) => Promise<void>>> = {
  response: show,
  'response.delete': remove,
  'response.input_items': inputItems,
  'response.cancel': cancel,
  'response.compact': compact,
}

async function show(call: Call, route: Route): Promise<void> {
  const found = await find(call, route)
  const streamed = call.query?.get('stream') === 'true'
  if (found.kind === 'kept') return ask(call, route, found, '')
  const { background } = call.kernel.need(STATE)
  if (streamed) return background.stream(call, found)
  call.answer(200, background.latest(ownerOf(call), found).response)
}

/** Set if the response belongs to no key. */
const UNKNOWN = slot<true>('unknown_response')
/** A response that its upstream was asked to delete. */
const DELETED = slot<KeptResponse>('deleted')

/** Forgets a response that its upstream has deleted, or does not have. */
export function forgetDeleted(call: Call): void {
  const found = call.get(DELETED)
  const isGone = (call.status >= 200 && call.status < 300) || call.status === 404
  if (found !== undefined && isGone)
    call.kernel
      .need(STATE)
      .conversations.forget(call.key, found)
      .catch(() => undefined)
}

async function remove(call: Call, route: Route): Promise<void> {
  const found = await find(call, route)
  const owner = ownerOf(call)
  const { conversations, background } = call.kernel.need(STATE)
  if (found.kind === 'kept') {
    ask(call, route, found, '')
    // If no upstream has it now, it stays: the upstream may come back.
    if (call.get(UNKNOWN) !== true) call.set(DELETED, found)
    return
  }
  await background.cancel(owner, found)
  if (!(await conversations.forget(owner, found))) throw noResponse(found.id)
  call.answer(200, { id: found.id, object: 'response.deleted', deleted: true })
}

async function inputItems(call: Call, route: Route): Promise<void> {
  const found = await find(call, route)
  if (found.kind === 'kept') return ask(call, route, found, '/input_items')
  const items = await call.kernel.need(STATE).conversations.inputOf(ownerOf(call), found)
  call.answer(200, itemList(items, call.query))
}

async function cancel(call: Call, route: Route): Promise<void> {
  const found = await find(call, route)
  if (found.kind === 'kept') return ask(call, route, found, '/cancel')
  if (!found.background) {
    throw new GatewayError('bad_request', 'Only responses that run in the background can be cancelled.')
  }
  call.answer(200, (await call.kernel.need(STATE).background.cancel(ownerOf(call), found)).response)
}

/** Throws `not_found` if the caller has no such response, and no upstream accepts ids that were made elsewhere. */
async function find(call: Call, route: Route): Promise<StoredResponse> {
  const [id = ''] = Object.values(call.params)
  const found =
    (await call.kernel.need(STATE).conversations.find(ownerOf(call), id)) ?? (await outside(call, route, id))
  if (found === undefined) throw noResponse(id)
  call.model = found.model
  return found
}

/** A response that belongs to no key, at the only upstream of the caller's models that accepts such ids. */
async function outside(call: Call, route: Route, id: string): Promise<KeptResponse | undefined> {
  const { caller, generation, kernel } = call
  const reached = caller === undefined ? undefined : generation.plan.models.upstreams(caller)
  const able = relayedAnywhere(route).filter(({ upstream }) => reached?.has(upstream.name) === true)
  const upstream = await kernel.need(STATE).conversations.outside(id, able)
  if (upstream === undefined) return undefined
  call.set(UNKNOWN, true)
  return { kind: 'kept', id, created: 0, model: '', upstream, background: false }
}

function ask(call: Call, route: Route, found: KeptResponse, below: string): void {
  const exchange = call.get(UNKNOWN)
    ? holderAmong(relayedAnywhere(route), found.upstream)
    : exchangeOfOwner(call, found)
  if (exchange === undefined) throw noResponse(found.id)
  askOwner(call, route, exchange, `/${encodeURIComponent(found.id)}${below}`)
}

function ownerOf(call: Call): string {
  return call.key
}
