import type { JsonObject } from './json.js'
import type { Counted, Left, MediaPart } from './text.js'

/** The canonical model of image generation: images made from a text. */
export interface ImageRequest {
  readonly model: string
  readonly prompt: string
  /** Whether the client wants each image as an event. */
  readonly stream: boolean
  /** How many images; 1 where it is not given. */
  readonly count?: number
  /** Pixels. */
  readonly size?: Size
  /** `16:9`, where the client tells the shape and not the pixels. */
  readonly aspect?: string
  /** `1K`, `2K`, `4K`: about how many pixels a side has. */
  readonly resolution?: string
  /** True: addresses are wanted, not bytes. */
  readonly urls?: boolean
  readonly quality?: string
  readonly style?: string
  readonly background?: string
  /** `image/png`. */
  readonly mime?: string
  /** Percent. */
  readonly compression?: number
  readonly moderation?: string
  /** Partial images that a stream shows before each whole one. */
  readonly partials?: number
  /** Negative prompt. */
  readonly negative?: string
  readonly seed?: number
  readonly user?: string
  readonly left: readonly Left[]
}

/** A request to make images of others: changed, or put together, as the prompt says. */
export interface EditRequest extends ImageRequest {
  /** At least one. */
  readonly images: readonly MediaPart[]
  /** An image that tells where the first one should be changed. */
  readonly mask?: MediaPart
  /** How closely the images are followed. */
  readonly fidelity?: string
  /** Members that are unknown here, for servers of the client's own protocol. */
  readonly others?: JsonObject
}

export interface Size {
  readonly width: number
  readonly height: number
}

export interface ImageResult extends Counted {
  /** Seconds since the epoch. */
  readonly created?: number
  /** At least one. */
  readonly images: readonly MadeImage[]
}

/** Bytes, or the address of an image. */
export interface MadeImage {
  readonly source: { readonly base64: string } | { readonly url: string }
  /** `image/png`; absent where the upstream does not say. */
  readonly mime?: string
  /** The prompt as the upstream wrote it anew. */
  readonly prompt?: string
}

export const IMAGE_FIELDS = {
  prompt: 'Prompt',
  count: 'Several images',
  size: 'Size in pixels',
  aspect: 'Aspect ratio',
  resolution: 'Resolution',
  urls: 'URLs instead of bytes',
  quality: 'Quality',
  style: 'Style',
  background: 'Background',
  mime: 'File format',
  compression: 'Compression',
  moderation: 'Strictness of moderation',
  partials: 'Partial images',
  negative: 'Negative prompt',
  seed: 'Seed',
  user: 'End user',
} as const

export type ImageField = keyof typeof IMAGE_FIELDS

export const EDIT_FIELDS = {
  ...IMAGE_FIELDS,
  images: 'Images to be edited',
  imageFiles: 'Images by the id of a file',
  mask: 'Mask',
  fidelity: 'Fidelity to the images',
} as const

export type EditField = keyof typeof EDIT_FIELDS
