import { deserialize, serialize } from 'node:v8'
import { MAX_MESSAGE_BYTES, type PeerListener, type Topic } from '../../core/peers.js'

/** What may wait until the system takes it; beyond it messages are dropped, and questions fail. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024
/** Questions without an answer yet. */
const MAX_OPEN_QUESTIONS = 1024
const DEFAULT_TIMEOUT_MS = 1000

/** `id`: the number of a question, in its answer as well. */
export interface Frame {
  readonly kind: 'told' | 'asked' | 'answered' | 'failed'
  readonly id: number
  readonly topic: string
  readonly content: Uint8Array
}

/** The other process is there, and has not answered in time. */
export class NoAnswer extends Error {}

/** Gives a frame to the other process; `sent` is called when the system has it, or never will. */
type SendFrame = (frame: Frame, sent: () => void) => void

interface Question {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** One end of the connection between the supervisor and a worker: tells and asks by topic, within bounds. */
export class Link {
  readonly #send: SendFrame
  readonly #listeners = new Map<string, PeerListener<unknown, unknown>>()
  readonly #questions = new Map<number, Question>()
  #last = 0
  #unsent = 0
  #closed = false

  constructor(send: SendFrame) {
    this.#send = send
  }

  /** One listener for each topic. */
  on<Content, Answer>({ name }: Topic<Content, Answer>, listener: PeerListener<Content, Answer>): void {
    this.#listeners.set(name, listener as PeerListener<unknown, unknown>)
  }

  /** False: dropped, because too much waits to be sent, it is too large, or the other end is gone. */
  tell<Content>({ name }: Topic<Content>, content: Content): boolean {
    return this.#give('told', 0, name, serialize(content))
  }

  /** Rejects where the other end fails, is gone, or does not answer in time ({@link NoAnswer}). */
  ask<Asked, Answer>(
    { name }: Topic<Asked, Answer>,
    content: Asked,
    timeoutMs: number = DEFAULT_TIMEOUT_MS,
  ): Promise<Answer> {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      if (this.#questions.size >= MAX_OPEN_QUESTIONS) throw new Error(`too many questions are open (${name})`)
      const bytes = serialize(content)
      const timer = setTimeout(() => this.#settle(id)?.reject(new NoAnswer(`no answer in time (${name})`)), timeoutMs)
      this.#questions.set(id, { resolve: answer => resolve(answer as Answer), reject, timer })
      if (this.#give('asked', id, name, bytes)) return
      this.#settle(id)?.reject(new Error(`the other process cannot be asked (${name})`))
    })
  }

  receive({ kind, id, topic, content }: Frame): void {
    switch (kind) {
      case 'told':
        void this.#hear(topic, content).catch(() => undefined)
        break
      case 'asked':
        void this.#answer(id, topic, content)
        break
      case 'answered':
        this.#settle(id)?.resolve(deserialize(content))
        break
      case 'failed':
        this.#settle(id)?.reject(new Error(String(deserialize(content))))
    }
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** The other process is gone. */
  close(): void {
    this.#closed = true
    for (const id of [...this.#questions.keys()]) this.#settle(id)?.reject(new Error('the other process has ended'))
  }

  async #hear(topic: string, content: Uint8Array): Promise<unknown> {
    const listener = this.#listeners.get(topic)
    if (listener === undefined) throw new Error(`nothing here answers ${topic}`)
    return await listener(deserialize(content), 0)
  }

  async #answer(id: number, topic: string, content: Uint8Array): Promise<void> {
    try {
      const answer = serialize(await this.#hear(topic, content))
      if (!this.#give('answered', id, topic, answer)) throw new Error(`the answer is too large (${topic})`)
    } catch (error) {
      this.#give('failed', id, topic, serialize(error instanceof Error ? error.message : String(error)))
    }
  }

  #settle(id: number): Question | undefined {
    const question = this.#questions.get(id)
    this.#questions.delete(id)
    clearTimeout(question?.timer)
    return question
  }

  #give(kind: Frame['kind'], id: number, topic: string, content: Buffer): boolean {
    const { length } = content
    if (this.#closed || length > MAX_MESSAGE_BYTES || this.#unsent + length > MAX_UNSENT_BYTES) return false
    this.#unsent += length
    this.#send({ kind, id, topic, content }, () => {
      this.#unsent -= length
    })
    return true
  }
}
