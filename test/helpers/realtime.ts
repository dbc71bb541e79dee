import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type t from 'tap'
import { acceptOf } from '../../src/core/socket-key.js'
import { FrameReader } from '../../src/wire/frame-reader.js'
import { CALLER, type GatewayOptions, startTestGateway, type TestGateway } from './gateway.js'
import { inTime, Journal } from './journal.js'

type Test = Pick<typeof t, 'teardown'>

/** One end of a WebSocket, on a bare connection: sends any bytes and keeps what comes. */
export class End {
  readonly socket: Duplex
  /** Close frames that came, by code and reason. */
  readonly closes = new Journal<{ readonly code: number; readonly reason: string }>('close frames')
  /** Whole text messages that came. */
  readonly texts = new Journal<string>('texts')
  readonly gone = new Journal<string>('end of the connection')
  #chunks: Buffer[] = []
  #size = 0
  #wanted: { readonly size: number; readonly resolve: () => void } | undefined

  /** `masked`: what comes is from a client. */
  constructor(socket: Duplex, masked: boolean) {
    this.socket = socket
    let text = ''
    const reader = new FrameReader(masked, true, {
      begin: () => {
        text = ''
      },
      text: (bytes, start, end) => {
        text += bytes.toString('utf8', start, end)
        return true
      },
      end: isText => {
        if (isText) this.texts.push(text)
        return true
      },
      close: (code, reason) => this.closes.push({ code, reason }),
    })
    socket.on('data', (bytes: Buffer) => {
      this.#chunks.push(bytes)
      this.#size += bytes.length
      reader.push(bytes)
      if (this.#wanted !== undefined && this.#size >= this.#wanted.size) this.#wanted.resolve()
    })
    socket.on('error', () => undefined)
    socket.on('end', () => {
      this.gone.push('fin')
      socket.end()
    })
    socket.on('close', () => this.gone.push('close'))
  }

  /** All bytes that have come, once there are so many. */
  async bytes(size: number): Promise<Buffer> {
    const enough = new Promise<void>(resolve => {
      this.#wanted = { size, resolve }
      if (this.#size >= size) resolve()
    })
    await inTime(enough, () => `${this.#size} of ${size} bytes came`)
    this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0] ?? Buffer.alloc(0)
  }

  get size(): number {
    return this.#size
  }

  send(bytes: Buffer | string): void {
    this.socket.write(bytes)
  }
}

/** What a handshake is answered with: bytes of HTTP, or nothing for a WebSocket. */
export type Handshake = (request: IncomingMessage) => string | undefined

export interface SocketUpstream {
  readonly origin: string
  readonly requests: Journal<IncomingMessage>
  /** The WebSockets that were opened. */
  readonly ends: Journal<End>
  answer(handshake: Handshake): void
}

/** A server that opens WebSockets, or answers handshakes as the test wants. */
export async function startSocketUpstream(
  test: Test,
  tls?: { readonly cert: string; readonly key: string },
): Promise<SocketUpstream> {
  const requests = new Journal<IncomingMessage>('handshakes')
  const ends = new Journal<End>('WebSockets')
  const sockets = new Set<Duplex>()
  let answer: Handshake = () => undefined
  const server = tls === undefined ? createServer() : createSecureServer(tls)
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    requests.push(request)
    const refusal = answer(request)
    if (refusal !== undefined) {
      socket.end(refusal)
      return
    }
    const offered = request.headers['sec-websocket-protocol']?.split(', ') ?? []
    const chosen = offered.includes('realtime') ? 'sec-websocket-protocol: realtime\r\n' : ''
    const accept = acceptOf(request.headers['sec-websocket-key'] ?? '')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n` +
        `sec-websocket-accept: ${accept}\r\n${chosen}set-cookie: a=b\r\nserver: secret\r\n\r\n`,
    )
    ends.push(new End(socket, true))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    requests,
    ends,
    answer: handshake => {
      answer = handshake
    },
  }
}

export const CREDENTIAL = '{ in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }'

/** A gateway with the model `m` on an upstream `up`, which knows it as `real-m`. */
export function realtimeYaml(origin: string, more = '', upstream = `credential: ${CREDENTIAL}`): string {
  const speaks = 'speaks: { realtime: "GET /v1/realtime?model={model}" }'
  return (
    `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams:\n  up: { base: "${origin}", ${upstream}, ${speaks} }\n` +
    `models:\n  m: { upstream: up, as: real-m }\n  other: up\n${more}`
  )
}

export async function startRealtime(
  test: Test,
  more = '',
  options: GatewayOptions = {},
): Promise<{ readonly gateway: TestGateway; readonly up: SocketUpstream }> {
  const up = await startSocketUpstream(test)
  return { up, gateway: await startTestGateway(test, realtimeYaml(up.origin, more), options) }
}

/** The answer to a handshake. */
export interface Answered {
  readonly status: number
  readonly head: string
  readonly body: string
  readonly end: End
}

export interface Ask {
  readonly path?: string
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
  /** Sent right behind the handshake. */
  readonly early?: Buffer
}

/** Headers of a handshake. */
export const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

/** Asks for a WebSocket with the caller's key. */
export async function ask(test: Test, gateway: TestGateway, asked: Ask = {}): Promise<Answered> {
  const { hostname, port, host } = new URL(gateway.origin)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  test.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  const { key = gateway.key } = asked
  const headers = { host, ...HANDSHAKE, ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...asked.headers }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${asked.path ?? '/v1/realtime?model=m'} HTTP/1.1\r\n${lines.join('')}\r\n`)
  if (asked.early !== undefined) socket.write(asked.early)
  const { head, rest } = await readHead(socket)
  const status = Number(head.split(' ')[1])
  if (status === 101) {
    const end = new End(socket, false)
    if (rest.length > 0) socket.unshift(rest)
    socket.resume()
    return { status, head, body: '', end }
  }
  const chunks = [rest]
  socket.on('data', (bytes: Buffer) => chunks.push(bytes))
  socket.resume()
  if (!socket.readableEnded) await inTime(once(socket, 'end'), () => 'the refusal does not end')
  return { status, head, body: Buffer.concat(chunks).toString(), end: new End(socket, false) }
}

/** A WebSocket that is open, and the upstream's end of it. */
export async function open(
  test: Test,
  { gateway, up }: { readonly gateway: TestGateway; readonly up: SocketUpstream },
  asked?: Ask,
): Promise<{ readonly client: End; readonly server: End; readonly head: string }> {
  const before = up.ends.items.length
  const { status, head, body, end } = await ask(test, gateway, asked)
  if (status !== 101) throw new Error(`${head}\n${body}`)
  await up.ends.count(before + 1)
  return { client: end, server: up.ends.items[before] as End, head }
}

async function readHead(socket: Socket): Promise<{ head: string; rest: Buffer }> {
  let bytes: Buffer = Buffer.alloc(0)
  for (;;) {
    const at = bytes.indexOf('\r\n\r\n')
    if (at >= 0) {
      socket.pause()
      return { head: bytes.toString('latin1', 0, at), rest: bytes.subarray(at + 4) }
    }
    const [chunk] = (await inTime(
      Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [undefined])]),
      () => 'no answer to the handshake',
    )) as [Buffer | undefined]
    if (chunk === undefined) throw new Error(`the connection was closed before an answer: ${bytes.toString('latin1')}`)
    bytes = Buffer.concat([bytes, chunk])
  }
}

/** The line that the session left in the log. */
export async function lineOf({ log }: TestGateway): Promise<Readonly<Record<string, unknown>>> {
  return await log.find(line => line.msg === 'request')
}
