import type { AnswerContext } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { Part, Seal } from '../../core/text.js'
import { stringOf } from '../read.js'
import { unwrapSeal, wrapSeal } from '../seal.js'
import { PROTOCOL } from './protocol.js'

/**
 * Other protocols seal texts and calls; here only thoughts have a place for a seal. Such a seal travels in a reasoning
 * item without a summary, next to its text or call: before it (`ahead`), or after it where it became known at the end.
 * The item's id says which, and clients send items back as they came.
 */
const IDS = { ahead: 'rs_ahead_', behind: 'rs_behind_' } as const
export type CarrierPlace = keyof typeof IDS

export function carrierItem(seal: Seal, place: CarrierPlace, newId: (prefix: string) => string): JsonObject {
  return { type: 'reasoning', id: newId(IDS[place]), summary: [], encrypted_content: wrapSeal(seal, PROTOCOL) }
}

/** Where the item carries a seal to; undefined where it is a thought. */
export function carrierPlace({ id }: JsonObject): CarrierPlace | undefined {
  if (typeof id !== 'string') return undefined
  if (id.startsWith(IDS.ahead)) return 'ahead'
  return id.startsWith(IDS.behind) ? 'behind' : undefined
}

export function carriedSeal(item: JsonObject): Seal | undefined {
  const sealed = stringOf(item.encrypted_content)
  return sealed === undefined || sealed === '' ? undefined : unwrapSeal(sealed, PROTOCOL)
}

export function isSealable({ type }: Part): boolean {
  return type === 'text' || type === 'call'
}

/** Says that a seal goes nowhere, where there is one and that is so. */
export function loseSeal(part: Part, seal: Seal | undefined, { lose }: AnswerContext): void {
  if (seal === undefined || part.type === 'reasoning' || isSealable(part)) return
  lose('seals', `what seals a part of the kind ${part.type} has no place here`)
}

/** Gathers parts, and puts the seals of carrier items onto what they stand next to. */
export class SealedParts {
  readonly parts: Part[] = []
  #ahead: Seal | undefined
  /** Place of the last part that a seal behind it goes onto. */
  #last = -1

  carry(item: JsonObject, place: CarrierPlace): void {
    const seal = carriedSeal(item)
    if (seal === undefined) return
    if (place === 'ahead') {
      this.#ahead = seal
      return
    }
    const part = this.parts[this.#last]
    if (part !== undefined) this.parts[this.#last] = { ...part, seal }
  }

  push(part: Part): void {
    const seal = isSealable(part) ? this.#ahead : undefined
    if (seal !== undefined) this.#ahead = undefined
    if (isSealable(part)) this.#last = this.parts.length
    this.parts.push(seal === undefined ? part : { ...part, seal })
  }
}
