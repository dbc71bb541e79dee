/** Bounds of a multipart body. Sizes in bytes. */
export interface MultipartLimits {
  /** Most parts of one body. */
  readonly parts: number
  /** One part's head, with the boundary line before it. */
  readonly head: number
  /** Most headers of one part. */
  readonly headers: number
}

/** Bounds of a form; what is over them is a file, or refused. */
export interface FormLimits extends MultipartLimits {
  /** The value of one text field. */
  readonly field: number
  /** The values of all text fields together. */
  readonly fields: number
}

/**
 * What is wrong with a multipart body:
 * - `content-type`: the request's header is of another type, or has no boundary that could be used;
 * - `boundary`: a line with the boundary stands where none may, goes on with something else, or there is none at all;
 * - `line`: a line ends with LF or CR alone;
 * - `truncated`: the body ends before its closing boundary;
 * - `head`: a part's headers are malformed;
 * - `disposition`: a part's `content-disposition` is missing, malformed, or can be read in several ways;
 * - `duplicate`: a control field stands twice;
 * - `variant`: a field has a name that some reader takes for a control field's;
 * - `control`: a control field is no plain text;
 * - `value`: a new value of a field cannot be written into this body;
 * - `limit`: the body is over a bound.
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
  /** Absolute offset in bytes. */
  readonly at?: number
  /** The control field at fault. */
  readonly name?: string
  /** The bound that was met. */
  readonly limit?: keyof FormLimits
}

/** A multipart body cannot be read. The message is fit for clients: it holds no byte of the body. */
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
