/** An answer that came whole. */
export interface Whole {
  readonly status: number
  readonly type: string
  readonly id: string | undefined
  /** Of JSON. */
  readonly data: unknown
  /** The address of other content, in this page. */
  readonly url: string | undefined
}
