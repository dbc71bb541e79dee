/** Writes and reads messages of Protocol Buffers (https://protobuf.dev/programming-guides/encoding/). */

/** Types of fields on the wire. */
const VARINT = 0
const FIXED64 = 1
const LENGTH_DELIMITED = 2
const FIXED32 = 5

const FIRST_BYTES = 4096
/** Bits of a varint's byte. */
const PART = 0x80
const NS_PER_MS = 1_000_000n
/** Numbers that four bytes hold. */
const WORD = 2 ** 32
/** Longest varint, bytes. */
const MAX_VARINT_BYTES = 10

/** Grows as it is written to; `take` copies what was written and begins anew. */
export class ProtobufWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #at = 0

  get length(): number {
    return this.#at
  }

  take(): Buffer {
    const written = Buffer.from(this.#bytes.subarray(0, this.#at))
    this.#at = 0
    return written
  }

  /** A message in a field. */
  message(field: number, write: () => void): void {
    this.#tag(field, LENGTH_DELIMITED)
    const at = this.#at
    // Most lengths take one byte.
    this.#room(1)
    this.#at++
    write()
    const length = this.#at - at - 1
    if (length >= PART) {
      const more = sizeOf(length) - 1
      this.#room(more)
      this.#bytes.copyWithin(at + 1 + more, at + 1, this.#at)
      this.#at += more
    }
    const end = this.#at
    this.#at = at
    this.#varint(length)
    this.#at = end
  }

  string(field: number, text: string): void {
    this.#tag(field, LENGTH_DELIMITED)
    const length = Buffer.byteLength(text)
    this.#room(MAX_VARINT_BYTES + length)
    this.#varint(length)
    this.#at += this.#bytes.write(text, this.#at)
  }

  /** Bytes that are given in hex. */
  hex(field: number, digits: string): void {
    this.#tag(field, LENGTH_DELIMITED)
    this.#room(1 + digits.length)
    this.#varint(digits.length / 2)
    this.#at += this.#bytes.write(digits, this.#at, 'hex')
  }

  /** Whole and not negative. */
  integer(field: number, value: number): void {
    this.#tag(field, VARINT)
    this.#varint(value)
  }

  double(field: number, value: number): void {
    this.#tag(field, FIXED64)
    this.#doubleValue(value)
  }

  fixed32(field: number, value: number): void {
    this.#tag(field, FIXED32)
    this.#room(4)
    this.#at = this.#bytes.writeUInt32LE(value, this.#at)
  }

  /** Whole and not negative, in eight bytes. */
  fixed64(field: number, value: number): void {
    this.#tag(field, FIXED64)
    this.#fixed64Value(value)
  }

  /** Numbers as one packed field. */
  fixed64s(field: number, values: readonly number[]): void {
    this.message(field, () => {
      for (const value of values) this.#fixed64Value(value)
    })
  }

  doubles(field: number, values: readonly number[]): void {
    this.message(field, () => {
      for (const value of values) this.#doubleValue(value)
    })
  }

  /** A time in milliseconds since the epoch, as nanoseconds. */
  time(field: number, milliseconds: number): void {
    this.#tag(field, FIXED64)
    const whole = Math.floor(milliseconds)
    const nanoseconds = BigInt(whole) * NS_PER_MS + BigInt(Math.floor((milliseconds - whole) * 1e6))
    this.#room(8)
    this.#at = this.#bytes.writeBigUInt64LE(nanoseconds, this.#at)
  }

  #fixed64Value(value: number): void {
    this.#room(8)
    this.#at = this.#bytes.writeUInt32LE(value % WORD, this.#at)
    this.#at = this.#bytes.writeUInt32LE(Math.floor(value / WORD), this.#at)
  }

  #doubleValue(value: number): void {
    this.#room(8)
    this.#at = this.#bytes.writeDoubleLE(value, this.#at)
  }

  #tag(field: number, type: number): void {
    this.#room(MAX_VARINT_BYTES)
    this.#varint(field * 8 + type)
  }

  /** Of what there is room for. */
  #varint(value: number): void {
    this.#room(MAX_VARINT_BYTES)
    let rest = value
    while (rest >= PART) {
      this.#bytes[this.#at++] = (rest % PART) + PART
      rest = Math.floor(rest / PART)
    }
    this.#bytes[this.#at++] = rest
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#at + bytes))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

function sizeOf(value: number): number {
  let size = 1
  for (let rest = value; rest >= PART; rest = Math.floor(rest / PART)) size++
  return size
}

/** A field with a message that holds these pieces. */
export function framed(field: number, pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  let length = 0
  for (const piece of pieces) length += piece.length
  return [headOf(field, length), ...pieces]
}

/** The tag and the length of a field with a message. */
function headOf(field: number, length: number): Uint8Array {
  const bytes: number[] = []
  for (const value of [field * 8 + LENGTH_DELIMITED, length]) {
    let rest = value
    while (rest >= PART) {
      bytes.push((rest % PART) + PART)
      rest = Math.floor(rest / PART)
    }
    bytes.push(rest)
  }
  return Uint8Array.from(bytes)
}

/** Numbers (varints), and bytes of texts and messages, by their fields; up to where a message cannot be read. */
export function* fieldsOf(message: Uint8Array): Generator<readonly [field: number, value: number | Uint8Array]> {
  let at = 0
  const varint = (): number => {
    let value = 0
    for (let unit = 1; at < message.length; unit *= PART) {
      const byte = message[at++] ?? 0
      value += (byte % PART) * unit
      if (byte < PART) return value
    }
    return Number.NaN
  }
  while (at < message.length) {
    const tag = varint()
    const [field, type] = [Math.floor(tag / 8), tag % 8]
    if (type === VARINT) yield [field, varint()]
    else if (type === LENGTH_DELIMITED) {
      const end = varint() + at
      if (!(end <= message.length)) return
      yield [field, message.subarray(at, end)]
      at = end
    } else if (type === FIXED64 || type === FIXED32) at += type === FIXED64 ? 8 : 4
    else return
  }
}
