import type { Caller, Refusal } from '../../core/caller.js'

/** A request to be explained. Nothing of it is sent anywhere. */
export interface Ask {
  readonly method: string
  /** With or without a query. */
  readonly path: string
  /** The model that the request names, where no body says so. */
  readonly model?: string | undefined
  /** Whether the request asks for a stream, where no body says so. */
  readonly stream?: boolean | undefined
  /** Name of a caller's key, or a key as a client presents it. Absent: any key that may do all. */
  readonly key?: string | undefined
  /** Who that is, for a key that is not in the files, or how it is refused. */
  readonly caller?: Caller | Refusal | undefined
  readonly body?: Uint8Array | string | undefined
  /** Milliseconds since the epoch; now unless a test says otherwise. */
  readonly now?: number | undefined
}
