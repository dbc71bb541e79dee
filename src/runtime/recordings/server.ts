import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Plan, Upstream } from '../../core/plan.js'
import { textOfRequest } from '../request-text.js'
import { comparable, type PlayedExchange, placeOf } from './exchange.js'
import { Player } from './player.js'
import { readExchanges } from './read.js'

/** Largest request that is compared with recordings, bytes. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024
/** What a request gets that no recording fits. No upstream is asked instead of one whose recording is missing. */
const MISS_STATUS = 400
const TO = 'x-recorded-upstream'
const KEY = 'x-recordings-key'

/** Upstreams whose recorded answers are played: a server on loopback, which runs once a plan has one. */
export class RecordedUpstreams {
  readonly #players = new Map<string, Player>()
  readonly #key = randomBytes(32).toString('base64url')
  #server: Server | undefined
  #starting: Promise<void> | undefined

  /** Reads the recordings anew. */
  async prepare(plan: Plan): Promise<void> {
    for (const { name, off, recordings } of plan.upstreams.values()) {
      if (recordings === undefined || off !== undefined) continue
      this.#players.set(name, new Player(await readExchanges(recordings.from), recordings))
    }
    if (this.#players.size === 0) return
    this.#starting ??= this.#start()
    await this.#starting
  }

  get origin(): string {
    const address = this.#server?.address() as AddressInfo | undefined
    if (address === undefined) throw new Error('no recordings are played')
    return `http://127.0.0.1:${address.port}`
  }

  /** Headers of requests that say which upstream is meant: flat name, value list. */
  headers({ name }: Upstream): readonly string[] {
    return [TO, name, KEY, this.#key]
  }

  async close(): Promise<void> {
    if (this.#server === undefined) return
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #start(): Promise<void> {
    const server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    this.#server = server
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const player = this.#players.get(String(request.headers[TO]))
    if (request.headers[KEY] !== this.#key || player === undefined) {
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
