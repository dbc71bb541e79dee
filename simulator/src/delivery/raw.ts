import type { Faults } from '../faults/table.js'

const JSON_TYPE = 'content-type: application/json\r\n'

/** Whole answers that HTTP/1.1 (RFC 9112) forbids. */
export const RAW: Readonly<Record<NonNullable<Faults['raw']>, string>> = {
  'both-lengths': `HTTP/1.1 200 OK\r\n${JSON_TYPE}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'bad-status': `HTTP/1.1 2OO OK\r\n${JSON_TYPE}content-length: 2\r\n\r\n{}`,
  'bad-header': `HTTP/1.1 200 OK\r\n${JSON_TYPE}x-bad: a\0b\r\nx bad: c\r\ncontent-length: 2\r\n\r\n{}`,
  'not-http': 'SSH-2.0-simulator\r\n',
}
