/**
 * What happened, in order, never changed: an account of a namespace over all owners. Sequence numbers of a namespace
 * begin at 1 and have no gaps; an entry is only seen together with all entries before it.
 */
export interface Ledger {
  /** Resolves with the entry's sequence number. */
  append(namespace: string, owner: string, value: Uint8Array): Promise<number>
  /** Entries behind a sequence number (absent: from the first on), in order. */
  entries(namespace: string, range: { readonly after?: number; readonly limit: number }): Promise<readonly Entry[]>
}

export interface Entry {
  readonly sequence: number
  readonly owner: string
  readonly value: Uint8Array
}
