import type { FormTransform, Transform } from './transform.js'

/** A dotted path, taken apart. */
type Path = readonly string[]

/** The places of a request beside its body. */
export type Beside = 'path' | 'query' | 'header'

/** A value of the body that goes to another place of the upstream's request. */
export interface SentValue {
  readonly path: Path
  readonly to: Beside
  /** Of the parameter, or of the header in lower case. */
  readonly name: string
}

/** A value of the client's request that goes into the body. */
export interface TakenValue {
  readonly from: Beside
  readonly name: string
  readonly path: Path
}

/** How a form becomes a JSON object: its files are data URLs, or base64 alone. */
export type FormsAs = 'json' | 'json-base64'

/**
 * The format of a body that is not sent unchanged: a form, URL-encoded fields, or the bytes of one member or file. The other
 * way round, bytes that clients send are in a member of a JSON object: as base64, or as a data URL.
 */
export type BodyFormat =
  | 'form'
  | 'urlencoded'
  | { readonly bytes: string }
  | { readonly base64: string }
  | { readonly data_url: string }

/** The bytes of a value of a JSON answer are the whole answer, or bytes become the one member of a JSON object. */
export type AnswerFormat =
  | {
      readonly bytes: string
      /** Absent: base64. */
      readonly encoding?: 'base64' | 'hex'
      readonly type: string
      /** A member of the client's request, and the content type for each of its values. */
      readonly types?: Readonly<Record<string, Readonly<Record<string, string>>>>
    }
  | { readonly base64: string; readonly bytes?: undefined }

/** What of a request is moved between its body and its other places, beside the verbs that change the document. */
export interface RequestShape {
  /** Before all verbs. */
  readonly taken: readonly TakenValue[]
  /** After all verbs. */
  readonly sent: readonly SentValue[]
  /** Absent: JSON stays JSON, and a form a form. */
  readonly body?: BodyFormat
}

/** What declared verbs make of requests and answers. */
export interface ExchangeChanges {
  readonly request: Transform | undefined
  readonly shape?: RequestShape
  /** The verbs of `request` for forms; only on routes that take them. */
  readonly form: FormTransform | undefined
  readonly response: Transform | undefined
}
