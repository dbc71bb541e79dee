import type { IncomingMessage, ServerResponse } from 'node:http'
import { outOfDescriptors } from '../core/descriptors.js'
import type { Family } from '../core/errors.js'
import type { Exchange, Match, Miss } from '../core/plan.js'
import { unrouted } from '../core/refusals.js'
import { recordCall } from './account.js'
import { admit } from './admit.js'
import { answer } from './answer.js'
import { authenticate } from './authenticate.js'
import type { Body, HeldBody } from './body.js'
import { Call } from './call.js'
import { cors } from './cors.js'
import { Dispatch } from './dispatch.js'
import type { Failure } from './failure.js'
import { checkHead } from './heads.js'
import { openBatch } from './held/batch/open.js'
import { mayReference, narrowByReferences } from './held/references.js'
import { routeToOwner } from './held/route-to-owner.js'
import type { Kernel } from './kernel.js'
import { checkMembers, mayBeRuled } from './members.js'
import { resolve } from './resolve.js'
import { refusesBackground, type Serve } from './state/background.js'
import { draftCompletion } from './state/completion-draft.js'
import { isStateful, openTurn } from './state/open-turn.js'
import type { ResponseTurn, TurnOptions } from './state/response-turn.js'
import { isSigned, serveTask } from './tasks/serve.js'
import { logArrival, logCandidates } from './trail.js'

/** A request's way: arrive, match, authenticate, admit, resolve, dispatch; relay and account follow from there. */
export function handle(kernel: Kernel, request: IncomingMessage, response: ServerResponse): void {
  const call = new Call(kernel, request, response, recordCall)
  serve(call).catch((error: unknown) => call.fail(error))
}

async function serve(call: Call): Promise<void> {
  const { plan } = call.generation
  const { request } = call
  const matched = plan.match(request.method ?? '', call.path, request.headers)
  call.family = familyOf(request, matched)
  call.route = matched.route
  if (call.kernel.sink.debugs) logArrival(call)
  checkHead(request, plan.limits)
  if (call.kernel.crowded.has(request.socket)) throw outOfDescriptors()
  if (cors(call, matched)) return
  const placements = matched.route?.caller ?? (matched as Miss).caller
  const isLink = matched.route !== undefined && isSigned(call, matched.route)
  if (!isLink) call.caller = authenticate(request, call.query, placements, plan.keys)
  call.takePlace()
  const route = routeOf(call, matched)
  if (route.lane === 'answer') return answer(call, route, (inner, response) => handle(call.kernel, inner, response))
  if (route.task !== undefined) return serveTask(call, route, route.task)
  const { holding } = route
  // Rejects resources of other callers before reading the body.
  const known = holding === undefined || holding.verb === 'makes' ? undefined : await routeToOwner(call, route, holding)
  const admitted = await admit(call, route)
  call.cancellation.throwIfCancelled()
  const able = known ?? (holding === undefined ? resolve(call, route) : await routeToOwner(call, route, holding))
  const body = call.wantsStored ? await draftCompletion(call, admitted) : admitted
  call.cancellation.throwIfCancelled()
  const holders = mayReference(body, route.names) ? await narrowByReferences(call, route, body, able) : able
  call.cancellation.throwIfCancelled()
  const ruled = mayBeRuled(call, route, body) ? await checkMembers(call, route, body, holders) : holders
  const exchanges = route.batch === undefined ? ruled : await openBatch(call, route, route.batch, body, ruled)
  call.cancellation.throwIfCancelled()
  const offered = call.wishes === undefined ? exchanges : await continueTurn(call, call.wishes, body, exchanges)
  if (offered === undefined) return
  call.cancellation.throwIfCancelled()
  if (call.kernel.sink.debugs) logCandidates(call, offered)
  new Dispatch(call, route, body, call.completion?.named(offered) ?? offered, runsHere(call, body)).start()
}

/** Where an upstream that speaks the protocol runs nothing in the background, the gateway does. */
function runsHere(call: Call, body: Body): ((failure: Failure) => boolean) | undefined {
  const { turn } = call
  if (turn?.options.background !== true || !turn.options.store || body.type !== 'bytes') return undefined
  return failure => {
    const isOurs = refusesBackground(failure)
    if (isOurs) startHere(call, body, turn, true).catch((cause: unknown) => call.fail(cause))
    return isOurs
  }
}

function startHere(call: Call, body: HeldBody, turn: ResponseTurn, relayed: boolean): Promise<void> {
  const serveInside: Serve = (request, response) => handle(call.kernel, request, response)
  return call.kernel.state.background.start(call, body, turn, serveInside, relayed)
}

/** The exchanges that can go on with the conversation; undefined where the response runs in the background and is answered. */
async function continueTurn(
  call: Call,
  wishes: TurnOptions,
  body: Body,
  exchanges: readonly Exchange[],
): Promise<readonly Exchange[] | undefined> {
  const makes = call.route !== undefined && isStateful(call.route)
  const turn = await openTurn(call, makes ? wishes : { ...wishes, store: false, background: false }, body, exchanges)
  call.turn = turn
  const offered = turn.narrow(exchanges)
  if (!turn.options.background || offered[0]?.translation === undefined || body.type !== 'bytes') return offered
  await startHere(call, body, turn, false)
  return undefined
}

/** The route's family, unless the client shows itself as one of another that the route serves too. */
function familyOf({ headers }: IncomingMessage, matched: Match | Miss): Family {
  const { errors, families } = matched.route ?? (matched as Miss)
  return families.find(({ header }) => headers[header] !== undefined)?.family ?? errors
}

function routeOf(call: Call, matched: Match | Miss): Match['route'] {
  if (matched.route !== undefined) {
    call.params = matched.params
    return matched.route
  }
  throw unrouted(matched, call.request.method ?? '', call.path)
}
