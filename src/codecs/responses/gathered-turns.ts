import type { JsonObject } from '../../core/json.js'
import type { Part, Seal, Turn } from '../../core/text.js'
import { type CarrierPlace, isSealable, sealOfItem } from './item-seals.js'

interface Gathering extends Turn {
  readonly parts: Part[]
}

/**
 * Makes turns of items: adjacent ones of the assistant are one (a thought, its text and its calls), and so
 * are results that do. The seals of carrier items go onto the texts and calls next to them.
 */
export class GatheredTurns {
  readonly turns: Gathering[] = []
  /** Whether the last turn is made of results. */
  #hasResults = false
  #ahead: Seal | undefined
  /** The text or call onto which a seal behind it goes. */
  #sealable: { readonly parts: Part[]; readonly index: number } | undefined

  carry(item: JsonObject, place: CarrierPlace): void {
    const seal = sealOfItem(item)
    if (place === 'ahead') this.#ahead = seal
    else if (seal !== undefined && this.#sealable !== undefined) {
      const { parts, index } = this.#sealable
      const part = parts[index]
      if (part !== undefined) parts[index] = { ...part, seal }
    }
  }

  add(item: Turn): void {
    if (item.parts.length === 0) return
    const isResults = item.parts.every(({ type }) => type === 'result')
    const last = this.turns.at(-1)
    const goesOn = last?.role === item.role && (item.role === 'assistant' || (isResults && this.#hasResults))
    const turn: Gathering = last !== undefined && goesOn ? last : { ...item, parts: [] }
    if (turn !== last) this.turns.push(turn)
    this.#hasResults = isResults
    for (const part of item.parts) this.part(turn, part)
    if (item.role === 'assistant') this.#ahead = undefined
  }

  private part({ role, parts }: Gathering, part: Part): void {
    if (role !== 'assistant' || !isSealable(part)) {
      parts.push(part)
      return
    }
    this.#sealable = { parts, index: parts.length }
    parts.push(this.#ahead === undefined ? part : { ...part, seal: this.#ahead })
    this.#ahead = undefined
  }
}
