import type { PriceUnit } from './bounds.js'

/** What one settled attempt, or one task that has ended, used and cost: an entry of the ledger, as JSON. */
export interface LedgerRecord {
  /** The request's id and the attempt's number (`…/1`), or `task/ID`: characters that JSON writes as they are. */
  readonly id: string
  /** Of a copy that a mirror got: the id of the client's request. It charges no budget of the key. */
  readonly mirror_of?: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The caller's key. */
  readonly key: string
  readonly group?: string
  /** As the client named it. */
  readonly model: string
  /** As the upstream knows it, where that differs. */
  readonly target?: string
  readonly upstream: string
  /** `POST /v1/chat/completions` */
  readonly route: string
  readonly units: Readonly<Partial<Record<PriceUnit, number>>>
  /** Millionths of a USD. */
  readonly cost: number
  /** Whether no price was known. */
  readonly unpriced?: true
  /** Whether units were counted here because the upstream did not report them. */
  readonly estimated?: true
  /** It has charges alone, which the record of the same id has no room for: a session meets very many windows. */
  readonly continues?: true
  /** `ok`, `cancelled`, or the phase in which the attempt failed. */
  readonly outcome: string
  /** Of the configuration. */
  readonly generation: number
  /** What was added to which account of a budget, in millionths of a USD, so that the two can be compared. */
  readonly charges: Readonly<Record<string, number>>
}
