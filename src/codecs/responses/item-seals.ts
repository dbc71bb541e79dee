import type { AnswerContext } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { Part, Seal } from '../../core/text.js'
import { stringOf } from '../read.js'
import { unwrapSeal, wrapSeal } from '../seal.js'
import { PROTOCOL } from './protocol.js'

/**
 * Other protocols seal texts and calls; here only thoughts have a place for a seal. Such a seal travels in the item that it
 * belongs to, in a member named as that of thoughts: a reasoning item of its own would be shown as an empty thought.
 */
export function sealedItem(item: JsonObject, seal: Seal | undefined): JsonObject {
  return seal === undefined ? item : { ...item, encrypted_content: wrapSeal(seal, PROTOCOL) }
}

/** The seal that an item holds. */
export function sealOfItem(item: JsonObject): Seal | undefined {
  const sealed = stringOf(item.encrypted_content)
  return sealed === undefined || sealed === '' ? undefined : unwrapSeal(sealed, PROTOCOL)
}

/** The parts of an item with its seal, which is that of the last text or call among them. */
export function onto<P extends Part>(parts: readonly P[], seal: Seal | undefined): P[] {
  const last = seal === undefined ? -1 : parts.findLastIndex(isSealable)
  return parts.map((part, i) => (i === last && seal !== undefined ? { ...part, seal } : part))
}

/**
 * Histories that clients kept may hold seals in items of their own, as the gateway wrote them once: reasoning items without
 * a summary before their text or call (`ahead`), or after it.
 */
const IDS = { ahead: 'rs_ahead_', behind: 'rs_behind_' } as const
export type CarrierPlace = keyof typeof IDS

/** Where the item carries a seal to; undefined where it is a thought. */
export function carrierPlace({ id }: JsonObject): CarrierPlace | undefined {
  if (typeof id !== 'string') return undefined
  if (id.startsWith(IDS.ahead)) return 'ahead'
  return id.startsWith(IDS.behind) ? 'behind' : undefined
}

export function isSealable({ type }: Part): boolean {
  return type === 'text' || type === 'call'
}

/** Says that a seal goes nowhere, where there is one and that is so. */
export function loseSeal(part: Part, seal: Seal | undefined, { lose }: AnswerContext): void {
  if (seal === undefined || part.type === 'reasoning' || isSealable(part)) return
  lose('seals', `the seal of a ${part.type} part cannot be used here`)
}
