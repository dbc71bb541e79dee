import { createHash, randomBytes } from 'node:crypto'

/** 112 random bits: nobody guesses the id of another caller's response. */
const ID_BYTES = 14
/** Hex digits by which an id is known to be ours; other servers make ids of the same form. */
const MARK_DIGITS = 4

/** `prefix` and 32 hex digits. */
export function newId(prefix: string): string {
  return prefix + marked(randomBytes(ID_BYTES).toString('hex'))
}

/** Whether an id was made here, now or before: what nobody has of those is gone. */
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
 * it need not be kept.
 */
export function derivedId(type: string, response: string, index: number): string {
  const digest = createHash('sha256').update(`${response}:${index}`).digest('hex')
  return (PREFIXES[type] ?? 'item_') + marked(digest.slice(0, ID_BYTES * 2))
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
