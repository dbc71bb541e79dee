import { fc } from '../helpers/property.js'

/** Pieces that make up every shape of event stream, sound and broken. */
const PIECES = [
  ...['\n', '\n\n', '\r', '\r\n', '\r\n\r\n', '\r\r', '\n\r', '\uFEFF', '\u0000', ' ', ':', ': comment', 'x'],
  ...['data', 'data:', 'data: ', 'data:{"a":1}', 'data: {"id":"é"}', 'data: [1]', 'data: [DONE]', 'data:[DONE]'],
  ...[
    'data: {"error":{"message":"no"}}',
    'data: {"type":"error"}',
    'data: {"type":"end","x":1}',
    'data: {"x":1,"type":"end"}',
  ],
  ...[
    'event: ping',
    'event: error',
    'event: end',
    'event:',
    'event',
    'id: 1',
    'id: \u0000',
    'retry: 5',
    'unknown: 1',
    ' data: 1',
  ],
]

/** Event streams of all shapes. */
export const streams: fc.Arbitrary<Buffer> = fc
  .array(
    fc.oneof(
      fc.constantFrom(...PIECES),
      fc.constantFrom(
        'data: {"a":1}\n\n',
        'data: {"b":[2]}\r\n\r\n',
        ': ping\n\n',
        'event: x\ndata: {}\n\n',
        'data:\n\n',
      ),
    ),
    { maxLength: 14 },
  )
  .map(pieces => Buffer.from(pieces.join('')))
