import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.js'
import type { Json } from '../../core/json.js'
import type { RetryCondition } from '../../core/limits.js'
import type { TaskCall, TaskTarget } from '../../core/plan.js'
import { retryAfter } from '../../core/retry-after.js'
import { NoResponseError, send, type UpstreamResponse } from '../../kernel/http-call.js'
import { JsonRelay } from '../../kernel/relay/json.js'
import type { Relay, Source } from '../../kernel/relay/relay.js'
import { cleanedText } from '../../kernel/translate/words.js'
import { type Reading, readAnswer, verdictOf } from './reading.js'
import { MAX_MISSES } from './transition.js'
import { maxAnswerBytes, readDocument, requestFor } from './upstream.js'

/** Failed polls in a row after which the pause between two does not grow further. */
const MAX_DOUBLINGS = 16
const OK = 200
/** Statuses by which an upstream that is polled says that there is no such work, and not that it cannot answer now. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404, 405, 410, 422])

/** What an upstream says of work that it does in the background. */
interface Said {
  readonly document: Json
  readonly bytes: Buffer
  readonly reading: Reading
}

/**
 * Answers a plain request with the result of work that its upstream does in the background: reads the answer that begins it, polls
 * until it has ended, and relays the last answer. A failure after that is a `bad_response`: it is begun again, or elsewhere, only
 * where `retry.on` says so.
 */
export class AwaitedRelay implements Relay {
  readonly #source: Source
  readonly #headers: string[]
  readonly #target: TaskTarget
  readonly #over = new AbortController()
  readonly #pieces: Buffer[] = []
  #size = 0
  #relay: JsonRelay | undefined

  constructor(source: Source, headers: string[], target: TaskTarget) {
    this.#source = source
    this.#headers = headers
    this.#target = target
  }

  data(chunk: Buffer): void {
    this.#source.content()
    this.#size += chunk.length
    if (this.#size > maxAnswerBytes(this.#target.shape)) this.#fail('bad_response', bad('It is too large.'))
    else this.#pieces.push(chunk)
  }

  end(): void {
    this.#follow(Buffer.concat(this.#pieces)).catch((cause: unknown) => this.#source.call.fail(cause))
  }

  broken(error: GatewayError): boolean {
    return this.#relay?.broken(error) ?? false
  }

  settle(): void {
    this.#over.abort()
    this.#relay?.settle()
  }

  async #follow(begun: Buffer): Promise<void> {
    const { call } = this.#source
    // Polls and the cancellation go out although a reload, or the end of the call, comes between.
    const generation = call.generation.lease()
    try {
      const first = this.#read(begun)
      if (first === undefined) return
      const last = hasEnded(first.reading) ? first : await this.#poll(first.reading.id)
      if (last !== undefined) this.#finish(last)
    } finally {
      generation.release()
    }
  }

  /** The first answer; undefined if nothing was begun, which was reported. */
  #read(begun: Buffer): Said | undefined {
    const said = this.#said(begun, undefined)
    if (said === undefined) return this.#fail('bad_response', bad('It is not JSON.'))
    const verdict = verdictOf(said.document, this.#target.shape)
    if (verdict !== undefined) return this.#fail(verdict.busy ? 503 : 'bad_response', this.#failed(verdict.message))
    if (said.reading.id !== undefined || hasEnded(said.reading)) return said
    return this.#fail('bad_response', bad('It has no id of the work that it begins.'))
  }

  /** Asks until the work has ended. Undefined if the attempt is over, or has failed. */
  async #poll(id = ''): Promise<Said | undefined> {
    const { every, first, slowest } = this.#target.shape.poll
    let [pause, faults, misses] = [first, 0, 0]
    while (await this.#pause(pause)) {
      const answer = await this.#ask(id)
      if (this.#over.signal.aborted) break
      const isGood = answer !== undefined && answer.status >= 200 && answer.status < 300
      const said = isGood ? this.#said(answer.body, this.#target.calls.retrieve?.response) : undefined
      if (said !== undefined) {
        this.#source.content()
        if (hasEnded(said.reading)) return said
      }
      misses = answer !== undefined && REFUSALS.has(answer.status) ? misses + 1 : 0
      if (misses >= MAX_MISSES) return this.#fail('bad_response', bad('It does not know the work that it began.'))
      faults = said === undefined && misses === 0 ? Math.min(faults + 1, MAX_DOUBLINGS) : 0
      pause = Math.min(Math.max(every * 2 ** faults, (answer && retryAfter(answer.headers)) ?? 0), slowest)
    }
    this.#cancel(id)
    return undefined
  }

  /** False if the attempt is over. */
  #pause(milliseconds: number): Promise<boolean> {
    const { signal } = this.#over
    return sleep(milliseconds, true, { signal }).catch(() => false)
  }

  async #ask(id: string): Promise<UpstreamResponse | undefined> {
    const { retrieve } = this.#target.calls
    return retrieve && (await this.#send(retrieve, id, this.#over.signal))
  }

  /** The client has gone, or time is over: the result is of no use. */
  #cancel(id: string): void {
    const { cancel } = this.#target.calls
    if (cancel !== undefined) void this.#send(cancel, id)
  }

  /** Undefined if there is no answer. */
  async #send(about: TaskCall, id: string, signal?: AbortSignal): Promise<UpstreamResponse | undefined> {
    const { call, exchange } = this.#source
    const { queue, connect, first_byte, total } = exchange.timeouts
    const { pool, headers } = call.generation.reach(exchange.upstream)
    const work = { upstreamId: id, target: { upstream: exchange.upstream.name, model: exchange.model } }
    const maxBytes = maxAnswerBytes(this.#target.shape)
    const limits = { key: call.key, queue, connect, answer: Math.min(first_byte, total), maxBytes }
    try {
      const options = signal === undefined ? limits : { ...limits, signal }
      return await send(pool, requestFor(about, work, [...headers]), options)
    } catch (error) {
      if (error instanceof NoResponseError) return undefined
      throw error
    }
  }

  /** Undefined if it is not JSON. `response`: declared changes. */
  #said(body: Buffer, response: TaskCall['response']): Said | undefined {
    const { document, bytes } = readDocument({ body }, { response })
    if (document === undefined) return undefined
    return { document, bytes, reading: readAnswer(document, this.#target.shape, bytes) }
  }

  #finish({ bytes, reading }: Said): void {
    if (reading.state !== 'succeeded') {
      this.#fail('bad_response', this.#failed(reading.error?.message))
      return
    }
    this.#relay = new JsonRelay(this.#source, OK, this.#headers, undefined)
    this.#relay.data(bytes)
    this.#relay.end()
  }

  #failed(message: string | undefined): GatewayError {
    const { call, exchange } = this.#source
    const said = message === undefined ? '' : `: ${cleanedText(message, call.generation, exchange.upstream)}`
    return new GatewayError('upstream_failed', `The upstream could not complete the request${said}`, {
      phase: 'content',
    })
  }

  #fail(condition: RetryCondition, error: GatewayError): undefined {
    this.#source.failed(condition, error)
  }
}

function hasEnded({ state }: Reading): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'cancelled'
}

function bad(what: string): GatewayError {
  return new GatewayError('bad_upstream_response', `The upstream sent a malformed answer. ${what}`, {
    phase: 'content',
  })
}
