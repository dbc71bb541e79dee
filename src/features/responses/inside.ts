import type { Call } from '../../kernel/call.js'
import { InnerExchange } from '../../kernel/inner.js'
import { type Slot, Slots, slot } from '../../kernel/slot.js'
import type { Conversation } from './conversations.js'
import type { ResponseTurn, TurnHistory } from './response-turn.js'

/** A conversation that is stored only in its connection. */
export interface LocalMemory {
  /** The conversation up to the response of that id. */
  find(id: string): Conversation | undefined
  /** Reports the current turn. */
  began(turn: ResponseTurn): void
}

/** The memory of the connection that a turn belongs to. */
const LOCAL: Slot<LocalMemory> = slot('local_memory')
/** What the turn continues, as it was read, and checked, for the request that came first. */
const HISTORY: Slot<TurnHistory> = slot('history')
/** The id that the response must have. */
const RESPONSE_ID: Slot<string> = slot('response_id')

/** For a request that arrived in a message of that connection. */
export function withLocal(local: LocalMemory): Slots {
  const slots = new Slots()
  slots.set(LOCAL, local)
  return slots
}

/** For a request that a turn makes: it has the history of that turn, and its response the id where one is given. */
export function withHistory(history: TurnHistory | undefined, id?: string): Slots {
  const slots = new Slots()
  slots.set(HISTORY, history)
  slots.set(RESPONSE_ID, id)
  return slots
}

export function localOf(call: Call): LocalMemory | undefined {
  return slotsOf(call)?.get(LOCAL)
}

export function historyOf(call: Call): TurnHistory | undefined {
  return slotsOf(call)?.get(HISTORY)
}

export function responseIdOf(call: Call): string | undefined {
  return slotsOf(call)?.get(RESPONSE_ID)
}

function slotsOf({ request }: Call): Slots | undefined {
  return request instanceof InnerExchange ? request.inside.slots : undefined
}
