import { on } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { isObject, type Json } from '../../core/json.js'
import { WebSocket } from '../../net/framed-socket.js'
import { type PlayedExchange, type PlayedFrame, type PlayedSession, saidIn } from './exchange.js'
import { hasCode } from './frames.js'
import type { Player } from './player.js'

/** Close codes of RFC 6455 §7.4.1. */
const POLICY = 1008
const SERVER_FAILED = 1011
/** Most bytes of a close frame's reason (RFC 6455 §5.5). */
const MAX_REASON_BYTES = 123
/** Messages of a client that wait for their turn: of more, the connection is not read. */
const MAX_WAITING_MESSAGES = 64

interface Candidate {
  readonly exchange: PlayedExchange
  readonly session: PlayedSession
  /** Where in its frames each of the client's is. */
  readonly asked: readonly number[]
}

/**
 * Plays the upstream's part of a session: first what comes before any message of the client, then after each of these what
 * followed it. Where recordings share a handshake, what the client says decides.
 */
export class SessionPlay {
  readonly #socket: WebSocket
  readonly #player: Player
  readonly #path: string
  readonly #gone = new AbortController()
  /** Recordings that fit what the client has said. */
  #fitting: readonly Candidate[]
  #current: Candidate
  #heard = 0

  /** `exchanges` fit the handshake; `first` of them is played until the client has said something. */
  constructor(
    socket: WebSocket,
    path: string,
    first: PlayedExchange,
    exchanges: readonly PlayedExchange[],
    player: Player,
  ) {
    this.#socket = socket
    this.#path = path
    this.#player = player
    this.#fitting = exchanges.flatMap(candidateOf)
    const current = this.#fitting.find(({ exchange }) => exchange === first)
    if (current === undefined) throw new Error('what is played has no session')
    this.#current = current
    if (current.asked.length === 0) player.note(first)
    socket.once('close', () => this.#gone.abort())
  }

  /** Resolves when the session is over. */
  async play(): Promise<void> {
    const options = { close: ['close'], highWaterMark: MAX_WAITING_MESSAGES, lowWaterMark: 1 }
    const messages = on(this.#socket, 'message', options) as AsyncIterable<[Buffer]>
    await this.#send(this.#current.session.frames.slice(0, this.#current.asked[0]), this.#current.exchange.headAt)
    for await (const [data] of messages) {
      if (this.#socket.readyState !== WebSocket.OPEN) break
      if (!this.#hear(saidIn(data))) break
      const { session, asked } = this.#current
      const at = asked[this.#heard - 1] ?? 0
      await this.#send(session.frames.slice(at + 1, asked[this.#heard]), session.frames[at]?.at ?? 0)
    }
  }

  /** The next message of the client; false: no recording fits it. */
  #hear(said: Json): boolean {
    const at = this.#heard
    const number = at + 1
    const going = this.#fitting.flatMap(one => {
      const frame = one.session.frames[one.asked[at] ?? -1]
      return frame?.from === 'client' ? [{ exchange: one.exchange, value: frame.said }] : []
    })
    if (going.length === 0) {
      this.#miss(
        `No recording continues: ${this.#current.exchange.file} has ${at} messages of the client, this is ${number}`,
      )
      return false
    }
    const found = this.#player.choose(going, said, `message ${number} of WS ${this.#path}`, 'the message')
    if ('miss' in found) {
      this.#miss(found.miss)
      return false
    }
    this.#fitting = this.#fitting.filter(({ exchange }) => found.includes(exchange))
    const isCurrent = found.includes(this.#current.exchange)
    // Only the first message chooses: what is played then is played to its end, if it fits.
    if (!isCurrent || (at === 0 && this.#player.isPlayed(this.#current.exchange))) this.#choose(found)
    this.#player.note(this.#current.exchange)
    this.#heard = number
    return true
  }

  #choose(found: readonly PlayedExchange[]): void {
    const next = this.#player.next(found)
    this.#current = this.#fitting.find(({ exchange }) => exchange === next) ?? this.#current
  }

  /** `since`: when what they follow was, in the recording. */
  async #send(frames: readonly PlayedFrame[], since: number): Promise<void> {
    const isTimed = this.#player.timing === 'recorded'
    let now = since
    for (const frame of frames) {
      if (isTimed && frame.at > now) await pause(frame.at - now, undefined, { signal: this.#gone.signal })
      now = Math.max(now, frame.at)
      if (this.#socket.readyState !== WebSocket.OPEN) return
      if ('close' in frame) this.#close(frame.close, frame.reason)
      else if (frame.from === 'upstream') await this.#write(frame.bytes, frame.isBinary)
    }
    this.#end()
  }

  /** As fast as the gateway takes it. */
  async #write(bytes: Buffer, binary: boolean): Promise<void> {
    await new Promise<void>(resolve => this.#socket.send(bytes, { binary }, () => resolve()))
  }

  /** The recording is over, and the session with it: the upstream ended it, or no one knows how it went on. */
  #end(): void {
    const { session, asked } = this.#current
    if (this.#heard < asked.length) return
    if (session.cut !== undefined) this.#close(SERVER_FAILED, `the recording ends here: ${session.cut}`)
    else if (session.breaksOff) this.#socket.terminate()
  }

  #close(code: number, reason: string): void {
    if (hasCode(code)) this.#socket.close(code, shortened(reason))
    else this.#socket.close()
  }

  /** In an event, if the upstream's have a type, and in the reason of the close frame. */
  #miss(message: string): void {
    const hasTypes = this.#fitting.some(({ session }) => session.frames.some(isTyped))
    const error = { type: 'no_recording', code: 'no_recording', message }
    if (hasTypes) this.#socket.send(JSON.stringify({ type: 'error', error }))
    this.#close(POLICY, message)
  }
}

function isTyped(frame: PlayedFrame): boolean {
  return frame.from === 'upstream' && 'said' in frame && isObject(frame.said) && typeof frame.said.type === 'string'
}

function candidateOf(exchange: PlayedExchange): readonly Candidate[] {
  const { session } = exchange
  if (session === undefined) return []
  const asked = session.frames.flatMap(({ from }, at) => (from === 'client' ? [at] : []))
  return [{ exchange, session, asked }]
}

/** The text, or so much of it that it is a reason. */
function shortened(text: string): string {
  if (Buffer.byteLength(text) <= MAX_REASON_BYTES) return text
  const characters = [...text]
  while (Buffer.byteLength(characters.join('')) > MAX_REASON_BYTES - Buffer.byteLength('…')) characters.pop()
  return `${characters.join('')}…`
}
