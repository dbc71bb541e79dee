import type { EmbedField } from '../../core/embed.js'
import type { Carry, FieldMapping } from '../../core/fields.js'
import { NOT_DECLARED } from '../embed-media.js'

/** Members of a request, by the protocol's reference (CreateEmbeddingRequest), and what compatible clients add. */
export const EMBEDDINGS_FIELDS: Readonly<Record<string, FieldMapping<EmbedField>>> = {
  model: { here: 'chooses the model' },
  input: ['inputs', 'tokenInputs', 'mediaInputs'],
  encoding_format: 'encoding',
  dimensions: 'dimensions',
  output_dimension: 'dimensions',
  task: 'task',
  input_type: 'task',
  user: 'user',
}

export const EMBEDDINGS_CARRIES: Readonly<Record<EmbedField, Carry>> = {
  inputs: 'carried',
  tokenInputs: 'carried',
  mediaInputs: NOT_DECLARED,
  dimensions: 'carried',
  encoding: 'carried',
  task: { dropped: 'the protocol has no such member' },
  title: { dropped: 'the protocol has no such member' },
  user: 'carried',
}
