/** The protocol whose conversations are kept between requests. */
export const STATEFUL = 'responses'

/** The protocol that counts what such a request would come to. */
const COUNT_PROTOCOL = 'responses.input_tokens'

/**
 * Members of its requests that say so, or that name what is kept: they must occur only once, so that no upstream reads
 * another one than we did.
 */
export const STATE_MEMBERS = ['previous_response_id', 'store', 'background', 'conversation', 'input', 'prompt'] as const

/** The protocol whose answers are kept where a request asks for that, and the member by which it does. */
const KEPT_ON_REQUEST = 'chat'
export const KEEP_MEMBER = 'store'
/** What upstreams hear nothing of then: they keep no copy, and know no metadata without it. */
export const KEPT_MEMBERS = [KEEP_MEMBER, 'metadata'] as const

/** Whether requests of this protocol may ask that their answers are kept. */
export function mayAskToKeep(protocol: string | undefined): boolean {
  return protocol === KEPT_ON_REQUEST
}

/** Whether requests of this protocol that go to upstreams belong to conversations. */
export function keepsState(protocol: string | undefined, lane: string): boolean {
  return lane === 'exchange' && protocol === STATEFUL
}

/** Whether requests of this protocol, or for this answer of the gateway's own, name conversations. */
export function namesState(protocol: string | undefined, answer: string | undefined): boolean {
  return protocol === STATEFUL || protocol === COUNT_PROTOCOL || answer === 'response.compact'
}
