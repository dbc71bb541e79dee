import type { Faults } from '../faults/table.js'
import type { Writing } from '../protocol.js'
import { message } from './eventstream.js'

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

const BREAKS = ['reset-after', 'hang-after', 'cut-after', 'fin-after', 'error-after'] as const
const PING = Buffer.from(': ping\n\n')
/** White space, which JSON allows between the elements of an array (RFC 8259, section 2). */
const BARE_PING = Buffer.from('\n')
/** Clients pass over events that they do not know. */
const BINARY_PING = message({ event: 'ping', data: '{}' })
const DEFAULT_PING_INTERVAL_MS = 20

type BreakName = (typeof BREAKS)[number]

/** Where an answer breaks off. */
interface Break {
  readonly name: BreakName
  /** After how many events. */
  readonly after: number
}

/** The earliest of the breaks that were asked for. */
export function breakOf(faults: Faults): Break | undefined {
  return BREAKS.map(name => ({ name, after: faults[name] ?? Number.POSITIVE_INFINITY }))
    .filter(each => each.after < Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a.after - b.after)[0]
}

/** Writes one event after another at the pace that was asked for. Returns the break that ends them, if one does. */
export function* paced(
  events: Iterable<Uint8Array | Iterable<Uint8Array>>,
  faults: Faults,
): Generator<Step, BreakName | undefined> {
  const cut = breakOf(faults)
  let sent = 0
  for (const event of cut?.after === 0 ? [] : events) {
    if (faults.pace !== undefined && sent > 0) yield { do: 'wait', milliseconds: faults.pace }
    yield* writes(event instanceof Uint8Array ? [event] : event, faults)
    sent += 1
    if (sent === cut?.after) break
  }
  return sent === cut?.after ? cut.name : undefined
}

export function* breakOff(name: BreakName, faults: Faults, writing?: Writing): Generator<Step> {
  const bytes = writing === 'eventstream' ? BINARY_PING : writing === 'bare' ? BARE_PING : PING
  switch (name) {
    case 'reset-after':
      return yield { do: 'reset' }
    case 'hang-after':
      return yield { do: 'hang', ping: faults.pings && { bytes, every: faults.pace ?? DEFAULT_PING_INTERVAL_MS } }
    case 'cut-after':
      return yield { do: 'close' }
    case 'fin-after':
    case 'error-after':
      return yield { do: 'end', trailers: undefined }
  }
}
