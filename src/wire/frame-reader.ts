import { Unmasker } from './unmask.js'

/** Opcodes of RFC 6455 §11.8. */
const CONTINUATION = 0x0
export const TEXT = 0x1
const BINARY = 0x2
export const CLOSE = 0x8
export const PING = 0x9
const PONG = 0xa

/** Max payload of a control frame (RFC 6455 §5.5). */
const MAX_CONTROL_BYTES = 125
/** Max head of a frame: two bytes, eight of length, four of mask. */
const MAX_HEAD_BYTES = 14
/** A greater upper half makes a 64-bit length that a number cannot represent exactly. */
const MAX_UPPER_WORD = 0x1fffff

/** Callbacks of a frame reader. A callback that returns false stops the reader at the start of that frame. */
export interface FrameSink {
  /** A data message begins. */
  begin(isText: boolean): void
  /** A chunk of a text message, unmasked. The bytes are valid until this returns. */
  text(bytes: Buffer, start: number, end: number): boolean
  /** The same for a binary message, for sinks that read them too. */
  binary?(bytes: Buffer, start: number, end: number): boolean
  /** The message is complete. */
  end(isText: boolean): boolean
  /** `code` is 1005 if the frame has none (RFC 6455 §7.1.5). Only `false` stops the reader. */
  close(code: number, reason: string): unknown
  /** A ping, for sinks that must answer it. The payload is valid until this returns. */
  ping?(payload: Buffer): void
}

interface FrameFault {
  readonly code: 1002 | 1009
  readonly reason: string
}

/**
 * Reads the frames of one direction of a WebSocket (RFC 6455 §5) as their bytes pass, in chunks of any size. It stores only
 * the head of the current frame and changes nothing. It checks what decides where frames and messages begin and end, and
 * leaves the rest (UTF-8, close codes) to the two peers. It knows no extension, so none may be negotiated.
 */
export class FrameReader {
  readonly #masked: boolean
  readonly #sink: FrameSink
  /** Whether payloads are read, which requires unmasking. */
  readonly #reads: boolean
  readonly #head = Buffer.alloc(MAX_HEAD_BYTES)
  readonly #unmasker = new Unmasker()
  #headLength = 0
  #inHead = true
  #opcode = 0
  #fin = false
  #remaining = 0
  /** Opcode of the current data message, 0 for none. Control frames may come between its frames. */
  #message = 0
  readonly #control = Buffer.alloc(MAX_CONTROL_BYTES)
  #controlLength = 0
  #fault: FrameFault | undefined
  /** Invalid or refused: nothing of the current frame in this chunk has passed. */
  #stopped = false
  #closed = false
  /** Where the current frame begins in the current chunk; 0 if it began earlier. */
  #start = 0
  #beganBefore = false

  /** `masked`: the direction is from client to server. `reads`: the sink wants message payloads. */
  constructor(masked: boolean, reads: boolean, sink: FrameSink) {
    this.#masked = masked
    this.#reads = reads
    this.#sink = sink
  }

  /** Why the reader stopped. */
  get fault(): FrameFault | undefined {
    return this.#fault
  }

  /** No more bytes pass: a frame was invalid, or the sink refused it. */
  get stopped(): boolean {
    return this.#stopped
  }

  /** A close frame has passed; no frame may follow it. */
  get closed(): boolean {
    return this.#closed
  }

  /** Whether the passed bytes end at a frame boundary, so that another frame can be inserted here. */
  get between(): boolean {
    return this.#stopped ? !this.#beganBefore : this.#inHead && this.#headLength === 0
  }

  /** Bytes of the current frame still to come, by its head. */
  get missing(): number {
    return this.#inHead ? 0 : this.#remaining
  }

  /**
   * Reads a chunk. Returns how many of its bytes may pass: all, or those before an invalid or refused frame, or those up to
   * the end of a close frame.
   */
  push(chunk: Buffer): number {
    if (this.#closed || this.#stopped) return 0
    const { length } = chunk
    this.#start = 0
    this.#beganBefore = !this.between
    let at = 0
    while (at < length || (!this.#inHead && this.#remaining === 0)) {
      if (this.#inHead) {
        if (this.#headLength === 0) {
          this.#start = at
          this.#beganBefore = false
        }
        at = this.head(chunk, at)
        if (this.#fault !== undefined) return this.stop()
        continue
      }
      const size = Math.min(this.#remaining, length - at)
      if (size > 0 && !this.payload(chunk, at, size)) return this.stop()
      at += size
      this.#remaining -= size
      if (this.#remaining > 0) break
      this.#inHead = true
      if (!this.ended()) return this.stop()
      if (this.#closed) return at
    }
    return length
  }

  private stop(): number {
    this.#stopped = true
    return this.#start
  }

  /** Reads as much of the head as has arrived; returns where the chunk continues after it. */
  private head(chunk: Buffer, from: number): number {
    if (this.#headLength === 0) {
      const size = headSize(chunk, from)
      if (from + size <= chunk.length) {
        this.#fault = this.read(chunk, from)
        return from + size
      }
    }
    let at = from
    while (at < chunk.length) {
      this.#head[this.#headLength++] = chunk[at++] ?? 0
      if (this.#headLength < 2 || this.#headLength < headSize(this.#head, 0)) continue
      this.#headLength = 0
      this.#fault = this.read(this.#head, 0)
      break
    }
    return at
  }

  private read(bytes: Buffer, at: number): FrameFault | undefined {
    const first = bytes[at] ?? 0
    const second = bytes[at + 1] ?? 0
    this.#opcode = first & 0x0f
    this.#fin = (first & 0x80) !== 0
    let length = second & 0x7f
    let mask = at + 2
    if (length === 126) {
      length = bytes.readUInt16BE(mask)
      mask += 2
    } else if (length === 127) {
      const upper = bytes.readUInt32BE(mask)
      if (upper > MAX_UPPER_WORD) return fault(1009, 'the frame is too large')
      length = upper * 2 ** 32 + bytes.readUInt32BE(mask + 4)
      mask += 8
    }
    this.#remaining = length
    if ((first & 0x70) !== 0) return fault(1002, 'a reserved bit is set')
    if (((second & 0x80) !== 0) !== this.#masked) {
      return fault(1002, this.#masked ? 'the frame is not masked' : 'the frame is masked')
    }
    if (this.#masked) this.#unmasker.key(bytes, mask)
    this.#inHead = false
    return this.begin()
  }

  private begin(): FrameFault | undefined {
    switch (this.#opcode) {
      case CONTINUATION:
        return this.#message === 0 ? fault(1002, 'a continuation frame without a message') : undefined
      case TEXT:
      case BINARY:
        if (this.#message !== 0) return fault(1002, 'a message begins within another')
        this.#message = this.#opcode
        this.#sink.begin(this.#opcode === TEXT)
        return undefined
      case CLOSE:
      case PING:
      case PONG:
        this.#controlLength = 0
        if (!this.#fin) return fault(1002, 'a control frame is fragmented')
        return this.#remaining > MAX_CONTROL_BYTES ? fault(1002, 'a control frame is too long') : undefined
      default:
        return fault(1002, 'the opcode is unknown')
    }
  }

  private payload(chunk: Buffer, at: number, size: number): boolean {
    if (this.#opcode === CLOSE || (this.#opcode === PING && this.#sink.ping !== undefined)) {
      this.#controlLength += chunk.copy(this.#control, this.#controlLength, at, at + size)
      return true
    }
    if (this.#opcode >= CLOSE || !this.#reads) return true
    if (this.#message !== TEXT && this.#sink.binary === undefined) return true
    if (!this.#masked) return this.data(chunk, at, at + size)
    const end = at + size
    for (let from = at; from < end; ) {
      const length = this.#unmasker.unmask(chunk, from, end)
      if (!this.data(this.#unmasker.plain, 0, length)) return false
      from += length
    }
    return true
  }

  private data(bytes: Buffer, start: number, end: number): boolean {
    if (this.#message === TEXT) return this.#sink.text(bytes, start, end)
    return this.#sink.binary?.(bytes, start, end) ?? true
  }

  private ended(): boolean {
    if (this.#opcode === CLOSE) return this.close()
    if (this.#opcode === PING) this.#sink.ping?.(this.controlPayload())
    if (this.#opcode > CLOSE || !this.#fin) return true
    const isText = this.#message === TEXT
    this.#message = 0
    return this.#sink.end(isText)
  }

  /** Payload of the control frame that has just ended, unmasked. */
  private controlPayload(): Buffer {
    const payload = this.#control.subarray(0, this.#controlLength)
    if (this.#masked) {
      this.#unmasker.unmask(payload, 0, payload.length)
      this.#unmasker.plain.copy(payload, 0, 0, payload.length)
    }
    return payload
  }

  private close(): boolean {
    const payload = this.controlPayload()
    const [code, reason] = payload.length < 2 ? [1005, ''] : [payload.readUInt16BE(0), payload.toString('utf8', 2)]
    this.#closed = this.#sink.close(code, reason) !== false
    return this.#closed
  }
}

function fault(code: FrameFault['code'], reason: string): FrameFault {
  return { code, reason }
}

/** Size in bytes of the head that begins here, computed from its first two bytes. */
function headSize(bytes: Buffer, at: number): number {
  const second = bytes[at + 1]
  if (second === undefined) return MAX_HEAD_BYTES
  const length = second & 0x7f
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (second & 0x80 ? 4 : 0)
}
