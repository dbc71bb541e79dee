import { checkState } from '../../core/admission.js'
import type { Frame } from '../../core/codec.js'
import { jsonText, parseExact } from '../../core/exact-json.js'
import { isObject } from '../../core/json.js'
import type { Exchange, Route } from '../../core/plan.js'
import { addEarlierInput } from '../../kernel/added-input.js'
import type { Body, HeldBody } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import type { Kernel } from '../../kernel/kernel.js'
import { MUST_FINISH } from '../../kernel/relay/json.js'
import { SHOWN_DOCUMENT } from '../../kernel/shown-document.js'
import type { Feature, Stage } from '../../kernel/stages.js'
import type { Tap } from '../../kernel/tap.js'
import { addToTranslation, type TranslationHooks } from '../../kernel/translate/hooks.js'
import { forgetDeleted, STATE_ANSWERS } from './answers.js'
import { refusesBackground } from './background.js'
import { stateBounds } from './bounds.js'
import { CONVERSATION_ANSWERS } from './conversation-answers.js'
import { isStateful, narrowByEarlier, openTurn, readsState, readTurnOptions, withUnseen } from './open-turn.js'
import { referencesIn } from './references.js'
import { ResponseObserver } from './response-observer.js'
import { ResponseTap } from './response-tap.js'
import { type ResponseTurn, TURN, TURN_OPTIONS } from './response-turn.js'
import { STATE, State } from './state.js'

/** Responses that belong to conversations: their history, where they are stored, and runs in the background. */
export const responses: Feature = {
  name: 'responses',
  open(kernel) {
    const state = new State(kernel.store, stateBounds(kernel), error => kernel.onStoreFault(error), kernel.peers)
    kernel.provide(STATE, state)
    return { close: () => state.conversations.settled() }
  },
  compile({ kernel, route }) {
    if (route === undefined) return undefined
    const answers = answersOf(route, kernel)
    if (!readsState(route)) return answers && { name: 'responses', ...answers }
    const creates = isStateful(route)
    const onMembers: NonNullable<Stage['onMembers']> = (call, member, whole) => {
      checkState(route, member)
      const options = readTurnOptions(member, whole && referencesIn(whole('input')))
      call.set(TURN_OPTIONS, options)
      if (options.conversation !== undefined) call.set(SHOWN_DOCUMENT, document => withUnseen(call, document))
    }
    const onUpstreamBody: NonNullable<Stage['onUpstreamBody']> = (call, body) => call.get(TURN)?.relayed(body) ?? body
    if (route.lane !== 'exchange') return { name: 'responses', onMembers, onUpstreamBody, ...answers }
    return {
      name: 'responses',
      onMembers,
      narrow: (call, candidates, body) => openResponse(call, route, candidates, body, creates),
      onUpstreamBody,
      // Upstreams that store responses choose their ids: record the owner of each.
      observe({ call, exchange }, events) {
        const turn = call.get(TURN)
        const taps: Tap[] = []
        if (turn?.conversationId !== undefined) {
          taps.push(new ResponseTap(events, response => turn.extend(response).catch(() => undefined)))
        }
        if (turn?.options.store !== true) return taps
        const keep = {
          response: (id: string) => turn.kept(id, exchange.upstream.keeper),
          items: (ids: readonly string[]) => turn.keptItems(ids),
        }
        return [...taps, new ResponseObserver(events, keep)]
      },
      // If no upstream runs the response in the background, the gateway does.
      onExhausted(call, failure, body) {
        const turn = call.get(TURN)
        if (turn?.options.background !== true || !turn.options.store || body.type !== 'bytes') return false
        if (!refusesBackground(failure)) return false
        start(call, body, turn, true).catch((cause: unknown) => call.fail(cause))
        return true
      },
    }
  },
}

/** Answers about responses and conversations that exist. */
function answersOf(route: Route, { serve }: Kernel): Pick<Stage, 'serve' | 'settle'> | undefined {
  const answer = route.answer && { ...STATE_ANSWERS, ...CONVERSATION_ANSWERS }[route.answer]
  if (answer === undefined) return undefined
  return {
    serve: call => answer(call, route, serve),
    ...(route.answer === 'response.delete' && { settle: forgetDeleted }),
  }
}

/** The candidates that can continue the conversation. A response that the gateway runs in the background is answered at once. */
async function openResponse(
  call: Call,
  route: Route,
  candidates: readonly Exchange[],
  body: Body,
  creates: boolean,
): Promise<readonly Exchange[]> {
  const options = call.get(TURN_OPTIONS)
  if (options === undefined) return candidates
  const turn = await openTurn(
    call,
    creates ? options : { ...options, store: false, background: false },
    body,
    candidates,
  )
  call.set(TURN, turn)
  addEarlierInput(call, () => turn.earlierInput)
  call.set(MUST_FINISH, !turn.options.background)
  addToTranslation(call, translatedTurn(turn))
  const able = await narrowByEarlier(call, route, turn, turn.narrow(candidates))
  if (turn.options.background && able[0]?.translation !== undefined && body.type === 'bytes') {
    call.cancellation.throwIfCancelled()
    await start(call, body, turn, false)
  }
  return able
}

function start(call: Call, body: HeldBody, turn: ResponseTurn, relayed: boolean): Promise<void> {
  return call.kernel.need(STATE).background.start(call, body, turn, call.kernel.serve, relayed)
}

/** Events that end a response well. They contain the whole response. */
const LAST_EVENTS: ReadonlySet<string | undefined> = new Set(['response.completed', 'response.incomplete'])

/** A turn at an upstream of another protocol: the upstream gets the whole conversation, and the gateway keeps the answer. */
function translatedTurn(turn: ResponseTurn): TranslationHooks {
  return {
    earlier: { items: turn.inherited, bytes: turn.inheritedBytes },
    newId: turn.newId,
    onDocument: document => turn.expand(document),
    placed: error => turn.placed(error),
    onAnswer: answer => turn.keep(answer),
    onLastEvent: event => (turn.keeps && LAST_EVENTS.has(event.event) ? keptEvent(turn, event) : undefined),
  }
}

/** The last event is sent once the response is stored: a client that has it may continue at once. */
async function keptEvent(turn: ResponseTurn, event: Frame): Promise<Frame> {
  const data = parseExact(event.data)
  if (!isObject(data) || !isObject(data.response)) throw new Error('the last event carries the response')
  const response = await turn.keep(data.response)
  return response === data.response ? event : { ...event, data: jsonText({ ...data, response }) }
}
