import type { Faults } from '../faults/table.js'
import type { Document } from '../protocol.js'
import { breakOf, breakOff } from './break.js'
import { filling } from './bulk.js'
import { contentOf, upTo } from './content.js'
import { headerList } from './headers.js'
import type { Step } from './steps.js'
import { writes } from './writes.js'

/** How an answer that is sent whole goes out. */
export function* documentSteps(answer: Document, faults: Faults): Generator<Step> {
  const { length, pieces } = contentOf(answer.body, faults)
  const framing = length === undefined ? {} : { 'content-length': String(length) }
  yield { do: 'head', status: answer.status, headers: headerList({ ...answer.headers, ...framing }, faults) }
  const cut = breakOf(faults)
  const { truncate = Number.POSITIVE_INFINITY, overrun = 0, trailers } = faults
  const limit = cut === undefined ? truncate : cut.after === 0 ? 0 : Math.floor(answer.body.length / 2)
  yield* writes(upTo(limit, pieces), faults)
  if (cut !== undefined) return yield* breakOff(cut.name === 'fin-after' ? 'cut-after' : cut.name, faults)
  if (truncate < (length ?? 0)) return yield { do: 'close' }
  yield* writes(filling(overrun), faults)
  yield { do: 'end', trailers: trailers ? TRAILERS : undefined }
}

const TRAILERS = { 'x-trailer': 'simulator' } as const
