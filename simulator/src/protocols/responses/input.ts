import { SimulatorError } from '../../errors.js'
import { describe, Fields } from '../../families/fields.js'
import { wrongType } from '../../families/refusals.js'
import { isObject, type Json, type JsonObject } from '../../json.js'
import type { Memory } from '../../memory.js'
import { isStamped, type Seed, stampedId } from '../../seed.js'
import type { Turn } from '../../text/conversation.js'
import { output, readMessage } from './messages.js'
import { checkCalls, checkReasoning } from './order.js'
import type { History } from './stored.js'

/** What is asked: the turns of the whole conversation, and the items of this request alone. */
interface Input {
  readonly turns: readonly Turn[]
  /** Typed, each with an id, so that they may be kept. */
  readonly items: readonly JsonObject[]
}

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  reasoning: 'rs_',
  function_call: 'fc_',
  custom_tool_call: 'ctc_',
  compaction: 'cmp_',
}

/** Reads `instructions` and `input`. Throws where an item is malformed, or does not fit the others. */
export function readInput(body: Fields, history: History, memory: Memory, seed: Seed): Input {
  const instructions = body.string('instructions')
  const system: readonly Turn[] =
    instructions === undefined ? [] : [{ role: 'system', parts: [{ type: 'text', text: instructions }] }]
  const given = itemsIn(body, history)
  const items = given.flatMap(item => resolved(item, memory))
  const turns = items.flatMap(readItem)
  const all = [...history.items, ...items.map(({ object }) => object)]
  if (history.known) checkCalls(all)
  checkReasoning(
    all,
    items.map(({ object }) => object),
    memory,
  )
  const earlier = history.items.flatMap(item => readItem(new Fields(item)))
  return {
    turns: [...system, ...earlier, ...turns],
    items: items.map(({ object }, index) => whole(object, seed.fork('input', index))),
  }
}

function itemsIn(body: Fields, { chained }: History): readonly Fields[] {
  const input = body.raw('input')
  if (input === undefined && !chained && body.raw('prompt') === undefined) throw noInput()
  if (typeof input === 'string') return [new Fields({ role: 'user', content: input }, 'input')]
  if (input !== undefined && !Array.isArray(input)) throw wrongType('input', 'a string or an array', describe(input))
  return body.list('input') ?? []
}

/** The item that a reference names, if it is still known. */
function resolved(item: Fields, memory: Memory): readonly Fields[] {
  if (typeOf(item) !== 'item_reference') return [item]
  const id = item.need('id', item.string)
  const kept = memory.item(id)
  if (kept !== undefined) return [new Fields(kept.item, item.path)]
  if (Object.values(PREFIXES).some(prefix => isStamped(prefix, id))) return []
  throw new SimulatorError(400, `Item with id '${id.slice(0, 100)}' not found.`, { param: 'input' })
}

function typeOf(item: Fields): string {
  return item.string('type') ?? (item.raw('role') === undefined ? 'item_reference' : 'message')
}

/** Items that only hosted tools make, and reasoning, are taken as read. */
function readItem(item: Fields): readonly Turn[] {
  switch (typeOf(item)) {
    case 'message':
      return [readMessage(item)]
    case 'function_call':
      return [called(item, 'arguments')]
    case 'custom_tool_call':
      return [called(item, 'input')]
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ role: 'tool', parts: [output(item)] }]
    default:
      return []
  }
}

function called(item: Fields, text: 'arguments' | 'input'): Turn {
  const name = item.need('name', item.string)
  const id = item.need('call_id', item.string)
  return { role: 'assistant', parts: [{ type: 'call', id, name, arguments: item.string(text) ?? '' }] }
}

/** An item with the members that clients may leave out. */
function whole(item: JsonObject, seed: Seed): JsonObject {
  const type = typeof item.type === 'string' ? item.type : 'message'
  const id = typeof item.id === 'string' ? item.id : stampedId(PREFIXES[type] ?? 'fc_', seed)
  if (type !== 'message') return { ...item, type, id }
  return { ...item, type, id, status: 'completed', content: typed(item.content, item.role === 'assistant') }
}

function typed(content: Json | undefined, answered: boolean): Json {
  if (typeof content === 'string') {
    return answered
      ? [{ type: 'output_text', text: content, annotations: [] }]
      : [{ type: 'input_text', text: content }]
  }
  const parts = Array.isArray(content) ? content : []
  return parts.map(part => (isObject(part) && part.type === 'input_image' ? { detail: 'auto', ...part } : part))
}

function noInput(): SimulatorError {
  const message = "One of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided."
  return new SimulatorError(400, message, { code: 'missing_required_parameter' })
}
