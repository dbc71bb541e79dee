/** The header of each message: its length, and whether it is text. */
const HEADER_BYTES = 5
const MIN_CAPACITY_BYTES = 4 * 1024

/** Messages in a row of bytes, so that a tiny one takes little more than itself. */
export class MessageQueue {
  #room = Buffer.alloc(0)
  #from = 0
  #to = 0

  /** In bytes. */
  get length(): number {
    return this.#to - this.#from
  }

  /** Adds a message, which is copied. */
  push(data: Buffer, isText: boolean): void {
    this.grow(HEADER_BYTES + data.length)
    this.#room.writeUInt32BE(data.length, this.#to)
    this.#room[this.#to + HEADER_BYTES - 1] = isText ? 1 : 0
    data.copy(this.#room, this.#to + HEADER_BYTES)
    this.#to += HEADER_BYTES + data.length
  }

  /** Takes the first message, if there is one. Its bytes stay as they are. */
  shift(take: (data: Buffer, isText: boolean) => void): void {
    if (this.length === 0) return
    const start = this.#from + HEADER_BYTES
    const end = start + this.#room.readUInt32BE(this.#from)
    const isText = this.#room[start - 1] === 1
    const data = this.#room.subarray(start, end)
    this.#from = end
    // Consumers may still read the messages that they took, so an empty queue starts with a new buffer.
    if (this.length === 0) this.clear()
    take(data, isText)
  }

  clear(): void {
    this.#room = Buffer.alloc(0)
    this.#from = 0
    this.#to = 0
  }

  private grow(bytes: number): void {
    if (this.#to + bytes <= this.#room.length) return
    const { length } = this
    const room = Buffer.allocUnsafeSlow(Math.max(length + bytes, 2 * length, MIN_CAPACITY_BYTES))
    this.#room.copy(room, 0, this.#from, this.#to)
    this.#room = room
    this.#from = 0
    this.#to = length
  }
}
