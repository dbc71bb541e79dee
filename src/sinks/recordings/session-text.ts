import { isUtf8 } from 'node:buffer'
import type { RecordedFrame } from '../../core/recording.js'
import { Cleaner } from './cleaner.js'
import { recordedHead } from './recorded-head.js'
import type { Frame, WholeSession } from './whole-exchange.js'

/** Characters that are written at a time: between them the event loop has other work. */
const SLICE_CHARS = 64 * 1024

/** The text of the file of a session, in slices: a line for each frame, cleaned like {@link exchangeText}. */
export async function* sessionText(session: WholeSession): AsyncGenerator<string> {
  const cleaner = new Cleaner(session.about)
  const head = JSON.stringify(recordedHead(session, cleaner), undefined, 2)
  let slice = `${head.slice(0, head.lastIndexOf('\n}'))},\n  "frames": [`
  for (const [at, frame] of session.frames.entries()) {
    slice += `${at === 0 ? '' : ','}\n    ${JSON.stringify(recordedFrame(frame, cleaner))}`
    if (slice.length < SLICE_CHARS) continue
    yield slice
    slice = ''
  }
  yield `${slice}\n  ],\n  "end": ${JSON.stringify(session.end)}\n}\n`
}

function recordedFrame(frame: Frame, cleaner: Cleaner): RecordedFrame {
  const { from, at: after_ms } = frame
  if ('code' in frame) {
    const reason = frame.reason === '' ? {} : { reason: cleaner.text(frame.reason) }
    return { from, after_ms, close: frame.code, ...reason }
  }
  const bytes = frame.pieces.length === 1 ? (frame.pieces[0] as Buffer) : Buffer.concat(frame.pieces)
  // Some protocols send their JSON in binary frames.
  if (!frame.isText && !isReadable(bytes)) return { from, after_ms, base64: cleaner.bytes(bytes).toString('base64') }
  const said = cleaner.body(bytes.toString('utf8'))
  const binary = frame.isText ? {} : { binary: true as const }
  return { from, after_ms, ...binary, ...(typeof said === 'string' ? { text: said } : { json: said }) }
}

/** Whether a person can read the bytes: sound may be valid UTF-8, too. */
function isReadable(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.some(byte => byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d)
}
