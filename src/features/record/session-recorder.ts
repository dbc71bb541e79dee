import type { GatewayError } from '../../core/errors.js'
import type { RecordedEnd } from '../../core/recording.js'
import type { SessionObserver, SessionSide } from '../../net/pools.js'
import type { RecordingsSink } from '../../sinks/recordings/recordings-sink.js'
import type { Frame, RecordedBegin } from '../../sinks/recordings/whole-exchange.js'

/** Most of a session that is recorded, bytes: its recording ends where that is reached. */
const MAX_SESSION_BYTES = 32 * 1024 * 1024
/** Largest message that is recorded, bytes: each is cleaned in one step. */
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024
/** What a frame takes beside its bytes, about. */
const FRAME_OVERHEAD_BYTES = 256

/** Close code of a session that ended without a close frame (RFC 6455 §7.4.1). */
const ABNORMAL = 1006

/**
 * Gathers the frames of one session, and hands them over when it is over, however it ended, or when no more of it can be recorded.
 * It copies bytes as they pass; all other work comes later. A fault here ends the recording, not the session.
 */
export class SessionRecorder implements SessionObserver {
  readonly #begin: RecordedBegin
  readonly #sink: RecordingsSink
  readonly #elapsed: () => number
  #frames: Frame[] = []
  readonly #pieces: Record<SessionSide, Buffer[]> = { client: [], upstream: [] }
  readonly #sizes: Record<SessionSide, number> = { client: 0, upstream: 0 }
  #reserved = 0
  #isOver = false

  /** `elapsed`: milliseconds since the request. */
  constructor(begin: RecordedBegin, sink: RecordingsSink, elapsed: () => number) {
    this.#begin = begin
    this.#sink = sink
    this.#elapsed = elapsed
  }

  onPiece(by: SessionSide, bytes: Buffer): void {
    this.#sizes[by] += bytes.length
    if (this.#sizes[by] > MAX_MESSAGE_BYTES) this.#end(`a message has more than ${MAX_MESSAGE_BYTES} bytes`)
    if (!this.#reserve(bytes.length)) return
    try {
      this.#pieces[by].push(Buffer.from(bytes))
    } catch (cause) {
      this.#end(cause instanceof Error ? cause.message : String(cause))
    }
  }

  onMessage(by: SessionSide, isText: boolean): void {
    const pieces = this.#pieces[by]
    this.#pieces[by] = []
    this.#sizes[by] = 0
    if (this.#reserve(FRAME_OVERHEAD_BYTES)) this.#frames.push({ from: by, at: this.#elapsed(), isText, pieces })
  }

  onClose(by: SessionSide, code: number, reason: string): void {
    if (!this.#isOver) this.#frames.push({ from: by, at: this.#elapsed(), code, reason })
  }

  onEnd(closed: { readonly code: number; readonly by: string } | undefined, error: GatewayError | undefined): void {
    const { code, by } = closed ?? { code: ABNORMAL, by: 'gateway' }
    this.#write({ by, code, ...(error === undefined ? {} : { error: error.code }) })
  }

  #reserve(bytes: number): boolean {
    if (this.#isOver) return false
    if (this.#reserved + bytes > MAX_SESSION_BYTES) this.#end(`it has more than ${MAX_SESSION_BYTES} bytes`)
    else if (!this.#sink.reserve(bytes)) this.#end('too many wait to be written')
    else this.#reserved += bytes
    return !this.#isOver
  }

  /** Nothing more is recorded: a session without its middle could not be played. It may last for hours, and others need the room. */
  #end(reason: string): void {
    this.#write({ by: 'gateway', code: ABNORMAL, cut: reason })
  }

  #write(end: Omit<RecordedEnd, 'after_ms'>): void {
    if (this.#isOver) return
    this.#isOver = true
    const frames = this.#frames
    this.#frames = []
    for (const by of ['client', 'upstream'] as const) this.#pieces[by] = []
    this.#sink.write({ ...this.#begin, frames, end: { ...end, after_ms: this.#elapsed() } }, this.#reserved)
  }
}
