/** HTTP/1.1 messages as bytes, for tests that look at exactly what crossed a socket. */

export interface Head {
  /** Request line or status line. */
  readonly line: string
  /** In the order and spelling of the wire. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly raw: Buffer
}

/** Splits a complete head off the front of `bytes`; `undefined` while it is not complete. */
export function takeHead(bytes: Buffer): { head: Head; rest: Buffer } | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const raw = bytes.subarray(0, end + 4)
  const [line = '', ...lines] = raw.toString('latin1').slice(0, -4).split('\r\n')
  const fields = lines.map(text => {
    const colon = text.indexOf(':')
    return [text.slice(0, colon), text.slice(colon + 1).trim()] as const
  })
  return { head: { line, fields, raw }, rest: bytes.subarray(end + 4) }
}

/** All values of a header, joined by `, `; `undefined` where it is absent. */
export function field(head: Head, name: string): string | undefined {
  const values = head.fields.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value)
  return values.length === 0 ? undefined : values.join(', ')
}

type Framing = { type: 'length'; left: number } | { type: 'chunked' } | { type: 'close' }

/** Decodes one message body as it arrives. `done` only where its own framing says so. */
export class BodyReader {
  readonly #framing: Framing
  #pending: Buffer = Buffer.alloc(0)
  #body: Buffer[] = []
  #done = false
  #after: Buffer = Buffer.alloc(0)

  constructor(head: Head, without: 'close' | 'nothing') {
    const length = field(head, 'content-length')
    if (field(head, 'transfer-encoding') !== undefined) this.#framing = { type: 'chunked' }
    else if (length !== undefined) this.#framing = { type: 'length', left: Number(length) }
    else this.#framing = without === 'close' ? { type: 'close' } : { type: 'length', left: 0 }
    this.push(Buffer.alloc(0))
  }

  push(bytes: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, bytes])
    while (!this.#done && this.#step());
    if (this.#done) {
      this.#after = Buffer.concat([this.#after, this.#pending])
      this.#pending = Buffer.alloc(0)
    }
  }

  get body(): Buffer {
    return Buffer.concat(this.#body)
  }

  get done(): boolean {
    return this.#done
  }

  /** Bytes that followed the message. */
  get after(): Buffer {
    return this.#after
  }

  /** The peer closed: whether the message was whole. */
  close(): boolean {
    if (this.#framing.type === 'close') this.#done = true
    return this.#done
  }

  #step(): boolean {
    if (this.#framing.type === 'chunked') return this.#chunk()
    const size =
      this.#framing.type === 'length' ? Math.min(this.#framing.left, this.#pending.length) : this.#pending.length
    this.#take(size)
    if (this.#framing.type === 'length') {
      this.#framing.left -= size
      this.#done = this.#framing.left === 0
    }
    return false
  }

  #chunk(): boolean {
    const line = this.#pending.indexOf('\r\n')
    if (line === -1) return false
    const size = Number.parseInt(this.#pending.toString('latin1', 0, line), 16)
    if (size === 0) return this.#lastChunk(line)
    if (this.#pending.length < line + 2 + size + 2) return false
    this.#pending = this.#pending.subarray(line + 2)
    this.#take(size)
    this.#pending = this.#pending.subarray(2)
    return true
  }

  #lastChunk(line: number): boolean {
    const end = this.#pending.indexOf('\r\n\r\n', line)
    if (end === -1) return false
    this.#pending = this.#pending.subarray(end + 4)
    this.#done = true
    return false
  }

  #take(size: number): void {
    if (size > 0) this.#body.push(this.#pending.subarray(0, size))
    this.#pending = this.#pending.subarray(size)
  }
}

/** Cuts bytes at the given offsets. */
export function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const points = [0, ...[...at].sort((a, b) => a - b), bytes.length]
  return points
    .slice(1)
    .map((end, i) => bytes.subarray(points[i], end))
    .filter(piece => piece.length > 0)
}
