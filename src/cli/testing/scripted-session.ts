import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { isObject, type Json } from '../../core/json.js'
import { type WebSocket, WebSocketServer } from '../../net/framed-socket.js'
import type { ScriptedAnswer, SessionStep } from './test-file.js'

/** Largest message of a session, bytes. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
/** Most messages of a session that are kept. */
const MAX_MESSAGES = 10_000

const SERVER = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES, clientTracking: false })

/** The handshake of a WebSocket and what its client will send. */
interface Handshake {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  /** Filled as messages come. */
  readonly messages: Json[]
}

/** Opens the session that a script has, or refuses it with the status of the script. */
export function answerHandshake({ request, socket, head, messages }: Handshake, answer: ScriptedAnswer): void {
  const { session, status = 503, body = '' } = answer
  if (session === undefined) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const lines = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      'connection: close',
      'content-type: application/json',
    ]
    socket.end(`${[...lines, `content-length: ${Buffer.byteLength(text)}`].join('\r\n')}\r\n\r\n${text}`)
    return
  }
  SERVER.handleUpgrade(request, socket, head, opened => play(opened, session, messages))
}

/** Sends what comes next until a step waits for a message of the client. */
function play(socket: WebSocket, steps: readonly SessionStep[], messages: Json[]): void {
  let at = 0
  const proceed = (): void => {
    for (let step = steps[at]; step !== undefined && step.await === undefined; step = steps[++at]) {
      if (step.close !== undefined) socket.close(step.close)
      else socket.send(typeof step.send === 'string' ? step.send : JSON.stringify(step.send))
    }
  }
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    const message = isBinary ? data.toString('base64') : parsed(data.toString('utf8'))
    if (messages.length < MAX_MESSAGES) messages.push(message)
    if (steps[at]?.await !== (isObject(message) ? message.type : undefined)) return
    at++
    proceed()
  })
  socket.on('error', () => undefined)
  proceed()
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
