import t from 'tap'
import { fold } from '../../src/codecs/fold.js'
import type { Citation, TextEvent } from '../../src/core/text.js'
import { PROTOCOLS } from '../helpers/text-clients.js'
import { answerTo, decodeAll, encodeAll, plain, requestOf } from './support.js'
import { textCodec } from './translated.js'

// Upstreams cite before the text, between its pieces and behind it. What clients read of the stream is the same.

const place = { candidate: 0, index: 0 } as const

function streamOf(...told: readonly (string | Citation)[]): TextEvent[] {
  const events = told.map(
    (one): TextEvent =>
      typeof one === 'string'
        ? { type: 'part-delta', ...place, text: one }
        : { type: 'part-citation', ...place, citation: one },
  )
  return [
    { type: 'start', id: 'i', model: 'm' },
    { type: 'part-start', ...place, part: { type: 'text', text: '' } },
    ...events,
    { type: 'part-end', ...place },
    { type: 'end', candidate: 0, end: { reason: 'stop' } },
    { type: 'finish', usage: { input: 1, output: 1 } },
  ]
}

const WHOLE = { url: 'https://a.example', title: 'A' }
const PLACED = { url: 'https://b.example', title: 'B', start: 0, end: 9 }
const STREAMS = {
  'before the text': [WHOLE, PLACED, 'Hello, ', 'world.'],
  'between its pieces': ['Hello, ', WHOLE, PLACED, 'world.'],
  'behind it': ['Hello, ', 'world.', PLACED, WHOLE],
}

for (const protocol of ['messages', 'converse'] as const) {
  t.test(`${protocol}: what citations repeat of a long text has a bound, and so has their number`, async t => {
    const codec = textCodec(protocol)
    const cited = Array.from({ length: 10_001 }, (_, i) => ({ url: `https://${i}.example`, start: 1, end: 100_000 }))
    const events = streamOf('a'.repeat(100_000), ...cited)
    const streamed = fold(decodeAll(codec, encodeAll(codec, events, answerTo(requestOf({ stream: true })))))
    const whole = codec.client.decodeResult(plain(codec.server.encodeResult(fold(events), answerTo(requestOf()))))
    for (const { candidates } of [streamed, whole]) {
      const [part] = candidates[0]?.parts ?? []
      const citations = part?.type === 'text' ? (part.citations ?? []) : []
      t.equal(citations.length, 10_000)
      t.same([...new Set(citations.map(({ quote }) => quote?.length))], [2000])
    }
  })
}

for (const protocol of PROTOCOLS) {
  for (const [when, told] of Object.entries(STREAMS)) {
    t.test(`${protocol}: citations ${when} are those of the whole answer`, async t => {
      const codec = textCodec(protocol)
      const events = streamOf(...told)
      const streamed = fold(decodeAll(codec, encodeAll(codec, events, answerTo(requestOf({ stream: true })))))
      const whole = codec.client.decodeResult(plain(codec.server.encodeResult(fold(events), answerTo(requestOf()))))
      t.same(streamed.candidates, whole.candidates)
    })
  }
}
