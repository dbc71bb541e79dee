import { isUtf8 } from 'node:buffer'

const BYTE_ORDER_MARK = '\ufeff'

/** The text of a UTF-8 file without its byte order mark, or the first byte that is not UTF-8. */
export type Decoded =
  | { readonly text: string }
  /** `text` has U+FFFD where bytes are broken; `at` is the first such place, in UTF-16 units. */
  | { readonly text: string; readonly at: number; readonly byte: number; readonly utf16: boolean }

export function decode(bytes: Buffer): Decoded {
  const whole = bytes.toString('utf8')
  const mark = whole.startsWith(BYTE_ORDER_MARK) ? 1 : 0
  const text = whole.slice(mark)
  if (isUtf8(bytes)) return { text }
  const { at, byte } = firstBroken(bytes, whole)
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  return { text, at: Math.max(0, at - mark), byte, utf16 }
}

/** The decoder puts U+FFFD where bytes are broken; up to the first of those, offsets in text and bytes go in step. */
function firstBroken(bytes: Buffer, text: string): { at: number; byte: number } {
  let offset = 0
  let from = 0
  for (let at = text.indexOf('\ufffd'); at !== -1; at = text.indexOf('\ufffd', from)) {
    offset += Buffer.byteLength(text.slice(from, at))
    const genuine = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd
    if (!genuine) return { at, byte: bytes[offset] ?? 0 }
    offset += 3
    from = at + 1
  }
  return { at: 0, byte: bytes[0] ?? 0 }
}
