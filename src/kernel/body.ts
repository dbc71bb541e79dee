import type { Spool } from '../stores/spool.js'
import type { Edit } from '../wire/json-splice.js'
import type { ReadForm } from '../wire/multipart-changes.js'

/** A form, held whole beside the request, so that another target may be tried. */
export interface FormBody {
  readonly type: 'form'
  readonly spool: Spool
  readonly form: ReadForm
  /** What request schemas are told of it. */
  readonly document: Readonly<Record<string, unknown>>
  /** The value of a text field. */
  readonly value: (name: string) => string | undefined
}

/** The request's body, as far as it had to be read to decide what happens. */
export type Body =
  | { readonly type: 'none' }
  | HeldBody
  | FormBody
  /** Streamed to the upstream as it comes; nobody looks at it. */
  | { readonly type: 'stream' }

/** Held whole, so that another target may be tried. */
export interface HeldBody {
  readonly type: 'bytes'
  readonly bytes: Buffer
  /** What it takes as objects, in bytes of heap at most; absent: nothing but its size is known. */
  readonly heap?: number
  /** Where the model's name stands, if it has been found on the way. */
  readonly model: Span | undefined
  /** False where somebody has looked and it names nothing that upstreams keep. */
  readonly named?: boolean
  /** False where somebody has looked and the route's rules are about none of its members. */
  readonly ruled?: boolean
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** What goes out otherwise than it came, for one exchange, because it names models or says where the request is to go. */
export interface MemberChanges {
  readonly edits: readonly Edit[]
  /** Fields of forms by the names that clients wrote: their new text, or undefined where they are taken out. */
  readonly fields: ReadonlyMap<string, string | undefined>
  /** Parameters of the query that stay here. */
  readonly query: ReadonlySet<string>
  /** Client's names of what is taken out. */
  readonly dropped: readonly string[]
}
