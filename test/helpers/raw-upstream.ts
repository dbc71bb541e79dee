import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type t from 'tap'
import { witness } from './canaries.js'
import { BodyReader, cut, field, type Head, takeHead } from './http-bytes.js'
import { Journal } from './journal.js'

type Test = Pick<typeof t, 'teardown'>

/** What an upstream does with one request. It may write anything at all, or nothing. */
export type Script = (peer: Peer) => void | Promise<void>

export interface RecordedRequest {
  readonly method: string
  readonly target: string
  readonly head: Head
  /** Decoded; complete once the request is journalled. */
  readonly body: Buffer
  /** Which connection carried it, counted from 0. */
  readonly connection: number
  header(name: string): string | undefined
  json(): unknown
}

export interface UpstreamOptions {
  /** A loopback address; `127.0.0.2` and on stand for other hosts. */
  readonly host?: string
  /** `whole`: scripts start when the request is complete; `head`: as soon as its head is; `never`: nothing is read. */
  readonly read?: 'whole' | 'head' | 'never'
}

/** Starts an upstream that obeys scripts byte by byte and remembers what it received. */
export async function startRawUpstream(test: Test, options: UpstreamOptions = {}): Promise<RawUpstream> {
  const upstream = new RawUpstream(options)
  await upstream.listen()
  test.teardown(() => upstream.close())
  return upstream
}

export class RawUpstream {
  readonly host: string
  /** Complete requests (or complete heads, where scripts start at the head), in order of arrival. */
  readonly requests = new Journal<RecordedRequest>('upstream requests')
  /** One entry per accepted connection. */
  readonly connections = new Journal<Socket>('upstream connections')
  /** Connections that the gateway closed while a script still had something to say, by number. */
  readonly aborts = new Journal<number>('upstream aborts')
  /** Connections that are closed, for any reason, by number. */
  readonly closes = new Journal<number>('upstream closes')
  readonly #read: 'whole' | 'head' | 'never'
  readonly #server: Server
  #scripts: Script[] = []

  constructor(options: UpstreamOptions) {
    this.host = options.host ?? '127.0.0.1'
    this.#read = options.read ?? 'whole'
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, socket => this.#accept(socket))
  }

  async listen(): Promise<void> {
    this.#server.listen(0, this.host)
    await once(this.#server, 'listening')
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get origin(): string {
    return `http://${this.host}:${this.port}`
  }

  /** The request that came last. */
  get last(): RecordedRequest {
    const request = this.requests.items.at(-1)
    if (request === undefined) throw new Error('no request')
    return request
  }

  /** Scripts for the next requests, one each; the last one serves all that follow. */
  answer(...scripts: readonly Script[]): void {
    this.#scripts = [...scripts]
  }

  async close(): Promise<void> {
    for (const socket of this.connections.items) socket.destroy()
    if (!this.#server.listening) return
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(socket: Socket): void {
    const connection = this.connections.items.length
    socket.on('error', () => undefined)
    socket.on('close', () => this.closes.push(connection))
    this.connections.push(socket)
    if (this.#read === 'never') socket.pause()
    else new Session(socket, connection, this.#read, session => this.#serve(session))
  }

  #serve(session: Session): void {
    const request = session.request()
    const [script, ...rest] = this.#scripts
    if (rest.length > 0) this.#scripts = rest
    witness('upstream', Buffer.concat([request.head.raw, request.body]))
    const peer = new Peer(session)
    const { socket } = session
    const gone = (): void => this.aborts.push(session.connection)
    socket.once('end', gone).once('close', gone)
    this.requests.push(request)
    if (script === undefined) throw new Error('the upstream received a request and has no script')
    void Promise.resolve(script(peer)).then(() => {
      socket.off('end', gone).off('close', gone)
      session.next()
    })
  }
}

/** One connection: reads request after request, never the next one before the script of the last has ended. */
class Session {
  readonly socket: Socket
  readonly connection: number
  readonly #start: 'whole' | 'head'
  readonly #serve: (session: Session) => void
  #state: 'head' | 'body' | 'answering' = 'head'
  #bytes: Buffer = Buffer.alloc(0)
  #head: Head | undefined
  #reader: BodyReader | undefined

  constructor(socket: Socket, connection: number, start: 'whole' | 'head', serve: (session: Session) => void) {
    this.socket = socket
    this.connection = connection
    this.#start = start
    this.#serve = serve
    socket.on('data', bytes => this.#push(bytes))
    socket.on('end', () => {
      if (this.#state !== 'answering') socket.end()
    })
  }

  request(): RecordedRequest {
    const head = this.#head
    if (head === undefined) throw new Error('no request yet')
    const [method = '', target = ''] = head.line.split(' ')
    const body = this.#reader?.body ?? Buffer.alloc(0)
    return {
      method,
      target,
      head,
      body,
      connection: this.connection,
      header: name => field(head, name),
      json: () => JSON.parse(body.toString('utf8')),
    }
  }

  /** What has arrived of the request's body, for scripts that start at the head. */
  received(): Buffer {
    return this.#reader?.body ?? Buffer.alloc(0)
  }

  next(): void {
    if (this.socket.readableEnded) this.socket.end()
    if (this.socket.destroyed || this.socket.readableEnded) return
    this.#state = 'head'
    this.#bytes = this.#reader?.after ?? Buffer.alloc(0)
    this.#head = undefined
    this.#reader = undefined
    this.#push(Buffer.alloc(0))
  }

  #push(bytes: Buffer): void {
    if (this.#reader !== undefined) this.#reader.push(bytes)
    else this.#bytes = Buffer.concat([this.#bytes, bytes])
    if (this.#state === 'head') this.#readHead()
    if (this.#state === 'body' && (this.#start === 'head' || this.#reader?.done === true)) {
      this.#state = 'answering'
      this.#serve(this)
    }
  }

  #readHead(): void {
    const taken = takeHead(this.#bytes)
    if (taken === undefined) return
    this.#head = taken.head
    this.#reader = new BodyReader(taken.head, 'nothing')
    this.#reader.push(taken.rest)
    this.#state = 'body'
  }
}

/** The upstream's hand on one exchange. */
export class Peer {
  readonly request: RecordedRequest
  readonly socket: Socket
  readonly #session: Session

  constructor(session: Session) {
    this.request = session.request()
    this.socket = session.socket
    this.#session = session
  }

  /** What has arrived of the request's body by now. */
  get received(): Buffer {
    return this.#session.received()
  }

  /** Writes bytes, in separate reads for the other side where cuts are given. */
  async send(bytes: string | Uint8Array, cuts: readonly number[] = []): Promise<void> {
    const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes)
    for (const piece of cut(data, cuts)) {
      if (this.socket.destroyed) return
      this.socket.write(piece)
      await turn()
    }
  }

  /** Ends the connection with a reset (RST). */
  reset(): void {
    this.socket.resetAndDestroy()
  }

  /** Ends the connection in good order (FIN). */
  async finish(): Promise<void> {
    this.socket.end()
    await this.gone()
  }

  /** Resolves when the other side has closed. */
  async gone(): Promise<void> {
    // A socket that is destroyed tells of it later: only then is it known who closed it.
    if (this.socket.closed || this.socket.readableEnded) return
    await new Promise<void>(resolve => {
      this.socket.once('end', resolve).once('close', resolve)
    })
  }
}

/** Lets every socket of this process that has something to read read it. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await new Promise(resolve => setImmediate(resolve))
}
