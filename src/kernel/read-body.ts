import { tooLarge } from '../core/admission.js'
import { GatewayError } from '../core/errors.js'
import type { HttpExchange, HttpRequest } from '../transport/exchange.js'

/** The declared length of a request's body, bytes. */
export function declaredLength(request: HttpRequest): number | undefined {
  const header = request.headers['content-length']
  return header === undefined ? undefined : Number(header)
}

export function hasBody(request: HttpRequest): boolean {
  return request.headers['transfer-encoding'] !== undefined || (declaredLength(request) ?? 0) > 0
}

/** Rejects a body that is declared to be over the limit before reading it; tells a client that waits for 100 to begin. */
export function invite(request: HttpExchange, limit: number): void {
  const declared = declaredLength(request)
  if (declared !== undefined && declared > limit) throw tooLarge(limit)
  if (request.headers.expect !== undefined) request.invite()
}

/** Larger bodies are read only once memory is reserved for them, and are written into one buffer as they arrive. */
export const LARGE_BODY_BYTES = 256 * 1024
/** Initial buffer of a body without a content length; it doubles as the body grows. */
const INITIAL_BUFFER_BYTES = 1024 * 1024

interface BodyReading {
  /** Most bytes. */
  readonly limit: number
  /** Reserves memory for so many bytes; undefined if it is reserved at once. */
  readonly hold: (bytes: number) => Promise<void> | undefined
  /**
   * Called with each piece as it arrives, except for a body that arrives in one piece. After it returns false nothing more is
   * kept, and the result is an empty body.
   */
  readonly onPiece: (piece: Buffer) => boolean
}

/**
 * The whole body, at once if it has arrived already. A large one waits at its client until memory is reserved for it. Throws,
 * or rejects with, `too_large`, what `hold` rejects with, and `client_gone`.
 */
export function readBody(request: HttpExchange, reading: BodyReading): Buffer | Promise<Buffer> {
  const { whole } = request
  if (whole === undefined) return gather(request, reading)
  const { length } = whole
  if (length > reading.limit) throw tooLarge(reading.limit)
  const room = length > LARGE_BODY_BYTES ? reading.hold(length) : undefined
  return room === undefined ? whole : room.then(() => whole)
}

function gather(request: HttpExchange, { limit, hold, onPiece }: BodyReading): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new Gathered(limit, onPiece)
    const fail = (error: unknown): void => {
      request.pause()
      reject(error)
    }
    const wait = async (declared: number | undefined): Promise<void> => {
      const room = hold(declared ?? limit)
      if (room !== undefined) {
        request.pause()
        await room
      }
      body.joinFromNowOn(declared ?? INITIAL_BUFFER_BYTES)
      request.resume()
    }
    request.receive({
      data(chunk) {
        const before = body.size
        body.take(chunk)
        if (body.size > limit) fail(tooLarge(limit))
        else if (before <= LARGE_BODY_BYTES && body.size > LARGE_BODY_BYTES && body.kept)
          wait(declaredLength(request)).catch(fail)
      },
      end: () => resolve(body.bytes),
      gone: () => reject(new GatewayError('client_gone', 'The client disconnected.', { phase: 'upload' })),
    })
  })
}

/** A body's received bytes: pieces, and beyond a certain size one buffer. */
class Gathered {
  readonly #limit: number
  readonly #onPiece: (piece: Buffer) => boolean
  readonly #pieces: Buffer[] = []
  #whole: Buffer | undefined
  #kept = true
  #size = 0

  constructor(limit: number, onPiece: (piece: Buffer) => boolean) {
    this.#limit = limit
    this.#onPiece = onPiece
  }

  /** Bytes received. */
  get size(): number {
    return this.#size
  }

  /** Whether the body is still needed. */
  get kept(): boolean {
    return this.#kept
  }

  get bytes(): Buffer {
    if (!this.#kept) return Buffer.alloc(0)
    const [only] = this.#pieces
    if (this.#whole !== undefined) return this.#whole.subarray(0, this.#size)
    return this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces)
  }

  take(chunk: Buffer): void {
    const at = this.#size
    this.#size += chunk.length
    if (this.#size > this.#limit || !this.#kept) return
    const [first] = this.#pieces
    if (at > 0 && at === first?.length) this.show(first)
    if (this.#whole === undefined) this.#pieces.push(chunk)
    // The observer may keep the chunk, so it gets the stored buffer's part.
    if (at > 0) this.show(this.#whole === undefined ? chunk : this.put(this.#whole, chunk, at))
  }

  /** Moves the pieces into one buffer, of `size` bytes at first. */
  joinFromNowOn(size: number): void {
    const whole = Buffer.allocUnsafeSlow(Math.max(size, this.#size))
    let at = 0
    for (const piece of this.#pieces) at += piece.copy(whole, at)
    this.#pieces.length = 0
    this.#whole = whole
  }

  /** Copies a piece to its offset; returns that part of the buffer. */
  private put(whole: Buffer, piece: Buffer, at: number): Buffer {
    const end = at + piece.length
    let room = whole
    if (end > whole.length) {
      room = Buffer.allocUnsafeSlow(Math.min(this.#limit, Math.max(end, 2 * whole.length)))
      whole.copy(room, 0, 0, at)
      this.#whole = room
    }
    piece.copy(room, at)
    return room.subarray(at, end)
  }

  private show(piece: Buffer): void {
    this.#kept = this.#kept && this.#onPiece(piece)
    if (this.#kept) return
    this.#pieces.length = 0
    this.#whole = undefined
  }
}
