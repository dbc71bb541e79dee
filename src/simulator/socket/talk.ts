import type { Socket } from 'node:net'
import { FrameReader, PONG } from '../../wire/frame-reader.js'
import { closeFrame, frame, textFrame } from '../../wire/frames.js'
import type { Faults } from '../faults/table.js'
import type { RealtimeConversation } from '../protocols/realtime/conversation.js'
import type { RealtimeEvent } from '../protocols/realtime/response.js'

/** Largest message of a client, in bytes. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024
/** Messages whose answers have not been begun. */
const MAX_QUEUED_ANSWERS = 10_000

/** What is told of a talk: the client's messages, each with a line feed, and the bytes that went out. */
export interface TalkLedger {
  receive(line: Buffer): void
  sent(bytes: number): void
}

/**
 * A conversation on a WebSocket (RFC 6455): events go out in turn, no faster than the client takes them, and messages are
 * heard meanwhile, so that a response can be cancelled. Faults strike between events.
 */
export class Talk {
  readonly #socket: Socket
  readonly #conversation: RealtimeConversation
  readonly #faults: Faults
  readonly #ledger: TalkLedger
  readonly #reader: FrameReader
  #pieces: Buffer[] = []
  #size = 0
  readonly #queue: Iterator<RealtimeEvent>[] = []
  #sent = 0
  #waiting = false
  #over = false
  #timer: NodeJS.Timeout | undefined

  constructor(socket: Socket, conversation: RealtimeConversation, faults: Faults, ledger: TalkLedger) {
    this.#socket = socket
    this.#conversation = conversation
    this.#faults = faults
    this.#ledger = ledger
    this.#reader = new FrameReader(true, true, {
      begin: isText => {
        this.#pieces = []
        this.#size = 0
        if (!isText) this.close(1003, 'messages are texts')
      },
      text: (bytes, start, end) => {
        this.#size += end - start
        if (this.#size <= MAX_MESSAGE_BYTES) this.#pieces.push(Buffer.from(bytes.subarray(start, end)))
        return this.#size <= MAX_MESSAGE_BYTES
      },
      end: isText => {
        if (isText) this.message(Buffer.concat(this.#pieces).toString('utf8'))
        return true
      },
      ping: payload => this.write(frame(PONG, Buffer.from(payload), false)),
      close: (code, reason) => this.close(code === 1005 ? 1000 : code, reason),
    })
    socket.on('data', (bytes: Buffer) => this.data(bytes))
    socket.on('drain', () => this.go())
    socket.on('end', () => socket.end())
    socket.on('close', () => this.stop())
  }

  /** `head` came behind the handshake. */
  start(head: Buffer): void {
    if (this.strike()) return
    this.#queue.push(this.#conversation.opening()[Symbol.iterator]())
    this.go()
    if (head.length > 0) this.data(head)
  }

  private data(bytes: Buffer): void {
    this.#reader.push(bytes)
    const { fault } = this.#reader
    if (fault !== undefined) this.close(fault.code, fault.reason)
    else if (this.#size > MAX_MESSAGE_BYTES) this.close(1009, 'the message is too large')
  }

  private message(text: string): void {
    if (this.#over) return
    this.#ledger.receive(Buffer.from(`${text}\n`))
    const answer = this.#conversation.receive(text)
    // What is asked while a response is being told is answered at once: it may be what ends that response.
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
    this.write(textFrame(isBroken ? text.slice(0, -1) : text, false))
    return !this.strike()
  }

  /** Whether a fault strikes after the events that have been sent. */
  private strike(): boolean {
    const { close, 'fin-after': fin, 'reset-after': reset, 'cut-after': cut, 'hang-after': hang } = this.#faults
    if (this.#sent === reset || this.#sent === cut) {
      this.stop()
      if (this.#sent === reset) this.#socket.resetAndDestroy()
      else this.#socket.destroySoon()
    } else if (this.#sent === hang) this.stop()
    else if (this.#sent === this.#faults['error-after']) {
      this.write(textFrame(this.#conversation.stamped(this.#conversation.failure()), false))
      this.close(1011, 'the server failed')
    } else if (this.#sent === (fin ?? (close === undefined ? undefined : 1))) this.close(close ?? 1000, 'as asked for')
    return this.#over
  }

  private close(code: number, reason: string): void {
    if (this.#over) return
    this.stop()
    this.write(closeFrame(code, reason, false))
    this.#socket.end()
  }

  private stop(): void {
    this.#over = true
    clearTimeout(this.#timer)
  }

  private write(bytes: Buffer): void {
    if (!this.#socket.writable) return
    this.#ledger.sent(bytes.length)
    this.#socket.write(bytes)
  }
}
