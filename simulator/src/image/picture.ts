import type { Seed } from '../seed.js'
import { jpeg } from './jpeg.js'
import { png } from './png.js'
import type { Colour, Picture, Pixels } from './shapes.js'
import { webp } from './webp.js'

/** Ways to write a picture, by the names that requests have for them. */
export const IMAGE_FORMATS = { png, jpeg, webp } as const satisfies Record<string, (picture: Picture) => Buffer>

export type ImageFormat = keyof typeof IMAGE_FORMATS

/** Tokens of an image of any size. */
export const PICTURE_TOKENS = 1290

const COLOURS: readonly [Colour, ...Colour[]] = [
  [0x2f, 0x6f, 0x9f],
  [0x9f, 0x4a, 0x2f],
  [0x3f, 0x7f, 0x4f],
  [0x7a, 0x4f, 0x8f],
  [0xa0, 0x7a, 0x20],
]

/** The colour of a seed's picture, or of one of its panels: no two of five have the same. */
export function colourOf(seed: Seed, panel = 0): Colour {
  return COLOURS[(seed.below(COLOURS.length) + panel) % COLOURS.length] ?? COLOURS[0]
}

/** A whole picture as base64 of a file: what models of texts make when they are asked for an image. */
export function picture(description: string, size: Pixels, seed: Seed, format: ImageFormat = 'png'): string {
  const whole = { ...size, colours: [colourOf(seed)], share: 1, transparent: false, description } as const
  return IMAGE_FORMATS[format](whole).toString('base64')
}
