import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { WebSocketServer } from 'ws'
import { perform } from '../delivery/perform.js'
import { script } from '../delivery/script.js'
import { refusal } from '../delivery/substitute.js'
import type { Entry } from '../entry.js'
import { SimulatorError } from '../errors.js'
import { compatible } from '../families/compatible.js'
import { Fields } from '../families/fields.js'
import { modelOf } from '../families/options.js'
import { readFaultHeader, readModelName } from '../faults/read.js'
import { type Faults, NO_FAULTS } from '../faults/table.js'
import { credentialOf, type State } from '../handle.js'
import { RealtimeConversation } from '../protocols/realtime/conversation.js'
import { realtime } from '../protocols/realtime/index.js'
import { Seed } from '../seed.js'
import { Talk, TalkSocket } from './talk.js'

/** Faults that strike before there is a WebSocket. */
const BEFORE = ['hang', 'reset', 'raw', 'redirect', 'html', 'empty', 'status', 'early-hints'] as const

/** Largest message of a client, in bytes. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024

/** Of the subprotocols that a client may offer the server takes one (RFC 6455 §4.2.2). */
const sockets = new WebSocketServer({
  noServer: true,
  WebSocket: TalkSocket,
  clientTracking: false,
  maxPayload: MAX_MESSAGE_BYTES,
  handleProtocols: offered => (offered.has('realtime') ? 'realtime' : false),
})

/** What a handshake asks for, or why it is refused. */
interface Wanted {
  readonly model: string
  readonly faults: Faults
  readonly refusal: SimulatorError | undefined
}

/** Opens a WebSocket, or refuses it as HTTP does. Resolves when the connection is over. */
export async function openSocket(request: IncomingMessage, socket: Socket, head: Buffer, state: State): Promise<Entry> {
  const response = new ServerResponse(request)
  response.sendDate = false
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  socket.on('error', () => {})
  const entry = state.received.add(request, response)
  const wanted = read(request, entry)
  const faults = state.gate.pass(wanted.faults)
  const seed = new Seed(realtime.path, wanted.model)
  const isOpened = wanted.refusal === undefined && !BEFORE.some(name => faults[name] !== undefined)
  if (isOpened) await talk({ ...wanted, faults }, { request, response, socket, head, seed, entry, state })
  else await refuse(wanted.refusal ?? compatible.usual(500), faults, response, entry, seed)
  response.emit('close')
  return entry
}

interface Handshake {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly socket: Socket
  readonly head: Buffer
  readonly seed: Seed
  readonly entry: Entry
  readonly state: State
}

async function talk({ model, faults }: Wanted, handshake: Handshake): Promise<void> {
  const { request, response, socket, head, seed, entry, state } = handshake
  await setTimeout((faults.latency ?? 0) + (faults.jitter ?? 0) * seed.fork('jitter', entry.number).fraction())
  if (socket.destroyed) return
  response.detachSocket(socket)
  entry.upgraded()
  const closed = new Promise(resolve => socket.once('close', resolve))
  const ledger = {
    receive: (bytes: Buffer) => state.received.receive(entry, bytes),
    sent: (bytes: number) => entry.sent(bytes),
  }
  sockets.handleUpgrade(request, socket, head, webSocket => {
    new Talk(webSocket, socket, new RealtimeConversation(model, faults, seed), faults, ledger).start()
  })
  await closed
}

async function refuse(
  error: SimulatorError,
  faults: Faults,
  response: ServerResponse,
  entry: Entry,
  seed: Seed,
): Promise<void> {
  const requestId = `req_${seed.fork('request').hex(32)}`
  const options = { faults, family: compatible, requestId, credential: credentialOf(entry.headers), jitter: 0 }
  await perform(
    response,
    script(() => refusal(error, compatible, requestId), options),
    entry,
  )
  response.socket?.destroySoon()
}

function read(request: IncomingMessage, entry: Entry): Wanted {
  try {
    const { pathname, searchParams } = new URL(entry.path, 'ws://simulator.invalid')
    if (pathname !== realtime.path) throw new SimulatorError(404, `Invalid URL (WS ${pathname})`)
    if (request.headers['sec-websocket-key'] === undefined || request.headers['sec-websocket-version'] !== '13') {
      throw compatible.usual(400)
    }
    const { model, faults } = readModelName(searchParams.get('model') ?? '')
    modelOf(new Fields({ model }))
    return { model, faults: { ...readFaultHeader(entry.headers['x-simulate']), ...faults }, refusal: undefined }
  } catch (error) {
    if (error instanceof SimulatorError) return { model: '', faults: NO_FAULTS, refusal: error }
    entry.fail(error)
    return { model: '', faults: NO_FAULTS, refusal: compatible.usual(500) }
  }
}
