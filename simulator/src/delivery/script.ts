import type { Family } from '../errors.js'
import type { Faults } from '../faults/table.js'
import type { Answer, ByteStream, EventStream } from '../protocol.js'
import { byteSteps, documentSteps } from './document.js'
import { eventPieces, eventSteps } from './events.js'
import type { Step } from './steps.js'
import { substitute } from './substitute.js'

interface ScriptOptions {
  readonly faults: Faults
  readonly family: Family
  readonly requestId: string
  /** The credential, unchanged. */
  readonly credential: string
  /** How much of the jitter is waited for, from 0 to 1. */
  readonly jitter: number
}

/** All that will be done to a response: pure, so that the same request meets the same steps. */
export function* script(answer: () => Answer, options: ScriptOptions): Generator<Step> {
  const { faults, family, requestId, jitter } = options
  const delay = (faults.latency ?? 0) + (faults.jitter ?? 0) * jitter
  if (delay > 0) yield { do: 'wait', milliseconds: delay }
  if (faults.hang || faults['no-read']) return yield { do: 'hang', ping: undefined }
  if (faults.reset) return yield { do: 'reset' }
  if (faults.raw !== undefined) return yield { do: 'raw', bytes: Buffer.from(RAW[faults.raw]) }
  if (faults['early-hints']) yield { do: 'informational' }
  const bare = substitute(answer, options)
  const sent = { ...bare, headers: { ...family.headers(requestId), ...bare.headers } }
  if (sent.kind === 'document') return yield* documentSteps(sent, faults)
  const packed = faults.encoding !== undefined || faults.bomb !== undefined
  if (packed)
    return yield* documentSteps({ ...gathered(sent, faults), status: faults.status ?? statusOf(sent) }, faults)
  if (sent.kind === 'bytes') return yield* byteSteps(sent, faults)
  yield* eventSteps(sent, faults, family.usual(500))
}

function statusOf(answer: EventStream | ByteStream): number {
  return (answer.kind === 'bytes' ? answer.status : undefined) ?? 200
}

/** A stream as one body, to be compressed at once. */
function gathered(answer: EventStream | ByteStream, faults: Faults) {
  const pieces =
    answer.kind === 'bytes' ? [...answer.pieces] : [...eventPieces(answer, faults)].flatMap(event => [...event])
  return { kind: 'document', headers: answer.headers, body: Buffer.concat(pieces) } as const
}

const JSON_TYPE = 'content-type: application/json\r\n'

/** Whole answers that HTTP/1.1 (RFC 9112) forbids. */
const RAW: Readonly<Record<NonNullable<Faults['raw']>, string>> = {
  'both-lengths': `HTTP/1.1 200 OK\r\n${JSON_TYPE}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'bad-status': `HTTP/1.1 2OO OK\r\n${JSON_TYPE}content-length: 2\r\n\r\n{}`,
  'bad-header': `HTTP/1.1 200 OK\r\n${JSON_TYPE}x-bad: a\0b\r\nx bad: c\r\ncontent-length: 2\r\n\r\n{}`,
  'not-http': 'SSH-2.0-simulator\r\n',
}
