import type { Counted, Left, MediaPart, TextPart } from './text.js'

/** The canonical model of embeddings. */
export interface EmbedRequest {
  readonly model: string
  readonly inputs: readonly EmbedInput[]
  readonly dimensions?: number
  /** How the client wants vectors written; upstreams are asked for numbers where they have a choice. */
  readonly encoding: 'float' | 'base64'
  /** What the vectors are for, in the words of the native protocol: `RETRIEVAL_QUERY`. */
  readonly task?: string
  readonly title?: string
  readonly user?: string
  readonly left: readonly Left[]
}

/** What one vector is made of: parts, or tokens of the model's own. */
export type EmbedInput =
  | { readonly parts: readonly (TextPart | MediaPart)[]; readonly at?: string }
  | { readonly tokens: readonly number[]; readonly at?: string }

export interface EmbedResult extends Counted {
  readonly model: string
  /** One for each input, in order. */
  readonly vectors: readonly (readonly number[])[]
}

export const EMBED_FIELDS = {
  inputs: 'Texts',
  tokenInputs: 'Inputs as tokens',
  mediaInputs: 'Images and other media beside text',
  dimensions: 'Dimensions of the vectors',
  encoding: 'Vectors in base64',
  task: 'What the vectors are for',
  title: 'Title of a document',
  user: 'End user',
} as const

export type EmbedField = keyof typeof EMBED_FIELDS
