import type { Frame } from '../../core/codec.js'
import { jsonText, parseExact } from '../../core/exact-json.js'
import { isObject } from '../../core/json.js'
import type { TranslationHooks } from '../translate/hooks.js'
import type { ResponseTurn } from './response-turn.js'

/** Events that end a response well. They contain the whole response. */
const LAST_EVENTS: ReadonlySet<string | undefined> = new Set(['response.completed', 'response.incomplete'])

/** A turn at an upstream of another protocol: the upstream gets the whole conversation, and the gateway keeps the answer. */
export function translatedTurn(turn: ResponseTurn): TranslationHooks {
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
