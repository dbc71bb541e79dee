import type { Traits } from '../core/codec.js'
import type { EmbedInput } from '../core/embed.js'
import type { Carry } from '../core/fields.js'

/** What becomes of media where the model has no trait `image_inputs`: a text model would embed something else than was asked. */
export const NOT_DECLARED: Carry = {
  refused: 'the model is declared to embed only texts (trait image_inputs)',
}

export function isDeclared({ image_inputs }: Traits): boolean {
  return image_inputs !== undefined
}

export function holdsMedia(input: EmbedInput): boolean {
  return 'parts' in input && input.parts.some(({ type }) => type === 'media')
}
