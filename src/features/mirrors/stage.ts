import type { Exchange, Route } from '../../core/plan.js'
import { unservedModel } from '../../core/refusals.js'
import { mayReach } from '../../core/region.js'
import type { Mirror } from '../../core/strategy.js'
import type { Call } from '../../kernel/call.js'
import { copied, type InnerRequest } from '../../kernel/inner.js'
import { order } from '../../kernel/resolve.js'
import { slot } from '../../kernel/slot.js'
import type { Stage } from '../../kernel/stages.js'
import { setValue } from '../../wire/json-edit.js'
import { responseIdOf } from '../responses/inside.js'
import { TURN, TURN_OPTIONS } from '../responses/response-turn.js'
import { type Copies, sendCopy } from './copies.js'

/** It has been decided whether the call is copied: once, however often it is sent. */
const DECIDED = slot<true>('mirrors')

/** Copies requests for the mirrors of their models, and leads the copies there. */
export function mirrorsStage(route: Route, copies: Copies): Stage {
  return {
    name: 'mirrors',
    narrow(call, candidates) {
      const copy = copied(call.request)
      return copy === undefined ? candidates : ledTo(copy.model, call, route)
    },
    // The last gate is behind it.
    onUpstreamRequest({ call }) {
      const mirror = call.choice?.routing?.mirror
      if (mirror === undefined || call.get(DECIDED) === true) return
      call.set(DECIDED, true)
      if (Math.random() < mirror.share) copy(call, route, mirror, copies)
    },
  }
}

/** The file asks for the copy, not the client: the key need not be allowed to use the mirror. */
function ledTo(model: string, call: Call, route: Route): readonly Exchange[] {
  const choice = route.resolve(model)
  if (choice === undefined) {
    throw unservedModel(model, route, call.generation.plan, call.caller, 'no upstream of the mirror serves this route')
  }
  call.model = model
  call.choice = choice
  return order(choice, Math.random)
}

function copy(call: Call, route: Route, mirror: Mirror, copies: Copies): void {
  const { kernel, request } = call
  // What serves a copy may have a mirror itself.
  if (kernel.draining || copied(request) !== undefined || !isWithin(call, route, mirror)) return
  const body = bodyOfCopy(call)
  if (body === undefined) return
  const place = copies.begin(mirror)
  if (place === undefined) return
  const { method, target } = request
  const asked: InnerRequest = {
    method,
    target,
    body,
    inside: { copy: { of: call.id, model: mirror.to }, trace: call.trace },
  }
  // The client's own request goes first. Where a reload comes between, the mirror may be gone.
  setImmediate(() => {
    if (kernel.generation === call.generation) sendCopy(request, asked, place, kernel.serve)
    else place.leave()
  })
}

/** Whether the mirror serves the route where the caller's requests may go. */
function isWithin({ caller }: Call, route: Route, { to }: Mirror): boolean {
  const groups = route.resolve(to)?.groups ?? []
  return groups.some(({ exchanges }) => exchanges.some(({ upstream }) => mayReach(caller?.regions, upstream.region)))
}

/**
 * The body as upstreams may get it a second time. Undefined where that would make something, or continue what only one upstream
 * knows. A response that is kept is not kept once more.
 */
function bodyOfCopy(call: Call): Uint8Array | undefined {
  const { body } = call
  // A response with an id already is one that the gateway runs in the background.
  if (body.type !== 'bytes' || responseIdOf(call) !== undefined) return undefined
  const turn = call.get(TURN)
  if (turn === undefined) return body.bytes
  const { options, history, conversationId } = turn
  if (options.background || options.conversation !== undefined || conversationId !== undefined) return undefined
  if (history.by === 'upstream') return undefined
  return call.get(TURN_OPTIONS)?.store === true ? setValue(body.bytes, ['store'], 'false', 'always') : body.bytes
}
