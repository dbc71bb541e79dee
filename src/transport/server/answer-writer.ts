import type { Socket } from 'node:net'
import { type ResponseHead, type ResponseOptions, responseHead } from './response-head.js'

/** Up to this size (buffers of a pool) copying the parts of a message into one costs less than a gathering write. */
const MAX_COPY_BYTES = 4000
/** So many bytes leave at once; fewer wait for others until the end of the turn. */
const MAX_WAITING_BYTES = 64 * 1024

/** Writes an answer to a socket: its head with the first bytes, bytes of one turn of the event loop together. */
export class AnswerWriter {
  readonly #socket: Socket
  readonly #options: ResponseOptions
  /** Called when the last byte has been handed to the operating system. */
  readonly #onSent: (error?: Error | null) => void
  readonly #onDrain: () => void
  #head: ResponseHead | undefined
  /** Whether the head has left. */
  #headSent = false
  /** Bytes of the body that leave at the end of this turn. */
  readonly #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #isScheduled = false
  #isEnded = false
  #needsDrain = false

  constructor(socket: Socket, options: ResponseOptions, onSent: (error?: Error | null) => void, onDrain: () => void) {
    this.#socket = socket
    this.#options = options
    this.#onSent = onSent
    this.#onDrain = onDrain
  }

  get begun(): boolean {
    return this.#head !== undefined
  }

  /** Whether the connection ends with this answer. */
  get isLast(): boolean {
    return this.#head?.isLast === true
  }

  /** Throws for headers that cannot be sent, and for a second head. */
  head(status: number, headers: readonly string[]): void {
    if (this.#head !== undefined) throw new Error('the head of the answer has been written')
    this.#head = responseHead(status, headers, this.#options)
  }

  /** Sends the head, and what waits behind it. */
  flush(): void {
    if (this.#head !== undefined && this.#isOpen) this.#send()
  }

  /** False if the client is slower; `onDrain` follows. */
  write(bytes: Uint8Array): boolean {
    if (!this.#isOpen) return true
    const head = this.#begin()
    if (!head.hasBody || bytes.length === 0) return true
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes >= MAX_WAITING_BYTES) this.#send()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      process.nextTick(endOfTurn, this)
    }
    this.#needsDrain ||= !this.#fits
    return !this.#needsDrain
  }

  /** Completes the answer. A string in `latin1` has one character a byte. */
  end(bytes?: Uint8Array | string, encoding?: 'latin1' | 'utf8'): void {
    if (!this.#isOpen) return
    const head = this.#begin()
    this.#isEnded = true
    if (bytes === undefined || bytes.length === 0 || !head.hasBody) {
      this.#send()
    } else if (typeof bytes === 'string' && encoding === 'latin1' && this.#waitingBytes === 0) {
      this.#sendText(head, bytes)
    } else {
      this.#waiting.push(typeof bytes === 'string' ? Buffer.from(bytes, encoding) : bytes)
      this.#waitingBytes += this.#waiting.at(-1)?.length ?? 0
      this.#send()
    }
  }

  /** Sends what waits. */
  endTurn(): void {
    this.#isScheduled = false
    if (this.#waitingBytes > 0 && this.#socket.writable) this.#send()
    this.drained()
  }

  /** The socket may take more. */
  drained(): void {
    if (!this.#needsDrain || !this.#fits) return
    this.#needsDrain = false
    if (!this.#isEnded) this.#onDrain()
  }

  get #isOpen(): boolean {
    return !this.#isEnded && this.#socket.writable
  }

  get #fits(): boolean {
    return this.#socket.writableLength + this.#waitingBytes < this.#socket.writableHighWaterMark
  }

  #begin(): ResponseHead {
    this.#head ??= responseHead(200, [], this.#options)
    return this.#head
  }

  /** The head, if it has not left yet. */
  #takeHead(head: ResponseHead): string {
    if (this.#headSent) return ''
    this.#headSent = true
    return head.text
  }

  /** The whole body is one string. */
  #sendText(head: ResponseHead, text: string): void {
    const body = head.isChunked ? `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n` : text
    this.#socket.write(this.#takeHead(head) + body, 'latin1', this.#onSent)
  }

  /** Sends the head, the waiting bytes as one chunk, and the end of the body, each if it is due. */
  #send(): void {
    const head = this.#begin()
    const size = this.#waitingBytes
    let before = this.#takeHead(head)
    let after = ''
    if (head.isChunked) {
      if (size > 0) before += `${size.toString(16)}\r\n`
      after = `${size > 0 ? '\r\n' : ''}${this.#isEnded ? '0\r\n\r\n' : ''}`
    }
    const onSent = this.#isEnded ? this.#onSent : undefined
    if (size === 0) this.#writeText(before + after, onSent)
    else if (before.length + size + after.length <= MAX_COPY_BYTES) this.#writeCopy(before, after, onSent)
    else this.#writeParts(before, after, onSent)
    this.#waiting.length = 0
    this.#waitingBytes = 0
  }

  #writeText(text: string, onSent: ((error?: Error | null) => void) | undefined): void {
    if (text !== '' || this.#socket.writableLength > 0) this.#socket.write(text, 'latin1', onSent)
    else if (onSent !== undefined) process.nextTick(onSent)
  }

  #writeCopy(before: string, after: string, onSent: ((error?: Error | null) => void) | undefined): void {
    const message = Buffer.allocUnsafe(before.length + this.#waitingBytes + after.length)
    let at = message.write(before, 0, 'latin1')
    for (const bytes of this.#waiting) {
      message.set(bytes, at)
      at += bytes.length
    }
    if (after !== '') message.write(after, at, 'latin1')
    this.#socket.write(message, onSent)
  }

  #writeParts(before: string, after: string, onSent: ((error?: Error | null) => void) | undefined): void {
    const socket = this.#socket
    socket.cork()
    if (before !== '') socket.write(before, 'latin1')
    const last = after === '' ? this.#waiting.length - 1 : -1
    this.#waiting.forEach((bytes, index) => {
      socket.write(bytes, index === last ? onSent : undefined)
    })
    if (after !== '') socket.write(after, 'latin1', onSent)
    socket.uncork()
  }
}

function endOfTurn(writer: AnswerWriter): void {
  writer.endTurn()
}
