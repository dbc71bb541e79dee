import type { Json } from './json.js'
import type { Counted, Left } from './text.js'

/** The canonical model of reranking: documents in the order of their relevance to a query. */
export interface RerankRequest {
  readonly model: string
  readonly query: string
  readonly documents: readonly RankedDocument[]
  /** Number of results that the client wants; all of them where it does not say. */
  readonly top?: number
  /** Whether results repeat their documents. The gateway puts them there itself, so no upstream is asked to. */
  readonly returnDocuments: boolean
  /** Token limit of each document. */
  readonly documentTokens?: number
  /** Whether long input is truncated; otherwise it is an error. */
  readonly truncation?: boolean
  /** Lower numbers are served first. */
  readonly priority?: number
  readonly left: readonly Left[]
}

export interface RankedDocument {
  /** What is ranked; undefined where it is an image. */
  readonly text: string | undefined
  /** An image's URL, `data:` URL or bare base64. */
  readonly image?: string
  /** As the client wrote it, and as it gets it back: an object. Undefined for a plain text. */
  readonly own?: Json
}

export interface RerankResult extends Counted {
  readonly model: string
  readonly id?: string
  /** Best first; each document once at most. */
  readonly ranks: readonly Rank[]
  /** What some upstreams bill instead of tokens. */
  readonly searchUnits?: number
}

export interface Rank {
  /** Place of the document in the request. */
  readonly index: number
  readonly score: number
}

export const RERANK_FIELDS = {
  query: 'Query',
  documents: 'Documents of text',
  imageDocuments: 'Documents that are images',
  top: 'Number of results',
  returnDocuments: 'Documents in the results',
  documentTokens: 'Token limit of a document',
  truncation: 'Truncation of long input',
  priority: 'Priority',
} as const

export type RerankField = keyof typeof RERANK_FIELDS
