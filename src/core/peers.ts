/**
 * What the worker processes of one gateway say to each other (`workers:`). Messages pass through the supervisor, in order, and
 * are best effort: who must not lose anything uses the store. Contents are what `structuredClone` can copy, encoded at most
 * {@link MAX_MESSAGE_BYTES} long.
 *
 * A feature finds it as `kernel.peers`. To share something: `tell` it, and `on` the same topic take what others tell. To put
 * figures together: `ask` the others, add what this process has, and answer the same question with `on`. What has to outlive
 * workers without a store, the supervisor keeps: `report` it, and `consult` the supervisor about it.
 */
export interface Peers {
  /** 1 and up; 0: this process is the only one, or the supervisor. */
  readonly number: number
  /** Tells all other workers. False: dropped, because too much waits to be sent, or it is too large. */
  tell<Content>(topic: Topic<Content>, content: Content): boolean
  /** Tells the supervisor alone. */
  report<Content>(topic: Topic<Content>, content: Content): boolean
  /** Asks the supervisor alone. Rejects where it fails, or does not answer in time (1 s, unless said). */
  consult<Question, Answer>(topic: Topic<Question, Answer>, question: Question, timeoutMs?: number): Promise<Answer>
  /** Asks all other workers. Those that fail, end, or do not answer in time (1 s, unless said) are not among the answers. */
  ask<Question, Answer>(
    topic: Topic<Question, Answer>,
    question: Question,
    timeoutMs?: number,
  ): Promise<readonly PeerAnswer<Answer>[]>
  /** What to do when others tell or ask about a topic: one listener each; a later one takes its place. */
  on<Content, Answer>(topic: Topic<Content, Answer>, listener: PeerListener<Content, Answer>): void
}

/** `from`: the number of the worker; 0: the supervisor. */
export type PeerListener<Content, Answer> = (content: Content, from: number) => Answer | Promise<Answer>

export interface PeerAnswer<Answer> {
  readonly from: number
  readonly answer: Answer
}

/** A name, and the types of what is said under it. */
export interface Topic<Content, Answer = void> {
  readonly name: string
  /** For the compiler alone. */
  readonly types?: (content: Content) => Answer
}

/** Names are unique in the product. */
export function topic<Content, Answer = void>(name: string): Topic<Content, Answer> {
  return { name }
}

/** Longest message, encoded. */
export const MAX_MESSAGE_BYTES = 4 * 1024 * 1024

/** Of a process without others. */
export const ALONE: Peers = {
  number: 0,
  tell: () => true,
  report: () => true,
  consult: () => Promise.reject(new Error('there is no supervisor')),
  ask: async () => [],
  on: () => undefined,
}
