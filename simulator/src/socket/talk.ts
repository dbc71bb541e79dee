import type { Socket } from 'node:net'
import { WebSocket } from 'ws'
import type { Faults } from '../faults/table.js'
import type { RealtimeConversation } from '../protocols/realtime/conversation.js'
import type { RealtimeEvent } from '../protocols/realtime/response.js'

/** Messages whose answers have not been begun. */
const MAX_QUEUED_ANSWERS = 10_000

/** Records a talk: the client's messages, each with a line feed, and the number of bytes sent. */
interface TalkLedger {
  receive(line: Buffer): void
  sent(bytes: number): void
}

/** A WebSocket that can be made deaf to the client's close frames. */
export class TalkSocket extends WebSocket {
  isHung = false

  override close(code?: number, reason?: string): void {
    if (!this.isHung) super.close(code, reason)
  }
}

/**
 * A conversation on a WebSocket (RFC 6455): events go out in turn, no faster than the client takes them, and messages are
 * heard meanwhile, so that a response can be cancelled. Faults strike between events.
 */
export class Talk {
  readonly #webSocket: TalkSocket
  readonly #socket: Socket
  readonly #conversation: RealtimeConversation
  readonly #faults: Faults
  readonly #ledger: TalkLedger
  readonly #queue: Iterator<RealtimeEvent>[] = []
  #sent = 0
  #waiting = false
  #over = false
  #timer: NodeJS.Timeout | undefined

  /** `socket`: what the WebSocket is on, for faults that no WebSocket can play. */
  constructor(
    webSocket: TalkSocket,
    socket: Socket,
    conversation: RealtimeConversation,
    faults: Faults,
    ledger: TalkLedger,
  ) {
    this.#webSocket = webSocket
    this.#socket = socket
    this.#conversation = conversation
    this.#faults = faults
    this.#ledger = ledger
    webSocket.on('message', (data, isBinary) => {
      if (isBinary) this.close(1003, 'messages are texts')
      else this.message(String(data))
    })
    webSocket.on('error', () => {})
    webSocket.on('close', () => this.stop())
    socket.on('drain', () => this.go())
  }

  start(): void {
    if (this.strike()) return
    this.#queue.push(this.#conversation.opening()[Symbol.iterator]())
    this.go()
  }

  private message(text: string): void {
    if (this.#over) return
    this.#ledger.receive(Buffer.from(`${text}\n`))
    const answer = this.#conversation.receive(text)
    // Messages during a response are answered at once: they may cancel it.
    if (this.#queue.length > 0 && /"response\.cancel"|"input_audio_buffer\./.test(text.slice(0, 200))) {
      for (const event of answer) if (!this.send(event)) return
      return
    }
    if (this.#queue.length < MAX_QUEUED_ANSWERS) this.#queue.push(answer)
    this.go()
  }

  /** Sends what there is, as long as the client takes it. */
  private go(): void {
    while (!this.#over && !this.#waiting && !this.#socket.writableNeedDrain) {
      const [first] = this.#queue
      if (first === undefined) return
      const { done, value } = first.next()
      if (done) this.#queue.shift()
      else if (!this.send(value)) return
      else if (this.#faults.pace !== undefined) this.rest(this.#faults.pace)
    }
  }

  private rest(milliseconds: number): void {
    this.#waiting = true
    this.#timer = setTimeout(() => {
      this.#waiting = false
      this.go()
    }, milliseconds)
  }

  /** False where a fault has ended the talk instead. */
  private send(event: RealtimeEvent): boolean {
    if (this.#over) return false
    const text = this.#conversation.stamped(event)
    this.#sent++
    const isBroken = this.#faults.malformed === true && this.#sent === 2
    this.write(isBroken ? text.slice(0, -1) : text)
    return !this.strike()
  }

  /** Whether a fault strikes after the events that have been sent. */
  private strike(): boolean {
    const { close, 'fin-after': fin, 'reset-after': reset, 'cut-after': cut, 'hang-after': hang } = this.#faults
    if (this.#sent === reset || this.#sent === cut) {
      this.stop()
      if (this.#sent === reset) this.#socket.resetAndDestroy()
      else this.#socket.destroySoon()
    } else if (this.#sent === hang) {
      this.stop()
      this.#webSocket.isHung = true
    } else if (this.#sent === this.#faults['error-after']) {
      this.write(this.#conversation.stamped(this.#conversation.failure()))
      this.close(1011, 'the server failed')
    } else if (this.#sent === (fin ?? (close === undefined ? undefined : 1))) this.close(close ?? 1000, 'as asked for')
    return this.#over
  }

  private close(code: number, reason: string): void {
    if (this.#over) return
    this.stop()
    this.#webSocket.close(code, reason)
  }

  private stop(): void {
    this.#over = true
    clearTimeout(this.#timer)
  }

  private write(text: string): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return
    this.#ledger.sent(Buffer.byteLength(text))
    this.#webSocket.send(text)
  }
}
