import type { Target } from '../../core/codec.js'
import type { ImageField, ImageRequest } from '../../core/image.js'

/** What a protocol can say of an image's shape: some aspect ratios, and about how many pixels a side has. */
export interface Shapes {
  readonly aspects: readonly string[]
  /** Names of resolutions and their side in pixels, the smallest first. It is what upstreams make where none is named. */
  readonly resolutions: readonly (readonly [name: string, side: number])[]
}

export interface Shape {
  readonly aspect?: string
  readonly resolution?: string
}

/** Two ratios are the same up to this: sizes in pixels are rounded. */
const RATIO_TOLERANCE = 0.01
/** A side that differs by more than this factor is another size. */
const MAX_SIZE_FACTOR = 1.45

/** Width by height of `16:9`; undefined where it is not one. */
export function ratioOf(aspect: string): number | undefined {
  const [, width = 0, height = 0] = /^(\d{1,4}):(\d{1,4})$/.exec(aspect)?.map(Number) ?? []
  return width > 0 && height > 0 ? width / height : undefined
}

/** The shape that comes nearest to the one that is asked for; says so where it is another one. */
export function shapeOf(request: ImageRequest, shapes: Shapes, target: Target<ImageField>): Shape {
  const { size, aspect, resolution } = request
  if (size === undefined) {
    return { ...(aspect !== undefined && { aspect }), ...(resolution !== undefined && { resolution }) }
  }
  const ratio = size.width / size.height
  const nearest = nearestAspect(ratio, shapes.aspects)
  const [first, ...larger] = shapes.resolutions
  const side = Math.sqrt(size.width * size.height)
  const [name, pixels] = larger.findLast(([, one]) => side > one / MAX_SIZE_FACTOR) ?? first ?? ['', side]
  const isFar = Math.max(side / pixels, pixels / side) > MAX_SIZE_FACTOR
  const isSame = Math.abs((ratioOf(nearest) ?? 1) / ratio - 1) <= RATIO_TOLERANCE
  target.lose('size', undefined, isSame && !isFar ? undefined : `the nearest is ${nearest} with sides of ${name}`)
  return { aspect: nearest, ...(name !== first?.[0] && { resolution: name }) }
}

function nearestAspect(ratio: number, aspects: readonly string[]): string {
  const distance = (aspect: string): number => Math.abs(Math.log((ratioOf(aspect) ?? 1) / ratio))
  return aspects.reduce((best, one) => (distance(one) < distance(best) ? one : best), '1:1')
}
