import type { Faults } from '../faults/table.js'
import type { ByteStream, Document, Headers } from '../protocol.js'
import { contentOf, filling, upTo } from './content.js'
import { breakOf, breakOff, paced, type Step, writes } from './steps.js'

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

/** What the fault `trailers` sends behind a body. */
export const TRAILERS = { 'x-trailer': 'simulator' } as const

/** Sends bytes as they are made; a piece counts as an event. The head has a length if it is known, or if a fault makes it wrong. */
export function* byteSteps(answer: ByteStream, faults: Faults): Generator<Step> {
  const { truncate = Number.POSITIVE_INFINITY, overrun = 0, trailing = 0, trailers } = faults
  const isWrong = faults.truncate !== undefined || overrun > 0
  const { length, pieces } = isWrong && answer.length === undefined ? counted(answer.pieces) : answer
  const framing = length === undefined || (trailers && !isWrong) ? {} : { 'content-length': String(length) }
  yield {
    do: 'head',
    status: faults.status ?? answer.status ?? 200,
    headers: headerList({ ...answer.headers, ...framing }, faults),
  }
  const cut = yield* paced(upTo(truncate, pieces), faults)
  if (cut !== undefined) return yield* breakOff(cut, faults)
  if (truncate < (length ?? 0)) return yield { do: 'close' }
  yield* writes(filling(overrun + trailing), faults)
  yield { do: 'end', trailers: trailers ? TRAILERS : undefined }
}

function counted(made: Iterable<Uint8Array>): Pick<ByteStream, 'length' | 'pieces'> {
  const pieces = [...made]
  return { length: pieces.reduce((sum, piece) => sum + piece.length, 0), pieces }
}

type HeaderList = readonly (readonly [string, string])[]

const BIG_HEADER_BYTES = 60 * 1024
const MANY_HEADERS = 200
const MAX_LAYERS = 2000

const HOP: HeaderList = [
  ['connection', 'keep-alive, x-hop'],
  ['x-hop', 'must not be forwarded'],
  ['keep-alive', 'timeout=5'],
  ['proxy-authenticate', 'Basic realm="simulator"'],
  ['upgrade', 'h2c'],
  ['set-cookie', 'session=simulator; HttpOnly'],
  ['set-cookie', 'other=simulator'],
]

/** The headers of an answer, with those that faults add. */
export function headerList(headers: Headers, faults: Faults): HeaderList {
  return [...Object.entries(headers), ...odd(faults.headers), ...encoding(faults)]
}

function odd(headers: Faults['headers']): HeaderList {
  switch (headers) {
    case 'big':
      return [['x-big', 'x'.repeat(BIG_HEADER_BYTES)]]
    case 'many':
      return Array.from({ length: MANY_HEADERS }, (_, index) => [`x-many-${index}`, String(index)] as const)
    case 'hop':
      return HOP
    case undefined:
      return []
  }
}

function encoding({ encoding: name, bomb, 'encoding-layers': layers = 0 }: Faults): HeaderList {
  if (layers > 0) return [['content-encoding', Array(Math.min(layers, MAX_LAYERS)).fill('gzip').join(', ')]]
  const applied = bomb === undefined ? name : 'gzip'
  return applied === undefined ? [] : [['content-encoding', applied]]
}
