/** Limits of a multipart body. Sizes in bytes. */
export interface MultipartLimits {
  /** Max parts of one body. */
  readonly parts: number
  /** Max size of one part's head, with the boundary line before it. */
  readonly head: number
  /** Max headers of one part. */
  readonly headers: number
}

/** Limits of a form, in bytes; a larger part is a file, or refused. */
export interface FormLimits extends MultipartLimits {
  /** Max size of one text field's value. */
  readonly field: number
  /** Max total size of all text fields' values. */
  readonly fields: number
}

/**
 * What is wrong with a multipart body:
 * - `content-type`: the request's header is of another type, or has no usable boundary;
 * - `boundary`: a boundary line is misplaced or continues with something else, or there is none at all;
 * - `line`: a line ends with LF or CR alone;
 * - `truncated`: the body ends before its closing boundary;
 * - `head`: a part's headers are malformed;
 * - `disposition`: a part's `content-disposition` is missing, malformed or ambiguous;
 * - `duplicate`: a control field occurs twice;
 * - `variant`: a field has a name that some reader takes for a control field's;
 * - `control`: a control field is not plain text;
 * - `value`: a field's new value cannot be written into this body;
 * - `limit`: the body is over a limit.
 */
export type MultipartRule =
  | 'content-type'
  | 'boundary'
  | 'line'
  | 'truncated'
  | 'head'
  | 'disposition'
  | 'duplicate'
  | 'variant'
  | 'control'
  | 'value'
  | 'limit'

interface MultipartDetails {
  /** Absolute byte offset. */
  readonly at?: number
  /** The control field at fault. */
  readonly name?: string
  /** The limit that was exceeded. */
  readonly limit?: keyof FormLimits
}

/** A multipart body cannot be read. The message is safe for clients: it contains no byte of the body. */
export class MultipartError extends Error {
  override readonly name = 'MultipartError'
  readonly rule: MultipartRule
  readonly at: number | undefined
  readonly field: string | undefined
  readonly limit: keyof FormLimits | undefined

  constructor(rule: MultipartRule, message: string, { at, name, limit }: MultipartDetails = {}) {
    super(at === undefined ? message : `${message} (at byte ${at})`)
    this.rule = rule
    this.at = at
    this.field = name
    this.limit = limit
  }
}
