/** What a schema finds wrong in a request's body. */
export interface Violation {
  /** As clients write it: `messages[3].role`; empty for the whole body. */
  readonly param: string
  readonly message: string
  readonly rule: 'required' | 'type' | 'enum' | 'range' | 'length' | 'unknown' | 'other'
}
