import { SimulatorError } from '../../errors.js'
import { describe, type Fields } from '../../families/fields.js'
import { wrongType } from '../../families/refusals.js'
import { isStamped } from '../../seed.js'
import type { Turn } from '../../text/conversation.js'
import { outputText, readMessage } from './messages.js'

const ITEM_PREFIXES = ['msg_', 'rs_', 'fc_', 'ctc_'] as const
const OUTPUTS: readonly string[] = ['function_call_output', 'custom_tool_call_output']

/** The turns of `instructions` and `input`. Throws where an item is malformed or answers a call that there was not. */
export function readInput(body: Fields, chained: boolean): readonly Turn[] {
  const instructions = body.string('instructions')
  const system: readonly Turn[] =
    instructions === undefined ? [] : [{ role: 'system', parts: [{ type: 'text', text: instructions }] }]
  const input = body.raw('input')
  if (input === undefined && !chained && body.raw('prompt') === undefined) throw noInput()
  if (input === undefined) return system
  if (typeof input === 'string') return [...system, { role: 'user', parts: [{ type: 'text', text: input }] }]
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array', describe(input))
  const items = body.list('input') ?? []
  const turns = items.flatMap(readItem)
  if (!chained) checkOutputs(items)
  return [...system, ...turns]
}

/** Items that only hosted tools make, and reasoning, are taken as read. */
function readItem(item: Fields): readonly Turn[] {
  const type = item.string('type') ?? (item.raw('role') === undefined ? 'item_reference' : 'message')
  switch (type) {
    case 'message':
      return [readMessage(item)]
    case 'function_call':
      return [called(item, 'arguments')]
    case 'custom_tool_call':
      return [called(item, 'input')]
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [
        { role: 'tool', parts: [{ type: 'result', id: item.need('call_id', item.string), text: outputText(item) }] },
      ]
    case 'item_reference':
      return checkReference(item.need('id', item.string))
    default:
      return []
  }
}

function called(item: Fields, text: 'arguments' | 'input'): Turn {
  const name = item.need('name', item.string)
  const id = item.need('call_id', item.string)
  return { role: 'assistant', parts: [{ type: 'call', id, name, arguments: item.string(text) ?? '' }] }
}

function checkReference(id: string): readonly Turn[] {
  if (ITEM_PREFIXES.some(prefix => isStamped(prefix, id))) return []
  throw new SimulatorError(400, `Item with id '${id.slice(0, 100)}' not found.`, { param: 'input' })
}

function checkOutputs(items: readonly Fields[]): void {
  const known = new Set<string | undefined>()
  for (const item of items) {
    const id = item.string('call_id')
    if (!OUTPUTS.includes(item.string('type') ?? '')) known.add(id)
    else if (!known.has(id)) throw uncalled(id)
  }
}

function uncalled(id = ''): SimulatorError {
  const message = `No tool call found for function call output with call_id ${id.slice(0, 100)}.`
  return new SimulatorError(400, message, { param: 'input' })
}

function noInput(): SimulatorError {
  const message = "One of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided."
  return new SimulatorError(400, message, { code: 'missing_required_parameter' })
}
