/** How vectors are written: as numbers, or as base64 of little-endian 32-bit floats. */
export type VectorForm = 'float' | 'base64'

/** Where answers hold vectors, and which members of requests say how these are written. */
export interface VectorRule {
  /** Path, split; `*` is any element or member. */
  readonly at: readonly string[]
  /** The member that says {@link VectorForm}; where it says neither, answers pass as they are. */
  readonly format: string
}
