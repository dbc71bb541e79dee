/** Every bound of a request's way. Sizes in bytes, durations in milliseconds. */
export interface Limits {
  /** Largest request body. */
  readonly body: number
  /** Largest request target (path and query). */
  readonly url: number
  /** Largest block of request headers. */
  readonly header_bytes: number
  /** Maximum number of request headers. */
  readonly header_count: number
  /** Deepest nesting of a JSON request. */
  readonly depth: number
  /** Maximum number of members of a JSON object in a request. */
  readonly members: number
  /** Most items of a conversation that is stored, for `previous_response_id`. */
  readonly conversation_items: number
  /** Most JSON values (objects, lists, strings, numbers and words) in one request, or in one answer that is parsed. */
  readonly values: number
  /** Memory for the objects of all requests that are translated at once, and as much for those of answers. */
  readonly memory: number
  /** Memory for all JSON bodies of requests that are held at once, each counted twice where it is sent on as another one. */
  readonly body_memory: number
  /** Maximum number of parts of a form. */
  readonly parts: number
  /** Largest value of a text field of a form. */
  readonly field: number
  /** The values of all text fields of a form together. */
  readonly fields: number
  /** Longest line of an event stream from an upstream. */
  readonly line: number
  /** Largest event of an event stream from an upstream. */
  readonly event: number
  /** Largest JSON response that has to be held whole (to be transformed or checked). */
  readonly response: number
  /** Most connections to one upstream. */
  readonly connections: number
  /** Most requests that may wait for a connection to one upstream. */
  readonly queue: number
  /** Most requests in flight in the whole process. */
  readonly in_flight: number
  /** Most tunnels that one caller's key may have open at once. */
  readonly sessions: number
  /** Time limit for a client to send its request headers. */
  readonly headers: number
  /** Time limit for a client to send its whole request body. */
  readonly upload: number
  /** Longest time without the client reading any byte of its answer. */
  readonly stall: number
  /** Lifetime of an idle client connection. */
  readonly keep_alive: number
  /** Time that requests in flight get when the process drains. */
  readonly drain: number
  /** Time before that in which everything is served as ever and `/readyz` says 503; none unless it is asked for. */
  readonly drain_delay?: number
}

/** Time-outs towards one upstream, in milliseconds. */
export interface Timeouts {
  /** The wait for a connection of the gateway's own pool to come free. */
  readonly queue: number
  /** TCP and TLS set-up. */
  readonly connect: number
  /** From the request sent to the first byte of the answer's content. */
  readonly first_byte: number
  /** The same for streams, to the first event. */
  readonly first_event: number
  /** Between two chunks of content; comments and pings do not count. */
  readonly idle: number
  /** The whole exchange. */
  readonly total: number
}

/** What the streams of a model have to keep to. Times in milliseconds. Pings and events without content do not count. */
export interface StreamContract {
  readonly first_token?: number
  readonly gap?: number
  /** Pieces of content a second. */
  readonly min_rate?: number
  /** Whether another target is asked as long as no content has reached the client. */
  readonly then: 'next' | 'error'
}

/** When another target is asked beside one that has not answered. */
export interface Hedge {
  /** Milliseconds; p95: the time in which 95 of 100 answers of the same target began. */
  readonly after: 'p95' | number
}

/** When to retry, before the first byte has reached the client. */
export interface Retry {
  /** Attempts in all, the first included, over all targets. */
  readonly attempts: number
  readonly on: readonly RetryCondition[]
  /** Requests that an upstream may get a second time, as a part of those that it got in the last ten seconds. */
  readonly budget: number
  /** The first wait before a target is asked again, and the longest, milliseconds. */
  readonly wait: number
  readonly max_wait: number
}

/**
 * A failed phase, or an upstream's status. `queue` is the gateway's own want of a connection, no failure of the upstream;
 * `descriptors` is another such want, which no file can declare since no other target would help. `silent_stream` is `first_byte`
 * of a stream.
 */
export type RetryCondition =
  | 'connect'
  | 'reset'
  | 'first_byte'
  | 'silent_stream'
  | 'bad_response'
  | 'queue'
  | 'descriptors'
  | number
