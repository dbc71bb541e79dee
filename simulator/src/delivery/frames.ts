import type { Faults } from '../faults/table.js'
import type { StreamEvent, Writing } from '../protocol.js'

const COMMENT = ': a comment\n\n'

/** An event as the WHATWG event-stream format writes it, or as the `framing` fault wants it. What is bare has no lines. */
export function frame({ event, data }: StreamEvent, framing: Faults['framing'], writing: Writing = 'lf'): Buffer {
  if (writing === 'bare') return Buffer.from(data)
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
export function preamble(framing: Faults['framing']): Buffer {
  return Buffer.from(framing === 'bom' ? '\u{feff}' : '')
}

export function comments(count = 0, writing: Writing = 'lf'): Buffer {
  return Buffer.from(writing === 'bare' ? '' : COMMENT.repeat(count))
}

function lines(event: string | undefined, data: string, end: string): Buffer {
  return Buffer.from(`${event === undefined ? '' : `event: ${event}${end}`}data: ${data}${end}${end}`)
}
