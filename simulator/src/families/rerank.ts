import type { Family } from '../errors.js'
import { compatible } from './compatible.js'

/** The family of the second version of reranking: `{ id, message }`, in the words of the compatible one. */
export const rerankErrors: Family = {
  body: ({ message }, requestId) => ({ id: requestId, message }),
  usual: compatible.usual,
  headers: requestId => ({ 'x-request-id': requestId }),
}
