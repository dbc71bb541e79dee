import t from 'tap'
import type { Route } from '../../src/core/plan.js'
import { type Frames, framesOf } from '../../src/kernel/relay/frames.js'

const LIMITS = { line: 1000, event: 1000, response: 1000, values: 100 } as Route['limits']

function changed(): Frames {
  const change = (bytes: Uint8Array): Buffer => Buffer.from(JSON.stringify(JSON.parse(Buffer.from(bytes).toString())))
  return framesOf('text/event-stream', LIMITS, change)
}

t.test('messages before one that cannot be changed are not lost, wherever the bytes are cut', t => {
  const [good, bad] = ['data: { "a": 1 }\n\n', 'data: { "a": NaN }\n\n']
  const fault = { code: 'bad_upstream_response' }
  for (const rest of [good, '']) {
    const frames = changed()
    t.match(frames.push(Buffer.from(good + bad)), [{ data: '{"a":1}' }])
    if (rest !== '') t.throws(() => frames.push(Buffer.from(rest)), fault)
    t.throws(() => frames.end(), fault)
  }
  const first = changed()
  t.throws(() => first.push(Buffer.from(bad)), fault)
  t.end()
})
