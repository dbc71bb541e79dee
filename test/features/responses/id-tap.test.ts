import t from 'tap'
import { IdTap } from '../../../src/features/responses/id-tap.js'

const created = { type: 'response.created', response: { id: 'resp_1', tools: [{ id: 'no' }] } }
const STREAM = `: hello\r\n\r\nevent: response.created\r\ndata: ${JSON.stringify(created)}\r\n\r\nevent: x\ndata: {}\n\n`
const DOCUMENT = JSON.stringify({
  conversation: { id: 'conv_no' },
  output: [{ id: 'msg_no' }],
  id: 'resp_1',
  object: 'response',
})

function found(events: boolean, pieces: readonly Buffer[]): string[] {
  const ids: string[] = []
  const tap = new IdTap(events, id => ids.push(id))
  for (const piece of pieces) tap.push(piece)
  return ids
}

t.test('the id of a response is found wherever its answer is cut', async t => {
  for (const [events, text] of [
    [true, STREAM],
    [false, DOCUMENT],
  ] as const) {
    const bytes = Buffer.from(text)
    for (let at = 0; at <= bytes.length; at++) {
      const ids = found(events, [bytes.subarray(0, at), bytes.subarray(at)])
      if (ids.join() !== 'resp_1') return t.fail(`cut at ${at}: ${ids.join()}`)
    }
  }
  t.pass('everywhere')
})

t.test('answers without one, and what is not an answer, give none', async t => {
  for (const text of ['', '{}', '[1]', 'nonsense', '{"id":7}', '{"object":{"id":"x"}}']) {
    t.same(found(false, [Buffer.from(text)]), [], text)
  }
  for (const text of [
    'data: {}\n\n',
    'data: [DONE]\n\n',
    'data: {"response":7}\n\n',
    'data: {"response":{"id":7}}\n\n',
    ': x\n\n',
  ]) {
    t.same(found(true, [Buffer.from(text)]), [], text)
  }
})

t.test('it stops looking after a while', async t => {
  const tap = new IdTap(true, () => t.fail('there is none'))
  for (let n = 0; n < 9; n++) tap.push(Buffer.alloc(1024 * 1024, ': x\n'))
  t.equal(tap.over, true)
})
