import type { Socket } from 'node:net'
import { type Carrier, FastExchange } from './fast-exchange.js'
import { type RequestHead, readHead } from './request-head.js'

/** What the connections of a server share. */
export interface Host {
  readonly keepAliveTimeout: number
  readonly maxHeadBytes: number
  readonly isEncrypted: boolean
  serve(exchange: FastExchange): void
  /**
   * The connection, and these bytes that it has received, go to `node:http`. `isEarly`: the request that they begin with did
   * not wait for the answer to the one before it.
   */
  handOver(connection: Connection, bytes: Buffer, isEarly: boolean): void
  /** What `node:http` reports of a request that it cannot read. `isAnswering`: an answer may have begun. */
  refuse(socket: Socket, code: string, isAnswering: boolean): void
  fail(socket: Socket, error: Error): void
  /** A request begins to arrive, and has arrived. */
  arriving(connection: Connection): void
  arrived(connection: Connection): void
  /** The connection waits for a request. */
  idle(connection: Connection): void
  forget(connection: Connection): void
}

/** Bytes that are kept of requests behind the current one; then the client has to wait. */
const MAX_PIPELINED_BYTES = 64 * 1024
/** How much of a request is still read after its answer; the rest stays at the client. */
const MAX_LINGER_BYTES = 1024 * 1024
const HEAD_END = '\r\n\r\n'
/** Pieces in which a head may come. */
const MAX_HEAD_PIECES = 32

/**
 * A client's connection on the fast path: one request after the other. It goes to `node:http`, for good, at the first
 * request that is not of the plainest form, or that has come together with others, before anything is done about it.
 */
export class Connection implements Carrier {
  readonly socket: Socket
  readonly isEncrypted: boolean
  readonly remoteAddress: string | undefined
  readonly #host: Host
  #exchange: FastExchange | undefined
  /** Bytes behind the current request; without one, those of a head that is not complete. */
  #kept: Buffer[] = []
  #keptBytes = 0
  /** In which the current head has come so far. */
  #pieces = 0
  #isPaused = false
  /** `ending`: no further request is read here. */
  #state: 'open' | 'ending' = 'open'
  #lingerBytes = 0
  /** When the request began to arrive, or the connection became idle; monotonic, milliseconds. */
  since = 0

  constructor(socket: Socket, host: Host) {
    this.socket = socket
    this.#host = host
    this.isEncrypted = host.isEncrypted
    // Read now: a closed socket has no address.
    this.remoteAddress = socket.remoteAddress
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('error', this.#onError)
    socket.on('close', this.#onClose)
    socket.on('drain', this.#onDrain)
    host.arriving(this)
  }

  get keepAliveTimeout(): number {
    return this.#host.keepAliveTimeout
  }

  /** Whether the head of the current request is complete. */
  get hasHead(): boolean {
    return this.#exchange !== undefined
  }

  pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.socket.pause()
  }

  resume(): void {
    if (!this.#isPaused || this.#keptBytes > MAX_PIPELINED_BYTES) return
    this.#isPaused = false
    this.socket.resume()
  }

  /** The request does not arrive in time. */
  timeOut(): void {
    this.#refuse('ERR_HTTP_REQUEST_TIMEOUT')
  }

  readonly #onData = (bytes: Buffer): void => {
    const exchange = this.#exchange
    if (this.#state === 'ending') this.#linger(bytes)
    else if (exchange === undefined) this.#read(bytes)
    else if (exchange.complete) this.#keep(bytes)
    else this.#arrive(exchange, bytes)
  }

  /** Takes bytes of the body, and keeps those behind it. */
  #arrive(exchange: FastExchange, bytes: Buffer): void {
    const { left } = exchange
    if (bytes.length > left) this.#keep(bytes.subarray(left))
    exchange.arrive(bytes.length > left ? bytes.subarray(0, left) : bytes)
    if (!exchange.complete || this.#exchange !== exchange) return
    this.#host.arrived(this)
    if (exchange.finished) this.#next()
  }

  /** The rest of a request whose answer has ended the connection. */
  #linger(bytes: Buffer): void {
    const exchange = this.#exchange
    this.#lingerBytes += bytes.length
    if (exchange !== undefined && exchange.left > 0) {
      exchange.arrive(bytes.subarray(0, exchange.left))
      if (exchange.complete) this.socket.destroySoon()
    }
    if (this.#lingerBytes > MAX_LINGER_BYTES) this.pause()
  }

  #keep(bytes: Buffer): void {
    this.#kept.push(bytes)
    this.#keptBytes += bytes.length
    if (this.#keptBytes > MAX_PIPELINED_BYTES) this.pause()
  }

  #takeKept(): Buffer | undefined {
    const [only] = this.#kept
    const bytes = this.#kept.length > 1 ? Buffer.concat(this.#kept) : only
    this.#kept = []
    this.#keptBytes = 0
    return bytes
  }

  /** Reads the head of the next request. `isEarly`: the bytes came behind one that was not answered yet. */
  #read(bytes: Buffer, isEarly = false): void {
    const before = this.#takeKept()
    const all = before === undefined ? bytes : Buffer.concat([before, bytes])
    const head = readHead(all, this.#host.maxHeadBytes)
    if (head === 'more' && ++this.#pieces < MAX_HEAD_PIECES) {
      this.#kept.push(all)
      this.#host.arriving(this)
      return
    }
    this.#pieces = 0
    if (typeof head === 'string' || all.length > head.size + head.length) this.#handOver(all, isEarly)
    else this.#begin(head, all.subarray(head.size))
  }

  /** `body`: the part of it that has come. */
  #begin(head: RequestHead, body: Buffer): void {
    const exchange = new FastExchange(this, head, body)
    this.#exchange = exchange
    if (exchange.complete) this.#host.arrived(this)
    else this.#host.arriving(this)
    this.#host.serve(exchange)
  }

  #handOver(bytes: Buffer, isEarly: boolean): void {
    const { socket } = this
    this.#state = 'ending'
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('error', this.#onError)
    socket.off('close', this.#onClose)
    socket.off('drain', this.#onDrain)
    this.resume()
    this.#host.handOver(this, bytes, isEarly && bytes.includes(HEAD_END))
  }

  readonly onSent = (error?: Error | null): void => {
    const exchange = this.#exchange
    if (error || exchange === undefined) return
    exchange.sent()
    if (this.#state !== 'open') return
    if (exchange.isLast) this.#end(exchange)
    else if (exchange.complete) this.#next()
    else exchange.drop()
  }

  #next(): void {
    this.#exchange = undefined
    const bytes = this.#takeKept()
    this.resume()
    if (bytes === undefined) this.#host.idle(this)
    else this.#read(bytes, true)
  }

  /** Closes the connection: if the client is still sending, first in one direction only. */
  #end(exchange: FastExchange): void {
    this.#state = 'ending'
    if (exchange.lingers && !exchange.complete) this.socket.end()
    else this.socket.destroySoon()
  }

  #refuse(code: string): void {
    this.#state = 'ending'
    this.#host.refuse(this.socket, code, this.#exchange !== undefined && !this.#exchange.finished)
  }

  readonly #onEnd = (): void => {
    if (this.#state === 'ending') {
      this.socket.destroy()
      return
    }
    const isBroken = this.#exchange === undefined ? this.#kept.length > 0 : !this.#exchange.complete
    if (isBroken) {
      this.#refuse('HPE_INVALID_EOF_STATE')
      return
    }
    // Like node:http: a client that has closed its side waits for no answer.
    this.#state = 'ending'
    this.socket.end()
  }

  readonly #onError = (error: Error): void => this.#host.fail(this.socket, error)

  readonly #onClose = (): void => {
    this.#state = 'ending'
    this.#host.forget(this)
    this.#exchange?.lost()
  }

  readonly #onDrain = (): void => this.#exchange?.drained()
}
