import { Buffer } from 'node:buffer'
import type { Traits } from '../core/codec.js'
import type { EmbedInput } from '../core/embed.js'
import type { Carry } from '../core/fields.js'
import type { Json } from '../core/json.js'
import { badUpstream } from './read.js'

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

const FLOAT_BYTES = 4

/** A vector as base64 of little-endian 32-bit floats, which is what clients of the compatible protocol ask for. */
export function toBase64(vector: readonly number[]): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * FLOAT_BYTES))
  for (let i = 0; i < vector.length; i++) bytes.setFloat32(i * FLOAT_BYTES, vector[i] ?? 0, true)
  return Buffer.from(bytes.buffer).toString('base64')
}

/**
 * A vector as an upstream wrote it: numbers, or base64 of little-endian 32-bit floats. Some servers put other numbers
 * into base64, which shows where the length that was asked for is known. Throws `bad_upstream_response`.
 */
export function readVector(value: Json | undefined, dimensions?: number): readonly number[] {
  const vector = typeof value === 'string' ? fromBase64(value, dimensions) : value
  if (!Array.isArray(vector) || vector.length === 0) throw badUpstream('A vector is missing.')
  if (!vector.every(one => Number.isFinite(one))) throw badUpstream('A vector contains something other than numbers.')
  return vector as readonly number[]
}

function fromBase64(text: string, dimensions: number | undefined): number[] {
  const bytes = Buffer.from(text, 'base64')
  const fits =
    bytes.length % FLOAT_BYTES === 0 && (dimensions === undefined || bytes.length === dimensions * FLOAT_BYTES)
  if (!fits) throw badUpstream('A vector is not a sequence of 32-bit floats.')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, i) => view.getFloat32(i * FLOAT_BYTES, true))
}

/** As many vectors as inputs, or `bad_upstream_response`. */
export function countVectors<V>(vectors: readonly V[], inputs: number): readonly V[] {
  if (vectors.length !== inputs) throw badUpstream(`It has ${vectors.length} vectors for ${inputs} inputs.`)
  return vectors
}
