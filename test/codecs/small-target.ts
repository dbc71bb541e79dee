import type { DocumentAnswer, Target, Traits } from '../../src/core/codec.js'
import { GatewayError } from '../../src/core/errors.js'
import type { Carry } from '../../src/core/fields.js'

/** What answers are given that their upstream did not give. */
export const MADE_UP: DocumentAnswer = { newId: prefix => `${prefix}made-up`, now: 1_735_689_600 }

/** A target of a small operation: it notes what is lost, and refuses what the codec's table says is refused. */
export function smallTarget<F extends string>(
  carries: Readonly<Record<F, Carry>>,
  traits: Traits = {},
): { readonly target: Target<F>; readonly lost: string[] } {
  const lost: string[] = []
  const target: Target<F> = {
    model: 'm',
    traits,
    lose(field, at, why) {
      const carry = carries[field]
      if (typeof carry === 'object' && 'refused' in carry)
        throw new GatewayError('untranslatable', why ?? carry.refused, { param: at ?? field })
      lost.push(field)
    },
  }
  return { target, lost }
}
