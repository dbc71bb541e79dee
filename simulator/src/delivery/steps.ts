import type { Faults } from '../faults/table.js'

/** What is done to a response, one thing after another. */
export type Step =
  | { readonly do: 'wait'; readonly milliseconds: number }
  | { readonly do: 'informational' }
  | { readonly do: 'head'; readonly status: number; readonly headers: readonly (readonly [string, string])[] }
  | { readonly do: 'write'; readonly bytes: Uint8Array }
  | { readonly do: 'end'; readonly trailers: Readonly<Record<string, string>> | undefined }
  /** Closes the connection once what was written has gone, though the transfer is not complete. */
  | { readonly do: 'close' }
  | { readonly do: 'reset' }
  /** Nothing more until the client goes; `ping` is written again and again. */
  | { readonly do: 'hang'; readonly ping: { readonly bytes: Uint8Array; readonly every: number } | undefined }
  /** Bytes past HTTP, straight onto the connection. */
  | { readonly do: 'raw'; readonly bytes: Uint8Array }

/** Writes bytes, all at once or so many at a time with a turn of the event loop between. */
export function* writes(pieces: Iterable<Uint8Array>, { split }: Faults): Generator<Step> {
  for (const piece of pieces) {
    const size = split === undefined || split === 0 ? piece.length : split
    for (let from = 0; from < piece.length; from += size) {
      if (split !== undefined) yield { do: 'wait', milliseconds: 0 }
      yield { do: 'write', bytes: piece.subarray(from, from + size) }
    }
  }
}
