/** What a tunnel reads of the messages that pass. */
export interface MessageRules {
  /** Values of `type` of the upstream's messages that tell usage; none: all that tell some. */
  readonly counted: readonly string[]
  /** Whether an event tells clients why the gateway ends their session. */
  readonly errorEvent: boolean
}

export interface Subprotocols {
  /** Whether one that the client offers is offered to the upstream. */
  readonly pass: (name: string) => boolean
  /** The client is answered with the first of these that it offers. */
  readonly answer: readonly string[]
}
