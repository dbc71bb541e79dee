import { isUtf8 } from 'node:buffer'
import type { RecordedChunk, RecordedExchange } from '../../core/recording.js'
import { Cleaner } from './cleaner.js'
import { recordedHead } from './recorded-head.js'
import type { Piece, WholeExchange } from './whole-exchange.js'

/** The text of the file of an exchange: without secrets, masked as the configuration says. */
export function exchangeText(exchange: WholeExchange): string {
  const cleaner = new Cleaner(exchange.about)
  const { recorded, request, response } = recordedHead(exchange, cleaner)
  const { after_ms, ...head } = response
  const whole = { recorded, request, response: { ...head, ...bodyOf(exchange, cleaner), after_ms } }
  return `${JSON.stringify(whole, undefined, 2)}\n`
}

function bodyOf({ pieces, headers }: WholeExchange, cleaner: Cleaner): Partial<RecordedExchange['response']> {
  const type = String(headers['content-type'] ?? '')
  const bytes = Buffer.concat(pieces.map(piece => piece.bytes))
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes)) return { base64: cleaner.bytes(bytes).toString('base64') }
  const text = bytes.toString('utf8')
  const isStream = /event-stream|ndjson|jsonl/.test(type)
  return isStream ? { chunks: chunksOf(pieces, cleaner) } : { body: cleaner.body(text) }
}

/** The lines of a stream, those of an event together, with the time at which the last of them came. */
function chunksOf(pieces: readonly Piece[], cleaner: Cleaner): readonly RecordedChunk[] {
  const chunks: RecordedChunk[] = []
  const decoder = new TextDecoder()
  let rest = ''
  for (const { bytes, at } of pieces) {
    const whole = (rest + decoder.decode(bytes, { stream: true })).split(/(?<=\r?\n\r?\n)/)
    rest = whole.pop() ?? ''
    if (/\r?\n\r?\n$/.test(rest)) {
      whole.push(rest)
      rest = ''
    }
    for (const text of whole) chunks.push({ after_ms: at, text })
  }
  if (rest !== '') chunks.push({ after_ms: pieces.at(-1)?.at ?? 0, text: rest })
  const cleaned = cleaner.stream(chunks.map(({ text }) => text))
  return chunks.map(({ after_ms = 0 }, at) => ({ after_ms, text: cleaned[at] ?? '' }))
}
