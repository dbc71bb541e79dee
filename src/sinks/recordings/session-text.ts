import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { type Changes, CutTexts } from '../../core/cut-texts.js'
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
  const changes = await changesOf(session.frames, cleaner)
  let slice = `${head.slice(0, head.lastIndexOf('\n}'))},\n  "frames": [`
  for (const [at, frame] of session.frames.entries()) {
    slice += `${at === 0 ? '' : ','}\n    ${JSON.stringify(recordedFrame(frame, cleaner, changes.get(at)))}`
    if (slice.length < SLICE_CHARS) continue
    yield slice
    slice = ''
  }
  yield `${slice}\n  ],\n  "end": ${JSON.stringify(session.end)}\n}\n`
}

/** What changes in messages whose texts continue in others of the same side, by their place among all frames. */
async function changesOf(frames: readonly Frame[], cleaner: Cleaner): Promise<ReadonlyMap<number, Changes>> {
  const sides = { client: new CutTexts(), upstream: new CutTexts() }
  let chars = 0
  for (const [at, frame] of frames.entries()) {
    const text = 'code' in frame ? undefined : textOf(frame)
    if (text === undefined) continue
    cleaner.note(sides[frame.from], at, text)
    chars += text.length
    if (chars < SLICE_CHARS) continue
    await setImmediate()
    chars = 0
  }
  // Played, each message of the client is compared alone: a mark matches any text.
  return new Map([...cleaner.changes(sides.client, true), ...cleaner.changes(sides.upstream)])
}

function recordedFrame(frame: Frame, cleaner: Cleaner, changes: Changes | undefined): RecordedFrame {
  const { from, at: after_ms } = frame
  if ('code' in frame) {
    const reason = frame.reason === '' ? {} : { reason: cleaner.text(frame.reason) }
    return { from, after_ms, close: frame.code, ...reason }
  }
  const text = textOf(frame)
  if (text === undefined) return { from, after_ms, base64: cleaner.bytes(bytesOf(frame)).toString('base64') }
  const said = cleaner.body(text, changes)
  const binary = frame.isText ? {} : { binary: true as const }
  return { from, after_ms, ...binary, ...(typeof said === 'string' ? { text: said } : { json: said }) }
}

type Message = Extract<Frame, { readonly isText: boolean }>

function bytesOf({ pieces }: Message): Buffer {
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
}

/** Undefined: bytes. Some protocols send their JSON in binary frames. */
function textOf(frame: Message): string | undefined {
  const bytes = bytesOf(frame)
  return frame.isText || isReadable(bytes) ? bytes.toString('utf8') : undefined
}

/** Whether a person can read the bytes: sound may be valid UTF-8, too. */
function isReadable(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.some(byte => byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d)
}
