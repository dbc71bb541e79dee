import type { SimulatorError } from '../errors.js'
import type { Faults } from '../faults/table.js'
import type { EventStream, StreamEvent, Writing } from '../protocol.js'
import { filling } from './content.js'
import { headerList, TRAILERS } from './document.js'
import { message } from './eventstream.js'
import { breakOff, paced, type Step, writes } from './steps.js'

const SPOILED = 1

/** How an answer that is sent event by event goes out. `failure` is the error that `error-after` sends. */
export function* eventSteps(answer: EventStream, faults: Faults, failure: SimulatorError): Generator<Step> {
  yield { do: 'head', status: faults.status ?? 200, headers: headerList(answer.headers, faults) }
  yield* writes([preamble(faults.framing)], faults)
  const cut = yield* paced(eventPieces(answer, faults), faults)
  if (cut !== undefined) {
    const last = cut === 'error-after' ? answer.failure(failure) : []
    yield* writes(
      last.map(event => frame(event, faults.framing, answer.writing)),
      faults,
    )
    return yield* breakOff(cut, faults, answer.writing)
  }
  yield* writes(filling(faults.trailing ?? 0), faults)
  yield { do: 'end', trailers: faults.trailers ? TRAILERS : undefined }
}

/** The bytes of each event, with those that faults add, break or leave out. */
export function* eventPieces(answer: EventStream, faults: Faults): Generator<Iterable<Uint8Array>> {
  const { events, writing } = answer
  let index = 0
  for (const event of events) {
    if (event.terminal && faults['no-terminator']) continue
    const { data } = event
    const whole = faults.malformed === undefined || index !== SPOILED
    const written = whole ? event : { ...event, data: data.slice(0, Math.ceil(data.length / 2)) }
    yield [comments(faults.comments, writing), frame(written, faults.framing, writing)]
    if (event.terminal && faults['double-done']) yield [frame(event, faults.framing, writing)]
    if (index === 0 && faults['big-line'] !== undefined) yield bigLine(faults['big-line'], writing)
    index += 1
  }
}

function* bigLine(size: number, writing: Writing | undefined): Generator<Uint8Array> {
  if (writing === 'eventstream') {
    yield message({ event: 'padding', data: JSON.stringify({ padding: 'x'.repeat(size) }) })
    return
  }
  const bare = writing === 'bare'
  yield Buffer.from(bare ? ',\r\n{"padding":"' : 'data: {"padding":"')
  yield* filling(size)
  yield Buffer.from(bare ? '"}\n' : '"}\n\n')
}

const COMMENT = ': a comment\n\n'

/** An event as the WHATWG event-stream format writes it, or as the `framing` fault wants it. What is bare has no lines. */
function frame({ event, data }: StreamEvent, framing: Faults['framing'], writing: Writing = 'lf'): Buffer {
  if (writing === 'bare') return Buffer.from(data)
  if (writing === 'eventstream') return message({ event: event ?? '', data })
  switch (framing) {
    case undefined:
    case 'bom':
      return lines(event, data, writing === 'crlf' ? '\r\n' : '\n')
    case 'crlf':
      return lines(event, data, '\r\n')
    case 'cr':
      return lines(event, data, '\r')
    case 'no-space':
      return Buffer.from(`${event === undefined ? '' : `event:${event}\n`}data:${data}\n\n`)
    case 'fields':
      return Buffer.from(`id: 1\nretry: 1000\nunknown\nnovel: field\n${lines(event, data, '\n')}`)
    case 'invalid-utf8':
      return Buffer.concat([Buffer.from([0x3a, 0xff, 0xc3, 0x28, 0x0a]), lines(event, data, '\n')])
    case 'nul':
      return Buffer.concat([Buffer.from('id: \0\n'), lines(event, data, '\n')])
  }
}

/** A byte order mark, where the stream is to begin with one. */
function preamble(framing: Faults['framing']): Buffer {
  return Buffer.from(framing === 'bom' ? '\u{feff}' : '')
}

function comments(count = 0, writing: Writing = 'lf'): Buffer {
  return Buffer.from(writing === 'bare' || writing === 'eventstream' ? '' : COMMENT.repeat(count))
}

function lines(event: string | undefined, data: string, end: string): Buffer {
  return Buffer.from(`${event === undefined ? '' : `event: ${event}${end}`}data: ${data}${end}${end}`)
}
