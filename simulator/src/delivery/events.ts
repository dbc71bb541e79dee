import type { SimulatorError } from '../errors.js'
import type { Faults } from '../faults/table.js'
import type { EventStream, Writing } from '../protocol.js'
import { breakOf, breakOff } from './break.js'
import { filling } from './bulk.js'
import { comments, frame, preamble } from './frames.js'
import { headerList } from './headers.js'
import type { Step } from './steps.js'
import { writes } from './writes.js'

const SPOILED = 1

/** How an answer that is sent event by event goes out. `failure` is the error that `error-after` sends. */
export function* eventSteps(answer: EventStream, faults: Faults, failure: SimulatorError): Generator<Step> {
  yield { do: 'head', status: faults.status ?? 200, headers: headerList(answer.headers, faults) }
  yield* writes([preamble(faults.framing)], faults)
  const cut = breakOf(faults)
  let sent = 0
  for (const event of cut?.after === 0 ? [] : eventPieces(answer, faults)) {
    if (faults.pace !== undefined && sent > 0) yield { do: 'wait', milliseconds: faults.pace }
    yield* writes(event, faults)
    sent += 1
    if (sent === cut?.after) break
  }
  if (cut !== undefined && sent === cut.after) {
    const last = cut.name === 'error-after' ? answer.failure(failure) : []
    yield* writes(
      last.map(event => frame(event, faults.framing, answer.writing)),
      faults,
    )
    return yield* breakOff(cut.name, faults, answer.writing)
  }
  yield* writes(filling(faults.trailing ?? 0), faults)
  yield { do: 'end', trailers: faults.trailers ? { 'x-trailer': 'simulator' } : undefined }
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
  const bare = writing === 'bare'
  yield Buffer.from(bare ? ',\r\n{"padding":"' : 'data: {"padding":"')
  yield* filling(size)
  yield Buffer.from(bare ? '"}\n' : '"}\n\n')
}
