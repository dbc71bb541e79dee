import type { Canvas } from './canvas.js'
import { jpeg } from './jpeg.js'
import { png } from './png.js'
import { webp } from './webp.js'

/** Red, green and blue, 0 to 255 each. */
export type Colour = readonly [red: number, green: number, blue: number]

export interface PictureOptions {
  readonly palette: readonly Colour[]
  /** Whether the first colour of the palette is not there at all; JPEG has no such thing. */
  readonly transparent: boolean
  /** Kept in the file where the format has a place for it. */
  readonly description: string
}

/** Ways to write a picture, by the names that requests have for them. */
export const IMAGE_FORMATS = { png, jpeg, webp } as const satisfies Record<
  string,
  (canvas: Canvas, options: PictureOptions) => Buffer
>

export type ImageFormat = keyof typeof IMAGE_FORMATS
