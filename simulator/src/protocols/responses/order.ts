import { SimulatorError } from '../../errors.js'
import type { JsonObject } from '../../json.js'
import type { Memory } from '../../memory.js'
import { isSealed, type Purpose } from '../../seals.js'
import { isStamped } from '../../seed.js'

const OUTPUTS: readonly unknown[] = ['function_call_output', 'custom_tool_call_output']
const CALLS: readonly unknown[] = ['function_call', 'custom_tool_call']
/** Ids that the simulator gives, whether they may be referred to or not. */
const OURS = /^rs_[0-9a-f]{48}$/

/** Throws where a call has no output or an output no call, in the order of the items. */
export function checkCalls(items: readonly JsonObject[]): void {
  const open = new Set<unknown>()
  const known = new Set<unknown>()
  for (const { type, call_id: id } of items) {
    if (OUTPUTS.includes(type)) {
      if (!known.has(id)) throw refused(`No tool call found for function call output with call_id ${short(id)}.`)
      open.delete(id)
    } else if (id !== undefined) {
      known.add(id)
      if (CALLS.includes(type)) open.add(id)
    }
  }
  const [first] = open
  if (open.size > 0) throw refused(`No tool output found for function call ${short(first)}.`)
}

/**
 * Throws if reasoning comes alone, has a foreign seal, or is no longer known; and where an item comes
 * without the reasoning that led to it. `items` holds all, `own` those of this request.
 */
export function checkReasoning(items: readonly JsonObject[], own: readonly JsonObject[], memory: Memory): void {
  const ids = new Set(items.map(item => item.id))
  for (const item of own) {
    checkSeal(item)
    const needs = typeof item.id === 'string' ? memory.item(item.id)?.needs : undefined
    if (needs !== undefined && !ids.has(needs)) throw lacking(item, `its required 'reasoning' item: '${needs}'.`)
  }
  for (const [at, item] of items.entries()) {
    if (item.type !== 'reasoning') continue
    const next = items.slice(at + 1).find(({ type }) => type !== 'reasoning')
    if (next === undefined || !isAnswer(next)) throw lacking(item, 'its required following item.')
  }
}

const PURPOSES: Readonly<Record<string, Purpose>> = {
  reasoning: 'responses.reasoning',
  compaction: 'responses.compaction',
}

function checkSeal({ id, type, encrypted_content: sealed }: JsonObject): void {
  const purpose = PURPOSES[String(type)]
  if (purpose === undefined) return
  if (typeof sealed === 'string') {
    if (isSealed(purpose, sealed)) return
    const message = `The encrypted content for item ${short(id)} could not be verified.`
    throw new SimulatorError(400, message, { code: 'invalid_encrypted_content' })
  }
  if (type === 'reasoning' && typeof id === 'string' && OURS.test(id) && !isStamped('rs_', id)) throw notStored(id)
}

/** What the model makes itself: a message, or a call of any tool. */
function isAnswer({ type, role }: JsonObject): boolean {
  if (type === undefined || type === 'message') return role === 'assistant'
  return String(type).endsWith('_call') || type === 'item_reference' || type === 'mcp_approval_request'
}

function lacking({ id, type }: JsonObject, what: string): SimulatorError {
  return refused(`Item '${short(id)}' of type '${short(type)}' was provided without ${what}`)
}

function notStored(id: string): SimulatorError {
  const message =
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` ` +
    'set to true, or remove this item from your input.'
  return new SimulatorError(404, message, { param: 'input' })
}

function refused(message: string): SimulatorError {
  return new SimulatorError(400, message, { param: 'input' })
}

function short(value: unknown): string {
  return String(value ?? '').slice(0, 100)
}
