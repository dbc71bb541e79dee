import t from 'tap'
import { ResponseObserver } from '../../../src/features/responses/response-observer.js'

function told(events: boolean, pieces: readonly string[], ends = true): readonly string[] {
  const seen: string[] = []
  const tap = new ResponseObserver(events, {
    response: id => seen.push(id),
    items: ids => seen.push(ids.join(' ')),
  })
  for (const piece of pieces) tap.push(Buffer.from(piece))
  if (ends) tap.end()
  return seen
}

const event = (data: unknown): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
const created = event({ type: 'response.created', response: { id: 'resp_1' } })
const done = (id: unknown): string => event({ type: 'response.output_item.done', output_index: 0, item: { id } })

t.test('of a stream the response is reported first, then each item when it is done', async t => {
  const said = event({ type: 'response.output_text.delta', delta: 'response.output_item.done' })
  t.same(told(true, [created, said, `${done('msg_1')}${said}${done('fc_2')}`, done('rs_3')]), [
    'resp_1',
    'msg_1 fc_2',
    'rs_3',
  ])
})

t.test('of a document the items are reported when it is whole', async t => {
  const text = JSON.stringify({
    id: 'resp_1',
    output: [{ id: 'msg_1' }, { type: 'message' }, { id: 7 }, { id: 'fc_2' }],
  })
  for (const at of [0, 5, 40, text.length]) {
    t.same(told(false, [text.slice(0, at), text.slice(at)]), ['resp_1', 'msg_1 fc_2'])
  }
  t.same(told(false, [text], false), ['resp_1'])
})

t.test('what is not an answer reports nothing and breaks nothing', async t => {
  for (const text of ['', 'null', '[]', '{"output":{}}', '{"output":[null,1]}', 'response.output_item.done', '{'])
    t.same(told(false, [text]), [], text)
  for (const data of [
    'response.output_item.done',
    '{"type":"response.output_item.done"}',
    '[]',
    '"response.output_item.done"',
  ])
    t.same(told(true, [event(data)]), [], data)
  t.same(told(true, [done(null), done({}), 'response.output_item.done']), [])
})
