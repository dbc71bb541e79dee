import { createHash, randomBytes } from 'node:crypto'

/** 128 random bits: nobody guesses the id of another caller's response. */
const ID_BYTES = 16

/** `prefix` and 32 hex digits. */
export function newId(prefix: string): string {
  return prefix + randomBytes(ID_BYTES).toString('hex')
}

/**
 * The id of an item that its client sent without one: always the same for the same place in the same request, so that
 * it need not be kept.
 */
export function derivedId(type: string, response: string, index: number): string {
  const digest = createHash('sha256').update(`${response}:${index}`).digest('hex')
  return (PREFIXES[type] ?? 'item_') + digest.slice(0, ID_BYTES * 2)
}

/** The id of an item that its client sent without one, where it is kept with the item. */
export function itemId(type: string): string {
  return newId(PREFIXES[type] ?? 'item_')
}

/** What clients expect ids to begin with. */
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  function_call: 'fc_',
  function_call_output: 'fco_',
  custom_tool_call: 'ctc_',
  custom_tool_call_output: 'ctco_',
  reasoning: 'rs_',
}
