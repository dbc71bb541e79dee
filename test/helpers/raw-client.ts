import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type t from 'tap'
import { witness } from './canaries.js'
import { BodyReader, cut, field, type Head, takeHead } from './http-bytes.js'
import { inTime } from './journal.js'
import { turn } from './raw-upstream.js'

type Test = Pick<typeof t, 'teardown'>

export interface Answer {
  readonly status: number
  readonly head: Head
  readonly body: Buffer
  /** Whether the message ended as its own framing says: a broken transfer is not whole. */
  readonly whole: boolean
  readonly text: string
  header(name: string): string | undefined
  json(): unknown
}

/** A client on a bare socket: sends any bytes, reads as slowly as it likes. */
export async function connectRaw(test: Test, origin: string): Promise<RawClient> {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true })
  test.teardown(() => socket.destroy())
  const client = new RawClient(socket)
  await inTime(once(socket, 'connect'), () => `no connection to ${origin}`)
  return client
}

export class RawClient {
  readonly socket: Socket
  #bytes: Buffer = Buffer.alloc(0)
  #ended: 'open' | 'fin' | 'reset' = 'open'
  #wake: () => void = () => undefined

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', data => {
      witness('client', data)
      this.#bytes = Buffer.concat([this.#bytes, data])
      this.#wake()
    })
    socket.on('end', () => this.#close('fin'))
    socket.on('error', () => this.#close('reset'))
    socket.on('close', () => this.#close('fin'))
  }

  /** Sends bytes, in separate writes where cuts are given. */
  async send(bytes: string | Uint8Array, cuts: readonly number[] = []): Promise<void> {
    const data = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes)
    for (const piece of cut(data, cuts)) {
      if (this.socket.destroyed) return
      this.socket.write(piece)
      if (cuts.length > 0) await turn()
    }
  }

  /** The next response head that is not a 1xx. */
  async head(): Promise<Head> {
    for (;;) {
      const taken = takeHead(this.#bytes)
      if (taken !== undefined) {
        this.#bytes = taken.rest
        if (!/^HTTP\/1\.1 1/.test(taken.head.line)) return taken.head
      } else if (this.#ended !== 'open') throw new Error(`connection closed (${this.#ended}) before a response head`)
      else await this.#more('a response head')
    }
  }

  /** Reads the body that follows `head` until it ends or `enough` says so. */
  async body(head: Head, enough?: (body: Buffer) => boolean): Promise<{ body: Buffer; whole: boolean }> {
    const bodiless = /^HTTP\/1\.1 (204|304)/.test(head.line)
    const reader = new BodyReader(head, bodiless ? 'nothing' : 'close')
    for (;;) {
      reader.push(this.#bytes)
      this.#bytes = reader.after
      if (reader.done || enough?.(reader.body) === true) return { body: reader.body, whole: reader.done }
      if (this.#ended !== 'open') {
        const inOrder = reader.close() && this.#ended === 'fin'
        return { body: reader.body, whole: inOrder }
      }
      await this.#more(`the end of a body, ${reader.body.length} bytes so far`)
    }
  }

  /** The next whole answer. */
  async answer(): Promise<Answer> {
    const head = await this.head()
    const { body, whole } = await this.body(head)
    return answerOf(head, body, whole)
  }

  /** Resolves when the other side has closed. */
  async closed(): Promise<'fin' | 'reset'> {
    while (this.#ended === 'open') await this.#more('the connection to close')
    return this.#ended
  }

  get open(): boolean {
    return this.#ended === 'open'
  }

  #close(how: 'fin' | 'reset'): void {
    if (this.#ended === 'open') this.#ended = how
    this.#wake()
  }

  async #more(what: string): Promise<void> {
    const woken = new Promise<void>(resolve => {
      this.#wake = resolve
    })
    await inTime(woken, () => `${what} did not come; unread: ${this.#bytes.subarray(0, 400).toString('latin1')}`)
  }
}

export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Objects go as JSON. */
  readonly body?: unknown
  readonly key?: string
  readonly cuts?: readonly number[]
}

/** The bytes of a well-formed request. */
export function requestBytes(origin: string, path: string, options: RequestOptions = {}): Buffer {
  const { body } = options
  const content =
    body === undefined || body instanceof Uint8Array || typeof body === 'string' ? body : JSON.stringify(body)
  const data = Buffer.from(content ?? '')
  const fields: Record<string, string> = { host: new URL(origin).host }
  if (options.key !== undefined) fields.authorization = `Bearer ${options.key}`
  if (content !== undefined)
    Object.assign(fields, { 'content-type': 'application/json', 'content-length': `${data.length}` })
  Object.assign(fields, options.headers)
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const method = options.method ?? (content === undefined ? 'GET' : 'POST')
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'), data])
}

/** One request on a connection of its own. */
export async function request(test: Test, origin: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const client = await connectRaw(test, origin)
  await client.send(requestBytes(origin, path, options), options.cuts)
  const answer = await client.answer()
  client.socket.destroy()
  return answer
}

function answerOf(head: Head, body: Buffer, whole: boolean): Answer {
  return {
    status: Number(head.line.split(' ')[1]),
    head,
    body,
    whole,
    text: body.toString('utf8'),
    header: name => field(head, name),
    json: () => JSON.parse(body.toString('utf8')),
  }
}
