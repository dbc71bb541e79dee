import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { type ClientCertificate, certificateOf } from '../client-certificate.js'
import type { BodyReceiver, HttpExchange } from '../exchange.js'
import { AnswerWriter } from './answer-writer.js'
import type { RequestHead } from './request-head.js'

/** What an exchange needs of the connection that carries it. */
export interface Carrier {
  readonly socket: Socket
  readonly isEncrypted: boolean
  readonly remoteAddress: string | undefined
  /** The server's time-out for idle connections, as sent to clients, milliseconds. */
  readonly keepAliveTimeout: number
  /** Called when the last byte of an answer has been handed to the operating system. */
  readonly onSent: (error?: Error | null) => void
  /** Stop and resume reading. */
  pause(): void
  resume(): void
}

/** Bytes of a body that are kept while its receiver is paused or not set yet; beyond that the client has to wait. */
const MAX_KEPT_BYTES = 64 * 1024
/** Time to read the rest of a request that was answered early, milliseconds. */
const MAX_LINGER_MS = 2000

const NOTHING = Buffer.alloc(0)

/** A request on a connection of the fast path, and its answer. */
export class FastExchange implements HttpExchange {
  readonly method: string
  readonly target: string
  readonly httpVersion = '1.1'
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly whole: Buffer | undefined
  onDrain: (() => void) | undefined
  onClose: (() => void) | undefined
  finished = false
  readonly #carrier: Carrier
  readonly #answer: AnswerWriter
  /** Bytes of the body that have not arrived. */
  #left: number
  /** What has arrived and was not received. */
  #kept: Buffer[] = []
  #keptBytes = 0
  #receiver: BodyReceiver | undefined
  #isPaused = false
  /** The rest of the body is read and dropped. */
  #isDropped = false
  #lingering: NodeJS.Timeout | undefined
  #isClosed = false

  /** `body`: the part of it that came with the head. */
  constructor(carrier: Carrier, head: RequestHead, body: Buffer) {
    this.#carrier = carrier
    this.method = head.method
    this.target = head.target
    this.headers = head.headers
    this.rawHeaders = head.rawHeaders
    this.#left = head.length - body.length
    this.whole = this.#left > 0 ? undefined : head.length === 0 ? NOTHING : body
    if (body.length > 0) this.#keep(body)
    const { socket, keepAliveTimeout, onSent } = carrier
    const options = { isHead: head.method === 'HEAD', keepsAlive: head.keepsAlive, keepAliveTimeout }
    this.#answer = new AnswerWriter(socket, options, onSent, () => this.onDrain?.())
  }

  get connection(): object {
    return this.#carrier.socket
  }

  get remoteAddress(): string | undefined {
    return this.#carrier.remoteAddress
  }

  get isEncrypted(): boolean {
    return this.#carrier.isEncrypted
  }

  get certificate(): ClientCertificate | undefined {
    return certificateOf(this.#carrier.socket)
  }

  // ── the body of the request

  get complete(): boolean {
    return this.#left === 0
  }

  receive(receiver: BodyReceiver): void {
    this.#receiver = receiver
    this.#deliver()
  }

  pause(): void {
    if (this.#receiver !== undefined) this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#deliver()
  }

  invite(): void {
    // Clients that wait for it are served by node:http.
  }

  /** How many bytes of the body are still to come. */
  get left(): number {
    return this.#left
  }

  /** Takes the next bytes of the body: at most those that are {@link left}. */
  arrive(bytes: Buffer): void {
    this.#left -= bytes.length
    if (this.#left === 0) clearTimeout(this.#lingering)
    if (this.#isDropped) return
    this.#keep(bytes)
    this.#deliver()
  }

  #keep(bytes: Buffer): void {
    this.#kept.push(bytes)
    this.#keptBytes += bytes.length
  }

  #deliver(): void {
    while (this.#receiver !== undefined && !this.#isPaused && this.#kept.length > 0) {
      const bytes = this.#kept.shift() ?? NOTHING
      this.#keptBytes -= bytes.length
      this.#receiver.data(bytes)
    }
    if (this.#keptBytes > MAX_KEPT_BYTES) this.#carrier.pause()
    else this.#carrier.resume()
    if (this.#left > 0 || this.#kept.length > 0 || this.#isPaused) return
    const receiver = this.#receiver
    this.#receiver = undefined
    receiver?.end()
  }

  /** Discards the rest of the body as it arrives. */
  drop(): void {
    this.#receiver = undefined
    this.#isPaused = false
    this.#isDropped = true
    this.#kept = []
    this.#keptBytes = 0
    this.#carrier.resume()
  }

  /** Whether the rest of the request is read before the connection is closed. */
  get lingers(): boolean {
    return this.#lingering !== undefined
  }

  linger(): void {
    if (this.complete) return
    this.drop()
    this.#lingering ??= setTimeout(() => this.destroy(), MAX_LINGER_MS).unref()
  }

  // ── the answer

  get begun(): boolean {
    return this.#answer.begun
  }

  /** Whether the connection ends with the answer. */
  get isLast(): boolean {
    return this.#answer.isLast
  }

  head(status: number, headers: string[]): void {
    this.#answer.head(status, headers)
  }

  flush(): void {
    this.#answer.flush()
  }

  write(bytes: Uint8Array): boolean {
    return this.#answer.write(bytes)
  }

  end(bytes?: Uint8Array | string, encoding: 'latin1' | 'utf8' = 'utf8'): void {
    this.#answer.end(bytes, encoding)
  }

  destroy(): void {
    this.#carrier.socket.destroy()
  }

  /** The client may take more. */
  drained(): void {
    this.#answer.drained()
  }

  /** All of the answer has been handed to the operating system. */
  sent(): void {
    this.finished = true
    this.#close()
  }

  /** The connection is gone. */
  lost(): void {
    clearTimeout(this.#lingering)
    this.#close()
    const receiver = this.#receiver
    this.#receiver = undefined
    if (this.#left > 0) receiver?.gone()
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onClose?.()
  }
}
