export interface Pixels {
  readonly width: number
  readonly height: number
}

/** Red, green and blue, 0 to 255 each. */
export type Colour = readonly [red: number, green: number, blue: number]

/** What stands for a generated image: a file of the right format and size, with a colour of its own and the prompt in it. */
export interface Picture extends Pixels {
  /** One, or four of a grid. */
  readonly colours: readonly [Colour, ...Colour[]]
  /** How much of it is done, from 0 to 1. */
  readonly share: number
  readonly transparent: boolean
  /** The prompt; WebP files do without. */
  readonly description: string
}

const SIDES: Readonly<Record<string, number>> = { '1K': 1024, '2K': 2048 }
/** Of all images of an answer together: drawing takes time from everybody else in the process. */
export const MAX_PIXELS = 10 * 1024 * 1024

export const RESOLUTIONS: readonly string[] = Object.keys(SIDES)

/** Width and height of an image of this shape, in whole steps of 16 pixels; nothing where there is no such shape. */
export function pixelsOf(aspect = '1:1', resolution = '1K'): Pixels | undefined {
  const [, wide = 0, high = 0] = /^(\d{1,2}):(\d{1,2})$/.exec(aspect)?.map(Number) ?? []
  const side = Object.hasOwn(SIDES, resolution) ? SIDES[resolution] : undefined
  if (side === undefined || wide < 1 || high < 1 || Math.max(wide / high, high / wide) > 8) return undefined
  const ratio = Math.sqrt(wide / high)
  return { width: step(side * ratio), height: step(side / ratio) }
}

function step(pixels: number): number {
  return Math.round(pixels / 16) * 16
}
