import type { Caller } from '../../core/caller.js'
import { InnerExchange } from '../../kernel/inner.js'
import type { Kernel } from '../../kernel/kernel.js'
import { Slots, slot } from '../../kernel/slot.js'
import type { HttpRequest } from '../../transport/exchange.js'
import { HandshakeExchange } from '../../transport/handshake-exchange.js'

/** Whose limits and models hold for a request of the console. */
const CALLER = slot<Caller>('console: caller')
/** Bytes that wait for a slow reader before the upstream is asked to pause. */
const MAX_WAITING_BYTES = 1024 * 1024

interface PlayRequest {
  readonly caller: Caller
  readonly method: string
  readonly path: string
  readonly body: Uint8Array
  readonly type: string
  /** Address from which the console asks. */
  readonly client: string | undefined
  /** Aborted when its page has gone, or has its answer. */
  readonly gone: AbortSignal
  /** Called once the request holds nothing more. */
  readonly ended: () => void
}

interface PlayAnswer {
  readonly status: number
  /** A flat name, value list. */
  readonly headers: readonly string[]
  readonly pieces: AsyncIterable<Uint8Array>
}

interface SocketOpening {
  readonly caller: Caller
  /** Called with the status of the answer to the handshake. */
  readonly onStatus: (status: number) => void
}

/** WebSockets of the console, by the request that opened each. */
const OPENINGS = new WeakMap<object, SocketOpening>()

/** Whose WebSocket it will be that the console opens with this request. */
export function setSocketCaller(incoming: object, caller: Caller, onStatus: (status: number) => void): void {
  OPENINGS.set(incoming, { caller, onStatus })
}

/** A request is answered, which may be one that opens a WebSocket of the console. */
export function reportStatus(request: HttpRequest, status: number): void {
  if (request instanceof HandshakeExchange) OPENINGS.get(request.incoming)?.onStatus(status)
}

/** Whose request it is, where the console has made it. */
export function callerOf(request: HttpRequest): Caller | undefined {
  if (request instanceof HandshakeExchange) return OPENINGS.get(request.incoming)?.caller
  return request instanceof InnerExchange ? request.inside.slots?.get(CALLER) : undefined
}

/** Makes a request in the name of a caller, who need not present a key. It passes all stages, and is in the log. */
export function play(kernel: Kernel, asked: PlayRequest): Promise<PlayAnswer> {
  const { caller, method, path, body, type, client, gone, ended } = asked
  const slots = new Slots()
  slots.set(CALLER, caller)
  return new Promise((resolve, reject) => {
    const pieces = new Pieces()
    const from = {
      rawHeaders: ['host', 'console', 'user-agent', 'gateway-console'],
      remoteAddress: client,
    } as unknown as HttpRequest
    const exchange = new InnerExchange(
      from,
      { method, target: path, body, type, inside: { slots } },
      {
        head: (status, headers) => resolve({ status, headers, pieces }),
        data: bytes => pieces.add(bytes),
        end: () => {
          ended()
          pieces.finish()
        },
        broken: () => {
          ended()
          pieces.fail(new Error('the answer broke off'))
          reject(new Error('the request was cut'))
        },
      },
    )
    pieces.onRead = () => exchange.resumed()
    gone.addEventListener('abort', () => exchange.destroy(), { once: true })
    kernel.arrive(exchange)
    if (gone.aborted) exchange.destroy()
  })
}

/** An answer in pieces, as fast as they are read. */
class Pieces implements AsyncIterableIterator<Uint8Array> {
  readonly #waiting: Uint8Array[] = []
  #size = 0
  #end: 'none' | 'done' | Error = 'none'
  #wake: (() => void) | undefined
  onRead: () => void = () => undefined

  add(bytes: Uint8Array): boolean {
    // The writer uses its memory again.
    this.#waiting.push(Buffer.from(bytes))
    this.#size += bytes.length
    this.#wake?.()
    return this.#size < MAX_WAITING_BYTES
  }

  finish(): void {
    this.#end = 'done'
    this.#wake?.()
  }

  fail(error: Error): void {
    if (this.#end === 'none') this.#end = error
    this.#wake?.()
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    while (this.#waiting.length === 0 && this.#end === 'none') {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    const value = this.#waiting.shift()
    if (value !== undefined) {
      this.#size -= value.length
      this.onRead()
      return { done: false, value }
    }
    if (this.#end instanceof Error) throw this.#end
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#end = 'done'
    this.#wake?.()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}
