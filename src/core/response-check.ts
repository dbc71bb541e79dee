/** What the whole JSON answers of a route must be like. */
export interface ResponseCheck {
  /** Name of the schema. */
  readonly schema: string
  /** Which share of them is checked, from 0 to 1. */
  readonly share: number
}
