import { LACKING } from './lacks.js'
import {
  closeCode,
  count,
  duration,
  flag,
  length,
  oneOf,
  percent,
  share,
  size,
  someOf,
  status,
  url,
  type ValueKind,
  word,
} from './values.js'

/** When a fault strikes: `always`, or only in the requests that `times` and `failure-rate` choose. */
export interface Fault<T> {
  readonly strikes: 'always' | 'chosen'
  readonly value: ValueKind<T>
  readonly description: string
}

/**
 * Everything that a tester can ask of the simulator, by name. The docs are made from this table. "Event" means an event
 * of a stream, or a piece of an answer of bytes; any other answer counts as one event, and breaks off in its middle.
 */
export const FAULTS = {
  latency: always(duration, 'Wait so long before anything is answered.'),
  jitter: always(duration, 'Wait up to so much longer; how much follows from the request and its number.'),
  pace: always(duration, 'Wait so long between events.'),
  tokens: always(length, 'Let a text answer be exactly so many tokens long, at most 20000.'),
  reasoning: always(flag, 'Behave as a reasoning model: reason unasked, refuse max_tokens, temperature and top_p.'),
  'call-ids': always(flag, 'Give function calls ids where the protocol does without: in the native one.'),
  'own-ids': always(flag, 'Know only responses of this process; without it, ids of earlier ones are accepted.'),
  lacks: always(someOf(LACKING), 'Refuse requests that need one of these.'),
  usage: always(oneOf('none', 'negative', 'huge', 'text'), 'Leave the token usage out, or spoil its numbers.'),

  takes: always(duration, 'Tasks: be done so long after they were asked for; 5s where nothing is said.'),
  polls: always(count, 'Tasks: be done at the poll with this number, ignoring the clock; 0 is at once.'),
  ends: always(oneOf('failed', 'blocked', 'empty'), 'Tasks: end with an error, blocked, or done without a result.'),
  stall: always(percent, 'Tasks: never get beyond this progress; 85 where no number is given.'),
  state: always(word, 'Tasks: until they end, be in a state of this name, which is unknown.'),
  lost: always(flag, 'Tasks: be unknown from the first poll.'),
  code: always(oneOf('3', '4', '9', '21', '22', '23', '24'), 'Image tasks: answer with this code.'),
  relayed: always(flag, 'Videos: answer as a relay does: with `task_id`, and without unset members.'),

  'failure-rate': always(share, 'Let the faults below strike in this share of the requests only; without any, 500.'),
  times: always(count, 'Let the faults below strike in the first so many requests only, then answer as usual.'),

  status: chosen(status, 'Answer with this status, and from 400 on with the error that goes with it.'),
  'retry-after': chosen(count, 'Send retry-after, in seconds.'),
  'retry-after-ms': chosen(count, 'Send retry-after-ms, in milliseconds.'),
  'retry-after-date': chosen(count, 'Send retry-after as an HTTP date so many seconds from now.'),
  'retry-info': chosen(count, 'Say in the error itself to wait so many seconds, as the native protocol does.'),
  'echo-key': chosen(flag, 'Quote the credential as it was received in the message of an error.'),
  redirect: chosen(url, 'Answer 302 with this location.'),
  html: chosen(flag, 'Answer 200 with a page of HTML.'),
  empty: chosen(flag, 'Answer 200 with an empty body.'),
  malformed: chosen(flag, 'Break the JSON of the body, or of the second event.'),
  'big-line': chosen(size, 'Add a string of this size to the body, or such an event to the stream.'),

  hang: chosen(flag, 'Never answer.'),
  reset: chosen(flag, 'Reset the connection before anything is answered.'),
  'reset-after': chosen(count, 'Reset the connection after so many events; 0 is after the head.'),
  'hang-after': chosen(count, 'Fall silent after so many events; 0 is after the head.'),
  pings: chosen(flag, 'With hang-after: keep sending comments, one each 20ms or at the pace.'),
  'cut-after': chosen(count, 'Close the connection after so many events, in the middle of the transfer.'),
  'fin-after': chosen(count, 'End the transfer properly after so many events, without a terminator.'),
  'error-after': chosen(count, 'Send an error as an event after so many events, and end.'),
  truncate: chosen(size, 'Promise the whole body in content-length and close after so many bytes.'),
  overrun: chosen(size, 'Send so many bytes more than content-length promises.'),
  'no-read': chosen(flag, 'Only as a header: never read the body of the request, never answer.'),
  early: chosen(flag, 'Only as a header: answer before the body of the request has been read.'),
  raw: chosen(
    oneOf('both-lengths', 'bad-status', 'bad-header', 'not-http'),
    'Answer with bytes that HTTP forbids: content-length with chunks, a bad status line or header, or no HTTP at all.',
  ),

  'no-terminator': chosen(flag, 'Leave out what ends the stream.'),
  'double-done': chosen(flag, 'Send what ends the stream twice.'),
  trailing: chosen(size, 'Send so many bytes after what ends the stream or the body.'),
  comments: chosen(count, 'Send so many comments before each event.'),
  framing: chosen(
    oneOf('crlf', 'cr', 'bom', 'no-space', 'fields', 'invalid-utf8', 'nul'),
    'Write events another way: other line ends, a byte order mark, no space after the colon, more fields, bad bytes.',
  ),

  split: chosen(count, 'Write so many bytes at a time.'),
  encoding: chosen(oneOf('gzip', 'deflate', 'br'), 'Compress the body, even if the request does not accept it.'),
  'encoding-layers': chosen(count, 'Claim so many layers of gzip in content-encoding.'),
  bomb: chosen(size, 'Answer with a gzip body that unpacks to this size.'),
  close: chosen(closeCode, 'End a WebSocket with this close code after its first event, or after fin-after.'),

  headers: chosen(oneOf('big', 'many', 'hop'), 'Send a 60 KiB header, 200 headers, or hop-by-hop headers.'),
  'early-hints': chosen(flag, 'Send 102 and 103 before the head.'),
  trailers: chosen(flag, 'Send trailers after a chunked body.'),
} as const

export type FaultName = keyof typeof FAULTS

/** What a request asks for. */
export type Faults = { readonly [Name in FaultName]?: ValueOf<(typeof FAULTS)[Name]> }

type ValueOf<F> = F extends Fault<infer T> ? T : never

export const NO_FAULTS: Faults = Object.freeze({})

function always<T>(value: ValueKind<T>, description: string): Fault<T> {
  return { strikes: 'always', value, description }
}

function chosen<T>(value: ValueKind<T>, description: string): Fault<T> {
  return { strikes: 'chosen', value, description }
}
