import type { Seed } from '../seed.js'
import { drawCard } from './card.js'
import type { ImageFormat } from './formats.js'
import type { Pixels } from './shapes.js'

/** What an image costs, in tokens, whatever its size. */
export const PICTURE_TOKENS = 1290

/** A card with the prompt on it, as base64 of a file: what models of texts make when they are asked for an image. */
export function picture(
  model: string,
  prompt: string,
  { width, height }: Pixels,
  seed: Seed,
  format: ImageFormat = 'png',
): string {
  const note = `${model} ${width}x${height}`
  return drawCard({ width, height, prompt, note, share: 1, transparent: false, seed }, format).toString('base64')
}
