import t from 'tap'
import type { StreamContract } from '../../src/core/limits.js'
import { EventFinder, PieceCounter } from '../../src/kernel/content-marks.js'
import { Pace } from '../../src/kernel/pace.js'

const PIECE = Buffer.from('data: {"delta":{"content":"x"}}\n\n')
const TICK_MS = 50

/** The first thing that is late, and when, for pieces that come at these times. */
function late(
  contract: Partial<StreamContract>,
  pieces: readonly number[],
  end: number,
  paused: (now: number) => boolean = () => false,
): unknown {
  const pace = new Pace(contract as StreamContract)
  const left = [...pieces]
  for (let now = 0; now <= end; now += TICK_MS) {
    while (left[0] !== undefined && left[0] <= now) {
      pace.push(PIECE)
      left.shift()
    }
    const what = pace.late(now, paused(now))
    if (what !== undefined) return [what, now]
  }
  return undefined
}

const every = (step: number, end: number): number[] =>
  Array.from({ length: Math.floor(end / step) }, (_, index) => index * step + 10)

t.test('the first piece of content may take this long', async t => {
  t.same(late({ first_token: 1000 }, [], 5000), ['first_token', 1050])
  t.equal(late({ first_token: 1000 }, [900], 5000), undefined)
})

t.test('a gap between two pieces may be this long; not while the client does not read', async t => {
  t.same(late({ gap: 1000 }, [100, 600], 5000), ['gap', 1650])
  t.equal(late({ gap: 1000 }, every(900, 20_000), 19_500), undefined)
  t.equal(
    late({ gap: 1000 }, [100], 5000, now => now > 200),
    undefined,
  )
})

t.test('a stream has to have so many pieces in ten seconds', async t => {
  t.equal(late({ min_rate: 5 }, every(190, 60_000), 60_000), undefined)
  t.match(late({ min_rate: 5 }, every(250, 60_000), 60_000), ['min_rate', Number])
  t.equal(late({ min_rate: 5 }, [10], 9000), undefined, 'not before ten seconds have gone')
})

t.test('content is what a member holds that is not empty', async t => {
  for (const [text, count] of [
    ['{"choices":[{"delta":{"role":"assistant","content":""}}]}', 0],
    ['{"choices":[{"delta":{"content":"Hi"}}]}', 1],
    ['{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":""}}]}}]}', 0],
    ['{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{"}}]}}]}', 1],
    ['{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":9}}}', 0],
    ['{"type":"content_block_start","content_block":{"type":"text","text":""}}', 0],
    ['{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hi"}}', 1],
    ['{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"Hm"}}', 1],
    ['{"type":"ping"}', 0],
    ['{"type":"response.created","response":{"id":"r","output":[],"text":{"format":{"type":"text"}}}}', 0],
    ['{"type":"response.output_text.delta","delta":"Hi"}', 1],
    ['{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}', 1],
    ['{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}', 1],
  ] as const) {
    const counter = new PieceCounter()
    counter.push(Buffer.from(text))
    t.equal(counter.count, count, text)
  }
})

t.test('the first event of a stream is found at every cut, and comments are none', async t => {
  for (const [text, found] of [
    ['data: {}\n\n', true],
    [': waiting\n\nevent: x\r\ndata: {}\r\n\r\n', true],
    [': data:\n\n: data:\n\n', false],
    ['event: data:\nid: data:\n', false],
  ] as const) {
    for (let cut = 0; cut <= text.length; cut++) {
      const finder = new EventFinder()
      for (const part of [text.slice(0, cut), text.slice(cut)]) finder.push(Buffer.from(part))
      t.equal(finder.found, found, `${text} cut at ${cut}`)
    }
  }
})
