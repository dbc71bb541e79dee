import { type PeerAnswer, type PeerListener, type Peers, type Topic, topic } from '../../core/peers.js'
import type { Link } from './link.js'

interface Passed {
  readonly topic: string
  readonly content: unknown
  readonly from: number
}

/** A worker hands these to the supervisor, which passes them on to the others under the same names. */
const TELL = topic<Passed>('peers: tell')
const REPORT = topic<Passed, unknown>('peers: report')
const ASK = topic<Passed & { readonly timeoutMs: number }, readonly PeerAnswer<unknown>[]>('peers: ask')
const HEAR = topic<Passed, unknown>('peers: hear')
/** A new worker hears the others from now on. Before, it loads and compiles: who asked would wait for it. */
const READY = topic<null>('peers: ready')

const DEFAULT_TIMEOUT_MS = 1000
/** The supervisor gives up first. */
const MARGIN_MS = 250

/** The other workers, as one of them sees them. */
export class WorkerPeers implements Peers {
  readonly number: number
  readonly #link: Link
  readonly #listeners = new Map<string, PeerListener<unknown, unknown>>()

  constructor(number: number, link: Link) {
    this.number = number
    this.#link = link
    link.on(HEAR, ({ topic, content, from }) => heard(this.#listeners, topic, content, from))
    link.tell(READY, null)
  }

  tell<Content>({ name }: Topic<Content>, content: Content): boolean {
    return this.#link.tell(TELL, { topic: name, content, from: this.number })
  }

  report<Content>({ name }: Topic<Content>, content: Content): boolean {
    return this.#link.tell(REPORT as Topic<Passed>, { topic: name, content, from: this.number })
  }

  consult<Question, Answer>(
    { name }: Topic<Question, Answer>,
    question: Question,
    timeoutMs: number = DEFAULT_TIMEOUT_MS,
  ): Promise<Answer> {
    const asked = { topic: name, content: question, from: this.number }
    return this.#link.ask(REPORT as Topic<Passed, Answer>, asked, timeoutMs)
  }

  async ask<Question, Answer>(
    { name }: Topic<Question, Answer>,
    question: Question,
    timeoutMs: number = DEFAULT_TIMEOUT_MS,
  ): Promise<readonly PeerAnswer<Answer>[]> {
    const asked = { topic: name, content: question, from: this.number, timeoutMs }
    const answers = await this.#link.ask(ASK, asked, timeoutMs + MARGIN_MS).catch(() => [])
    return answers as readonly PeerAnswer<Answer>[]
  }

  on<Content, Answer>({ name }: Topic<Content, Answer>, listener: PeerListener<Content, Answer>): void {
    this.#listeners.set(name, listener as PeerListener<unknown, unknown>)
  }
}

/** The middle of the star: passes on what workers tell and ask each other, and speaks to all of them itself. */
export class Hub implements Peers {
  readonly number = 0
  readonly #links = new Map<number, Link>()
  readonly #listeners = new Map<string, PeerListener<unknown, unknown>>()

  /** A worker has begun. It takes part when it says that it is ready. */
  join(number: number, link: Link): void {
    link.on(READY, () => {
      if (!link.isClosed) this.#links.set(number, link)
    })
    link.on(TELL, passed => this.#pass({ ...passed, from: number }))
    link.on(REPORT, ({ topic, content }) => heard(this.#listeners, topic, content, number))
    link.on(ASK, ({ timeoutMs, ...passed }) => this.#gather({ ...passed, from: number }, timeoutMs))
  }

  /** A worker has ended. */
  leave(number: number): void {
    this.#links.delete(number)
  }

  tell<Content>({ name }: Topic<Content>, content: Content): boolean {
    this.#pass({ topic: name, content, from: this.number })
    return true
  }

  report<Content>({ name }: Topic<Content>, content: Content): boolean {
    void heard(this.#listeners, name, content, this.number)
    return true
  }

  async consult<Question, Answer>({ name }: Topic<Question, Answer>, question: Question): Promise<Answer> {
    return (await heard(this.#listeners, name, question, this.number)) as Answer
  }

  async ask<Question, Answer>(
    { name }: Topic<Question, Answer>,
    question: Question,
    timeoutMs: number = DEFAULT_TIMEOUT_MS,
  ): Promise<readonly PeerAnswer<Answer>[]> {
    const answers = await this.#gather({ topic: name, content: question, from: this.number }, timeoutMs)
    return answers as readonly PeerAnswer<Answer>[]
  }

  on<Content, Answer>({ name }: Topic<Content, Answer>, listener: PeerListener<Content, Answer>): void {
    this.#listeners.set(name, listener as PeerListener<unknown, unknown>)
  }

  #pass(passed: Passed): void {
    for (const [number, link] of this.#links) if (number !== passed.from) link.tell(HEAR as Topic<Passed>, passed)
  }

  async #gather(passed: Passed, timeoutMs: number): Promise<readonly PeerAnswer<unknown>[]> {
    const others = [...this.#links].filter(([number]) => number !== passed.from)
    const answers = others.map(async ([from, link]) => ({ from, answer: await link.ask(HEAR, passed, timeoutMs) }))
    const settled = await Promise.allSettled(answers)
    return settled.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  }
}

/** Throws where nothing here hears of the topic: who asks gets no answer then. */
function heard(
  listeners: ReadonlyMap<string, PeerListener<unknown, unknown>>,
  topic: string,
  content: unknown,
  from: number,
): unknown {
  const listener = listeners.get(topic)
  if (listener === undefined) throw new Error(`nothing here hears of ${topic}`)
  return listener(content, from)
}
