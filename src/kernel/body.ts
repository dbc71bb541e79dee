import type { Demand } from '../core/amounts.js'
import type { JsonObject } from '../core/json.js'
import type { Spool } from '../stores/spool.js'
import type { Edit } from '../wire/json-splice.js'
import type { ReadForm } from '../wire/multipart-changes.js'
import type { SoundFile } from '../wire/sound.js'

/** A form, spooled beside the request, so that another target may be tried. */
export interface FormBody {
  readonly type: 'form'
  readonly spool: Spool
  readonly form: ReadForm
  /** The form as request schemas see it. */
  readonly document: Readonly<Record<string, unknown>>
  readonly files: readonly SoundFile[]
  readonly fields: readonly { readonly name: string; readonly value: string | undefined }[]
  /** The value of a text field. */
  readonly value: (name: string) => string | undefined
}

/** The request's body, read only to the extent that routing needs. */
export type Body =
  | { readonly type: 'none' }
  | HeldBody
  | FormBody
  /** Streamed to the upstream as it arrives, unread. */
  | { readonly type: 'stream' }

/** In memory as a whole, so that another target may be tried. */
export interface HeldBody {
  readonly type: 'bytes'
  readonly bytes: Buffer
  /** Maximum heap as objects, bytes; absent if only its size is known. */
  readonly heap?: number
  /** Position of the model's name, if the scan found it. */
  readonly model: Span | undefined
  /** False if a check found no references to resources of upstreams. */
  readonly named?: boolean
  /** False if a check found no members that the route's rules concern. */
  readonly ruled?: boolean
  /** What the request asks for, if the plan counts that and the body's check has found it. */
  readonly demand?: Demand | undefined
  /** The client sent another format: its content type is not that of these bytes. */
  readonly made?: true
  /** What the bytes say, if they are few and were parsed as a whole. */
  readonly document?: JsonObject | undefined
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** Changes of a request for one exchange: members that name models or decide where the request goes. */
export interface MemberChanges {
  readonly edits: readonly Edit[]
  /** Form fields by the client's names: their new text, or undefined if they are removed. */
  readonly fields: ReadonlyMap<string, string | undefined>
  /** Query parameters that are not sent upstream. */
  readonly query: ReadonlySet<string>
  /** Client's names of removed members. */
  readonly dropped: readonly string[]
}
