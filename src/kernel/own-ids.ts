import { createHash, randomBytes } from 'node:crypto'

/** 112 random bits: the ids of other callers' responses cannot be guessed. */
const ID_BYTES = 14
/** Hex digits that mark an id as the gateway's; other servers make ids of the same form. */
const MARK_DIGITS = 4

/** `prefix` and 32 hex digits. */
export function newId(prefix: string): string {
  return prefix + marked(randomBytes(ID_BYTES).toString('hex'))
}

/** Whether the gateway made this id: if so and it is not stored, it is gone. */
export function isOwnId(id: string): boolean {
  const digits = OWN.exec(id)?.[1]
  return digits !== undefined && marked(digits.slice(0, -MARK_DIGITS)) === digits
}

const OWN = /^[a-z]+_([0-9a-f]{32})$/

function marked(digits: string): string {
  return digits + createHash('sha256').update(digits).digest('hex').slice(0, MARK_DIGITS)
}

/**
 * The id of an item that its client sent without one: always the same for the same place in the same request, so that
 * it need not be stored.
 */
export function derivedId(type: string, response: string, index: number): string {
  const digest = createHash('sha256').update(`${response}:${index}`).digest('hex')
  return (PREFIXES[type] ?? 'item_') + marked(digest.slice(0, ID_BYTES * 2))
}

/** A new id for an item that its client sent without one; it is stored with the item. */
export function itemId(type: string): string {
  return newId(PREFIXES[type] ?? 'item_')
}

/** The prefixes that clients expect. */
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  function_call: 'fc_',
  function_call_output: 'fco_',
  custom_tool_call: 'ctc_',
  custom_tool_call_output: 'ctco_',
  reasoning: 'rs_',
}
