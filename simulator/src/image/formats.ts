import type { Canvas, PictureOptions } from './canvas.js'
import { jpeg } from './jpeg.js'
import { png } from './png.js'
import { webp } from './webp.js'

/** Ways to write a picture, by the names that requests have for them. */
export const IMAGE_FORMATS = { png, jpeg, webp } as const satisfies Record<
  string,
  (canvas: Canvas, options: PictureOptions) => Buffer
>

export type ImageFormat = keyof typeof IMAGE_FORMATS
