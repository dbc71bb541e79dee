/** The same memory seen as a Buffer, whose native search is many times faster than that of a plain Uint8Array. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** Whether the bytes from `start` to `end` are exactly `wanted`. */
export function isAt(bytes: Uint8Array, start: number, end: number, wanted: Uint8Array): boolean {
  const length = wanted.length
  if (end - start !== length) return false
  for (let i = 0; i < length; i++) if (bytes[start + i] !== wanted[i]) return false
  return true
}

/** Whether `wanted` begins at `start`. */
export function startsAt(bytes: Uint8Array, start: number, wanted: Uint8Array): boolean {
  return start + wanted.length <= bytes.length && isAt(bytes, start, start + wanted.length, wanted)
}

/** Position of the first `byte` at or after `from`; the length of `bytes` if there is none. */
export function next(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from)
  return found < 0 ? bytes.length : found
}
