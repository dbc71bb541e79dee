import { SimulatorError } from '../../errors.js'
import type { Fields } from '../../families/fields.js'
import type { JsonObject } from '../../json.js'
import type { Call } from '../../protocol.js'
import { isStamped } from '../../seed.js'

/** What went before a request. */
export interface History {
  /** The items of the earlier responses, questions and answers. */
  readonly items: readonly JsonObject[]
  /** Whether all of them are known: an id of another process is taken on trust, and nothing can be checked then. */
  readonly known: boolean
  /** Whether there was anything before. */
  readonly chained: boolean
}

const NONE: History = { items: [], known: true, chained: false }

/** The conversation that `previous_response_id` goes on with. Throws where there was none. */
export function readHistory(body: Fields, { memory, faults }: Call): History {
  const previous = body.string('previous_response_id')
  const conversation = body.raw('conversation')
  if (previous !== undefined && conversation !== undefined) throw exclusive()
  if (conversation !== undefined) throw new SimulatorError(404, 'Conversation not found.', { param: 'conversation' })
  if (previous === undefined) return NONE
  const kept = memory.get(previous)
  if (kept !== undefined) return { items: [...kept.input, ...kept.output], known: true, chained: true }
  const trusted = isStamped('resp_', previous) && !faults['own-ids'] && !memory.isForgotten(previous)
  if (trusted) return { items: [], known: false, chained: true }
  throw new SimulatorError(400, `Previous response with id '${previous.slice(0, 100)}' not found.`, {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  })
}

function exclusive(): SimulatorError {
  const message = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."
  return new SimulatorError(400, message, { code: 'mutually_exclusive_parameters' })
}
