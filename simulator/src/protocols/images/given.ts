import { missing, wrongValue } from '../../families/refusals.js'
import type { FormFile } from '../../form.js'
import { type Measured, measure } from '../../image/measure.js'
import type { Call } from '../../protocol.js'

/** The sides of images that are made. */
const SIDES = { min: 64, max: 2048 }
const MAX_INPUT_IMAGES = 16

/** The files of a name, measured. Throws where one of them is no picture, or there are none or too many. */
export function picturesOf(files: readonly FormFile[], name: string): readonly Measured[] {
  const found = files.filter(file => file.name === name)
  if (found.length === 0) throw missing(name)
  if (found.length > MAX_INPUT_IMAGES)
    throw wrongValue(name, `Invalid '${name}': at most ${MAX_INPUT_IMAGES} images are taken.`)
  return found.map(({ bytes }) => pictureOf(bytes, name))
}

/** Throws where the bytes are no picture. */
export function pictureOf(bytes: Buffer, param: string): Measured {
  if (bytes.length === 0) throw wrongValue(param, `Invalid file '${param}': it is empty.`)
  const measured = measure(bytes)
  if (measured !== undefined) return measured
  throw wrongValue(param, `Invalid file '${param}': unsupported format. Supported file formats are PNG, JPEG and WebP.`)
}

/** Throws where the mask does not lie on the picture. */
export function checkMask(mask: Measured | undefined, picture: Measured): void {
  if (mask === undefined || (mask.width === picture.width && mask.height === picture.height)) return
  throw wrongValue(
    'mask',
    `Invalid mask image: its size (${text(mask)}) has to be that of the first image (${text(picture)}).`,
  )
}

/** The size of the answer where none is asked for: the picture's, as far as images may have it. */
export function sizeOf({ width, height }: Measured): string {
  const side = (length: number): number => Math.max(SIDES.min, Math.min(SIDES.max, length))
  return `${side(width)}x${side(height)}`
}

export function inputDescriptions(pictures: readonly Measured[], mask?: Measured): readonly string[] {
  return [...pictures.map(each => `${each.format} ${text(each)}`), ...(mask === undefined ? [] : ['a mask'])]
}

function text({ width, height }: Measured): string {
  return `${width}x${height}`
}

/** Throws where a file stands under a name that nobody reads. */
export function onlyFiles({ files = [] }: Pick<Call, 'files'>, names: readonly string[]): readonly FormFile[] {
  const stranger = files.find(file => !names.includes(file.name))
  if (stranger === undefined) return files
  throw wrongValue(stranger.name, `Unexpected file in the field '${stranger.name.slice(0, 100)}'.`)
}
