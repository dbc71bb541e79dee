import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { Plan, Upstream } from '../../core/plan.js'
import { type WebSocket, WebSocketServer } from '../../net/framed-socket.js'
import { textOfRequest } from '../request-text.js'
import { comparable, type PlayedExchange, placeOf, queryOf, SOCKET_METHOD } from './exchange.js'
import { SessionPlay } from './play-session.js'
import { Player } from './player.js'
import { readExchanges } from './read.js'

/** Largest request that is compared with recordings, bytes. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024
/** Largest message of a client that is compared with recordings, bytes. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024
/** What a request gets that no recording fits. No upstream is asked instead of one whose recording is missing. */
const MISS_STATUS = 400
const TO = 'x-recorded-upstream'
const KEY = 'x-recordings-key'
const PROTOCOL_HEADER = 'sec-websocket-protocol'

/** Upstreams whose recorded answers are played: a server on loopback, which runs once a plan has one. */
export class RecordedUpstreams {
  /** By upstreams of plans, with which they go: recordings that a later plan reads change nothing for an earlier one. */
  readonly #plays = new WeakMap<Upstream, { readonly id: string; readonly player: Player }>()
  readonly #players = new Map<string, WeakRef<Player>>()
  #number = 0
  readonly #key = randomBytes(32).toString('base64url')
  readonly #sockets = new Set<Duplex>()
  #server: Server | undefined
  #starting: Promise<void> | undefined

  /** Reads the recordings anew. */
  async prepare(plan: Plan): Promise<void> {
    const read: { readonly upstream: Upstream; readonly player: Player }[] = []
    for (const upstream of plan.upstreams.values()) {
      const { off, recordings } = upstream
      if (recordings === undefined || off !== undefined) continue
      read.push({ upstream, player: new Player(await readExchanges(recordings.from), recordings) })
    }
    if (read.length === 0) return
    for (const [id, player] of this.#players) if (player.deref() === undefined) this.#players.delete(id)
    for (const { upstream, player } of read) {
      const id = `${upstream.name}#${++this.#number}`
      this.#players.set(id, new WeakRef(player))
      for (const one of [upstream, ...upstream.others, ...upstream.former]) this.#plays.set(one, { id, player })
    }
    this.#starting ??= this.#start()
    await this.#starting
  }

  get origin(): string {
    const address = this.#server?.address() as AddressInfo | undefined
    if (address === undefined) throw new Error('no recordings are played')
    return `http://127.0.0.1:${address.port}`
  }

  /** Headers of requests that say which upstream is meant: flat name, value list. */
  headers(upstream: Upstream): readonly string[] {
    return [TO, this.#plays.get(upstream)?.id ?? '', KEY, this.#key]
  }

  async close(): Promise<void> {
    if (this.#server === undefined) return
    this.#server.closeAllConnections()
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #start(): Promise<void> {
    const server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.once('close', () => this.#sockets.delete(socket))
      this.#open(request, socket, head).catch(() => socket.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#server = server
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const player = this.#playerOf(request)
    if (player === undefined) {
      response.writeHead(401).end()
      return
    }
    const text = await textOfRequest(request, MAX_REQUEST_BYTES)
    const { method = '', url = '' } = request
    const body = comparable(text, request.headers['content-type'] ?? '')
    const found = player.find({ ...placeOf(method, url), body })
    if ('miss' in found) refuse(response, found.miss)
    else await play(response, found, player.timing === 'recorded')
  }

  /** A handshake: its session is played, or the refusal that was recorded. */
  async #open(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const player = this.#playerOf(request)
    if (player === undefined) {
      socket.destroy()
      return
    }
    const { url = '' } = request
    const { path } = placeOf(SOCKET_METHOD, url)
    const fitting = player.fitting({ method: SOCKET_METHOD, path, body: queryOf(url) })
    const next = 'miss' in fitting ? undefined : player.next(fitting)
    if (!('miss' in fitting) && next?.session !== undefined) {
      await new Promise<void>((resolve, reject) => {
        // At once: messages may have come with the handshake.
        acceptLike(next, request, socket, head, opened => {
          new SessionPlay(opened, path, next, fitting, player).play().then(resolve, reject)
        })
      })
      return
    }
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.once('finish', () => socket.end())
    if ('miss' in fitting) refuse(response, fitting.miss)
    if (next === undefined) return
    player.note(next)
    await play(response, next, player.timing === 'recorded')
  }

  #playerOf({ headers }: IncomingMessage): Player | undefined {
    return headers[KEY] === this.#key ? this.#players.get(String(headers[TO]))?.deref() : undefined
  }
}

/** Accepts a WebSocket, with the recorded subprotocol if the client offers it. */
function acceptLike(
  { headers }: PlayedExchange,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
  opened: (webSocket: WebSocket) => void,
): void {
  const [, recorded = ''] = headers.find(([name]) => name === PROTOCOL_HEADER) ?? []
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    clientTracking: false,
    // Clients that offer some expect one of them.
    handleProtocols: offered => (offered.has(recorded) ? recorded : ([...offered][0] ?? false)),
  })
  const others = headers.filter(([name]) => name !== PROTOCOL_HEADER)
  server.on('headers', lines => lines.push(...others.map(([name, value]) => `${name}: ${value}`)))
  server.handleUpgrade(request, socket, head, webSocket => {
    webSocket.on('error', () => undefined)
    opened(webSocket)
  })
}

/** An error that all families of protocols can read. */
function refuse(response: ServerResponse, message: string): void {
  const error = { type: 'no_recording', code: 'no_recording', status: 'NOT_FOUND', message }
  response.writeHead(MISS_STATUS, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ type: 'error', error }))
}

async function play(response: ServerResponse, exchange: PlayedExchange, isTimed: boolean): Promise<void> {
  const { status, headers, headAt, pieces } = exchange
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  let now = 0
  const until = async (at: number): Promise<void> => {
    if (isTimed && at > now) await pause(at - now, undefined, { signal: gone.signal })
    now = Math.max(now, at)
  }
  await until(headAt)
  response.writeHead(status, headers.flat())
  if (isTimed) response.flushHeaders()
  for (const { at, bytes } of pieces) {
    await until(at)
    if (!response.write(bytes)) await once(response, 'drain', { signal: gone.signal })
  }
  response.end()
}
