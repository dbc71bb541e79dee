/** What has passed of a request and its answer so far. */
export class Tally {
  /** Bytes of the request's body; of a tunnel, of the client's messages. */
  bytesIn = 0
  /** Bytes of the answer's body, including framing; of a tunnel, of the upstream's messages. */
  bytesOut = 0
  /** Events with content of a stream; messages of both sides of a tunnel. */
  events = 0
  /** Bytes of a stream behind its last event. */
  trailing = 0
  /** Whether the upstream's answer ended before it was complete. */
  truncated = false
  /** Whether the answer began before the request was complete. */
  early = false
  /** When the first byte of the answer's body was sent, by `performance.now()`. */
  firstByte: number | undefined
}
