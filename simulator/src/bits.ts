/** The last so many bits of a number, as text. */
export function bits(value: number, count: number): string {
  return value.toString(2).padStart(count, '0').slice(-count)
}

/** Bits as bytes, the highest of each byte first; the last byte, or the length that is asked for, is filled with zeros. */
export function packed(text: string, length = Math.ceil(text.length / 8)): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < text.length; at += 8) bytes[at / 8] = Number.parseInt(text.slice(at, at + 8).padEnd(8, '0'), 2)
  return bytes
}
