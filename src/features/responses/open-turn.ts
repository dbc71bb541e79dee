import { type InBody, noText } from '../../core/admission.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import type { Exchange, Route } from '../../core/plan.js'
import { keepsState, namesState } from '../../core/stateful.js'
import type { Body } from '../../kernel/body.js'
import { documentOfBody } from '../../kernel/body-document.js'
import type { Call } from '../../kernel/call.js'
import { type Slot, slot } from '../../kernel/slot.js'
import { yieldToEventLoop } from '../../kernel/translate/steps.js'
import { findValue } from '../../wire/json-edit.js'
import { narrowByAdded } from '../resources/references.js'
import { isCompaction, mayHoldCompaction } from './compactions.js'
import { tooLongConversation } from './faults.js'
import { historyOf, localOf, responseIdOf } from './inside.js'
import { itemsOf } from './items.js'
import type { NamedConversation } from './named-conversations.js'
import { mayRefer, referencesIn } from './references.js'
import { HIDDEN, ResponseTurn, TURN_OPTIONS, type TurnHistory, type TurnOptions } from './response-turn.js'
import { STATE } from './state.js'

/** Whether requests on this route create responses of conversations. */
export function isStateful({ protocol, lane }: Pick<Route, 'protocol' | 'lane'>): boolean {
  return keepsState(protocol?.name, lane)
}

/** Whether the request's members about its conversation must be read. */
export function readsState(route: Pick<Route, 'protocol' | 'lane' | 'answer'>): boolean {
  return namesState(route.protocol?.name, route.answer)
}

/** The request's members about its conversation; `references` undefined if not known yet. */
export function readTurnOptions(inBody: InBody, references?: readonly string[]): TurnOptions {
  const [previous, conversation] = [inBody('previous_response_id'), inBody('conversation')]
  return {
    previous: typeof previous === 'string' ? previous : undefined,
    conversation: typeof conversation === 'string' ? conversation : isObject(conversation) ? HIDDEN : undefined,
    store: inBody('store') !== false,
    background: inBody('background') === true,
    references,
  }
}

/**
 * Finds a turn's history, and the items that its input refers to. Throws `previous_response_not_found` and `not_found`
 * before any upstream is called.
 */
export async function openTurn(
  call: Call,
  options: TurnOptions,
  body: Body,
  exchanges: readonly Exchange[] = [],
): Promise<ResponseTurn> {
  const owner = call.key
  const before = await findHistory(call, owner, options, body, exchanges)
  const { conversations } = call.kernel.need(STATE)
  const responseId = responseIdOf(call)
  // A background run stores its response itself.
  const kept = responseId === undefined ? options : { ...options, store: false }
  const turn = new ResponseTurn(conversations, owner, call.model, kept, before, responseId)
  await turn.findReferences(options.references ?? (await referencesOf(call, body)), relayedTo(exchanges))
  if (mayBeCompacted(turn, body)) turn.open = await call.kernel.need(STATE).compactions.opener(owner)
  localOf(call)?.began(turn)
  return turn
}

/**
 * The exchanges at which everything is that the turn's earlier items name: an upstream would open files for any key, since all have
 * its one secret. Throws `not_found` for files of other callers, and `invalid_parameter` if no single upstream has them all, or
 * if there are too many.
 */
export async function narrowByEarlier(
  call: Call,
  route: Route,
  { earlierItems: input, options }: ResponseTurn,
  exchanges: readonly Exchange[],
): Promise<readonly Exchange[]> {
  // Where nothing is reached, the request is refused for that.
  if (input.length === 0 || exchanges.length === 0) return exchanges
  const earlier = options.previous === undefined ? 'input' : 'previous_response_id'
  const param = options.conversation === undefined ? earlier : 'conversation'
  const most = call.kernel.need(STATE).conversations.bounds.files
  return narrowByAdded(call, route, { input }, exchanges, { who: 'conversation', most, param })
}

/** Whether the conversation may contain the gateway's compaction items. */
function mayBeCompacted({ history }: ResponseTurn, body: Body): boolean {
  if (history.by === 'gateway' && history.conversation.items.some(isCompaction)) return true
  return body.type === 'bytes' && mayHoldCompaction(body.bytes)
}

/** Reads the references from the whole body, if the scan of the head did not find them all. */
async function referencesOf(call: Call, body: Body): Promise<readonly string[]> {
  if (body.type !== 'bytes' || !mayRefer(body.bytes)) return []
  await yieldToEventLoop(body.bytes.length)
  const { input } = await documentOfBody(call, body, { isKnown: name => name === 'input' })
  const references = referencesIn(input)
  call.memory.release()
  return references
}

async function findHistory(
  call: Call,
  owner: string,
  { previous, conversation }: TurnOptions,
  body: Body,
  exchanges: readonly Exchange[],
): Promise<TurnHistory> {
  const known = historyOf(call)
  if (known !== undefined) return known
  if (conversation !== undefined) {
    const id = idIn(conversation, body)
    const taker = await call.kernel.need(STATE).conversations.outsideConversation(id, relayedTo(exchanges))
    if (taker !== undefined) return { by: 'upstream', upstream: taker }
    return inConversation(call, owner, id)
  }
  if (previous === undefined) return { by: 'nobody' }
  const local = localOf(call)?.find(previous)
  if (local !== undefined) return { by: 'gateway', conversation: local, durable: false }
  const { conversations } = call.kernel.need(STATE)
  const taker = await conversations.outside(previous, relayedTo(exchanges), 'previous_response_id')
  if (taker !== undefined) return { by: 'upstream', upstream: taker }
  const found = await conversations.upTo(owner, previous)
  if (found.kind === 'kept') return { by: 'upstream', upstream: found.upstream }
  return { by: 'gateway', conversation: found, durable: true }
}

/** The exchanges whose upstreams speak the protocol themselves, and may know ids that were made elsewhere. */
export function relayedTo(exchanges: readonly Exchange[]): readonly Exchange[] {
  return exchanges.filter(({ translation }) => translation === undefined)
}

/** The history of a turn in a named conversation: all of its items. */
async function inConversation(call: Call, owner: string, id: string): Promise<TurnHistory> {
  const { conversations } = call.kernel.need(STATE)
  const { named } = conversations
  const found = call.get(SHOWN) ?? (await named.find(owner, id))
  call.set(SHOWN, undefined)
  const { items: count, bytes, lines } = found.head
  if (count >= conversations.bounds.items) {
    throw tooLongConversation(`has ${count} items, as many as one may have`, 'conversation_items')
  }
  if (bytes > conversations.bounds.bytes) throw tooLongConversation('is too large', 'conversation_bytes')
  const items = await named.itemsOf(found)
  return { by: 'gateway', conversation: { kind: 'own', items, turns: 0, bytes }, durable: true, named: { id, lines } }
}

/** The conversation as checks have seen it: what is added to it after that is no part of the turn. */
const SHOWN: Slot<NamedConversation> = slot('shown conversation')

/** Puts the items before the input that clients have added to the conversation since its last turn. */
export async function withUnseen(call: Call, document: JsonObject): Promise<JsonObject> {
  const { conversation } = call.get(TURN_OPTIONS) ?? {}
  if (conversation === undefined) return document
  const { named } = call.kernel.need(STATE).conversations
  const found = await named.find(call.key, idIn(conversation, call.body)).catch((error: unknown) => {
    // One that was made elsewhere, or that the turn will not find.
    if (error instanceof GatewayError && error.code === 'not_found') return undefined
    throw error
  })
  call.set(SHOWN, found)
  const unseen = found === undefined ? [] : await named.itemsOf(found, undefined, found.head.seen)
  if (unseen.length === 0) return document
  const { input } = document
  const shown = unseen.map(item => parseJson(jsonText(item)))
  return { ...document, input: [...shown, ...(Array.isArray(input) ? input : itemsOf(input))] }
}

function idIn(conversation: string | typeof HIDDEN, body: Body): string {
  return conversation === HIDDEN ? conversationIn(body) : conversation
}

/** The id in `conversation: {id}`. Throws `invalid_parameter` if it is not there. */
function conversationIn(body: Body): string {
  const place = body.type === 'bytes' ? findValue(body.bytes, ['conversation', 'id']) : undefined
  const id = place && body.type === 'bytes' && parseJson(body.bytes.toString('utf8', place.start, place.end))
  if (typeof id !== 'string') throw noText('conversation.id')
  return id
}
