import { isUtf8 } from 'node:buffer'
import { spotAt } from './document.js'
import type { Report } from './report.js'
import { Source } from './source.js'

/** The text of a file. Undefined where it is not UTF-8; the report says so. */
export function decodedSource(path: string, bytes: Buffer, report: Report): Source | undefined {
  const decoded = decode(bytes)
  const source = new Source(path, decoded.text)
  if (!('at' in decoded)) return source
  const byte = `0x${decoded.byte.toString(16).toUpperCase().padStart(2, '0')}`
  const message = decoded.utf16
    ? 'the file is UTF-16; save it as UTF-8'
    : `the byte ${byte} is not UTF-8; save the file as UTF-8`
  // The line is not shown: broken text does not show whether it holds a secret.
  const { position, length } = spotAt(source, decoded.at, decoded.at + 1)
  report.add({ severity: 'error', rule: 'not-utf8', path: '', message, position, length })
  return undefined
}

const BYTE_ORDER_MARK = '\ufeff'

/** The text of a UTF-8 file without its byte order mark, or the first byte that is not UTF-8. */
type Decoded =
  | { readonly text: string }
  /** `text` has U+FFFD where bytes are broken; `at` is the first such place, in UTF-16 units. */
  | { readonly text: string; readonly at: number; readonly byte: number; readonly utf16: boolean }

/** @testonly */
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
