import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type Server, STATUS_CODES } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type t from 'tap'
import type { Limits } from '../../src/core/limits.js'
import type { ListenConfig } from '../../src/core/process-config.js'
import { createServer } from '../../src/runtime/server.js'
import type { HttpExchange } from '../../src/transport/exchange.js'
import { FastExchange } from '../../src/transport/server/fast-exchange.js'

export const LIMITS = { headers: 10_000, upload: 60_000, keep_alive: 5000, header_bytes: 8192, url: 2048 } as Limits

/** A request as its handler saw it. `body` is absent if it broke off. */
export interface Seen {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly rawHeaders: readonly string[]
  readonly body: string | undefined
}

/** A server on a free port, whose handler answers with what the target says and notes what it was asked. */
export interface Rig {
  readonly server: Server
  readonly port: number
  /** By the port of the client's connection. */
  readonly seen: Map<number, Seen[]>
  /** Ports of clients that sent what cannot be read, or were cut off. */
  readonly refused: Set<number>
  /** Requests that the fast path served, and others. */
  readonly counts: { fast: number; node: number }
}

type Handler = (exchange: HttpExchange, rig: Rig) => void

export async function startRig(
  test: Pick<typeof t, 'teardown'>,
  transport: 'fast' | 'node',
  handler: Handler = echo,
  limits: Partial<Limits> = {},
  tls?: { readonly cert: string; readonly key: string },
): Promise<Rig> {
  const file = (text: string): object => ({ content: { reveal: () => text } })
  const listen = { ...(tls && { tls: { cert: file(tls.cert), key: file(tls.key) } }) } as ListenConfig
  const serve = (exchange: HttpExchange): void => {
    rig.counts[exchange instanceof FastExchange ? 'fast' : 'node']++
    handler(exchange, rig)
  }
  const server = createServer(
    listen,
    { ...LIMITS, ...limits },
    serve,
    () => undefined,
    (_request, socket) => void socket.destroy(),
    transport,
  ) as Server
  const refused = new Set<number>()
  server.prependListener(
    'clientError',
    (_error, socket: Duplex) => void refused.add((socket as Socket).remotePort ?? 0),
  )
  server.listen(0, '127.0.0.1', 4096)
  await once(server, 'listening')
  const rig: Rig = {
    server,
    port: (server.address() as AddressInfo).port,
    seen: new Map(),
    refused,
    counts: { fast: 0, node: 0 },
  }
  test.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return rig
}

/** Answers in the way that the target asks for with what came. */
export function echo(exchange: HttpExchange, rig: Rig): void {
  const { remotePort = 0 } = exchange.connection as Socket
  const seen = rig.seen.get(remotePort) ?? []
  rig.seen.set(remotePort, seen)
  const { method, target, headers, rawHeaders } = exchange
  const index = seen.push({ method, target, headers: { ...headers }, rawHeaders: [...rawHeaders], body: undefined }) - 1
  const chunks: Buffer[] = []
  exchange.receive({
    data: chunk => void chunks.push(chunk),
    end: () => {
      const body = Buffer.concat(chunks).toString('latin1')
      seen[index] = { ...(seen[index] as Seen), body }
      answer(exchange, createHash('sha1').update(JSON.stringify(seen[index])).digest('hex'))
    },
    gone: () => undefined,
  })
}

function answer(exchange: HttpExchange, text: string): void {
  const kind = /[?&]as=(\w+)/.exec(exchange.target)?.[1]
  const json = ['content-type', 'text/plain', 'x-latin', 'caf\u00e9']
  const length = ['content-length', String(text.length)]
  if (kind === 'chunks') {
    exchange.head(200, json)
    exchange.write(Buffer.from(text.slice(0, 9)))
    exchange.write(Buffer.from(text.slice(9)))
    exchange.end()
  } else if (kind === 'none') {
    exchange.head(204, ['x-a', 'b'])
    exchange.end()
  } else if (kind === 'close') {
    exchange.head(401, [...json, ...length, 'connection', 'close'])
    exchange.end(Buffer.from(text))
  } else if (kind === 'large') {
    exchange.head(200, [...json, 'content-length', '100000'])
    exchange.end(Buffer.alloc(100_000, text))
  } else if (kind === 'empty') {
    exchange.head(200, json)
    exchange.end()
  } else {
    exchange.head(kind === undefined ? 200 : 418, [...json, ...length])
    exchange.end(text, 'latin1')
  }
}

/** Turns of the event loop without any sign of the other side, after which there will be none. */
const QUIET_TURNS = 20

/** A client that sends bytes in pieces and takes what comes. */
export class Talk {
  readonly socket: Socket
  readonly #received: Buffer[] = []
  #isClosed = false
  #quiet = 0

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', data => {
      this.#received.push(data)
      this.#quiet = 0
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#isClosed = true
    })
  }

  static async to(port: number): Promise<Talk> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true, allowHalfOpen: true })
    const talk = new Talk(socket)
    socket.on('end', () => socket.end())
    await once(socket, 'connect')
    return talk
  }

  async send(pieces: readonly Buffer[]): Promise<void> {
    for (const piece of pieces) {
      if (!this.socket.writable) return
      this.socket.write(piece)
      await turns(4)
    }
    await this.quiet()
  }

  /** Resolves when nothing more comes, or the connection is closed. */
  async quiet(): Promise<void> {
    this.#quiet = 0
    while (!this.#isClosed && this.#quiet++ < QUIET_TURNS) await turns(1)
  }

  /** Ends the client's side, and waits for the other one. */
  async end(): Promise<void> {
    this.socket.end()
    if (!this.#isClosed) await once(this.socket, 'close')
  }

  get closed(): boolean {
    return this.#isClosed
  }

  get text(): string {
    return Buffer.concat(this.#received).toString('latin1')
  }
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise<void>(done => setImmediate(done))
}

/** What a connection came to. */
export interface Outcome {
  readonly seen: readonly Seen[]
  readonly refused: boolean
  /** Answers without their dates, and with chunks put together. */
  readonly answers: readonly string[]
}

/** Sends a message in pieces, then another, whole one, and reports what came of it. */
export async function converse(rig: Rig, pieces: readonly Buffer[], last: Buffer): Promise<Outcome> {
  const talk = await Talk.to(rig.port)
  const { localPort = 0 } = talk.socket
  rig.seen.delete(localPort)
  rig.refused.delete(localPort)
  await talk.send(pieces)
  await talk.send([last])
  await talk.end()
  const seen = rig.seen.get(localPort) ?? []
  rig.seen.delete(localPort)
  return { seen, refused: rig.refused.delete(localPort), answers: answersOf(talk.text) }
}

const STATUS = new RegExp(`^HTTP/1\\.1 (\\d{3}) (${Object.values(STATUS_CODES).join('|')})\\r\\n`)

/** Takes a stream of answers apart. What is no answer comes out as it is. */
function answersOf(text: string): string[] {
  const answers: string[] = []
  for (let rest = text; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const status = STATUS.exec(rest)?.[1]
    if (end < 0 || status === undefined) return [...answers, `?${rest}`]
    const head = rest.slice(0, end + 4).replace(/^Date: .*\r\n/m, '')
    const [body, after] = bodyOf(head, status, rest.slice(end + 4))
    answers.push(head + body)
    rest = after
  }
  return answers
}

function bodyOf(head: string, status: string, rest: string): readonly [string, string] {
  if (/^transfer-encoding: chunked\r\n/im.test(head)) return chunksOf(rest)
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  // An answer to HEAD declares a length and has no body: the next answer follows at once.
  const isNone = status === '204' || rest.startsWith('HTTP/1.1 ') || rest === ''
  return isNone ? ['', rest] : [rest.slice(0, length), rest.slice(length)]
}

function chunksOf(text: string): readonly [string, string] {
  let body = ''
  for (let rest = text; ; ) {
    const line = rest.indexOf('\r\n')
    const size = Number.parseInt(rest.slice(0, line), 16)
    if (!/^[0-9a-f]+$/.test(rest.slice(0, line)) || rest.slice(line + 2 + size, line + 4 + size) !== '\r\n')
      return [`${body}?`, '']
    rest = rest.slice(line + 2)
    if (size === 0) return [body, rest.slice(2)]
    body += rest.slice(0, size)
    rest = rest.slice(size + 2)
  }
}
