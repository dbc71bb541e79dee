import type { Secret } from '../../core/secret.js'
import type { Egress } from '../../net/egress.js'

/** What names the state of a document, for the next request. */
export interface Tag {
  /** An entity tag, or a commit. */
  readonly etag?: string
  readonly modified?: string
}

export interface Fetched {
  readonly bytes: Buffer
  readonly tag: Tag
  readonly signature?: Buffer
}

/** Where a document is, and how it is asked for. */
export interface Place {
  readonly address: string
  /** The header for its server. */
  readonly authorization?: Secret
  /** Headers that sign a request for such an address, instead. */
  readonly sign?: (address: string) => Promise<Readonly<Record<string, string>>>
  readonly egress: Egress
  readonly timeoutMs: number
  /** Whether a signature must be beside it, under its name and `.sig`. */
  readonly isSigned: boolean
}

/** The document, or undefined where it is still the one of `tag`. Rejects with `SourceFault`. */
export type Fetch = (place: Place, tag: Tag) => Promise<Fetched | undefined>

/** Largest signature, bytes: base64 and a line end. */
export const MAX_SIGNATURE_BYTES = 1024
