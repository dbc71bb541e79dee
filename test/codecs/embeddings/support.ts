import type { EmbedCodec, Target, Traits } from '../../../src/core/codec.js'
import type { EmbedField } from '../../../src/core/embed.js'
import { GatewayError } from '../../../src/core/errors.js'

export interface EmbedTarget extends Target<EmbedField> {
  readonly lost: EmbedField[]
}

/** A target that notes what is lost, and refuses what the codec's table says is refused. */
export function embedTarget(codec: EmbedCodec, traits: Traits = {}): EmbedTarget {
  const lost: EmbedField[] = []
  return {
    model: 'upstream-model',
    traits,
    lost,
    lose(field, at) {
      const carry = codec.client.carries[field]
      if (typeof carry === 'object' && 'refused' in carry)
        throw new GatewayError('untranslatable', carry.refused, { param: at ?? field })
      lost.push(field)
    },
  }
}
