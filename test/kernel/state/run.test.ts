import t from 'tap'
import { Run } from '../../../src/kernel/state/run.js'
import type { OwnResponse } from '../../../src/kernel/state/stored.js'

const DRAFT: OwnResponse = {
  kind: 'own',
  id: 'resp_1',
  created: 1,
  model: 'm',
  previous: undefined,
  turns: 1,
  bytes: 100,
  input: [],
  response: { id: 'resp_1', status: 'queued', output: [] },
  background: true,
}

const frame = (event: { readonly type: string }): Buffer =>
  Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

t.test('what a run in the background gave counts towards the size of its conversation', async t => {
  const output = [{ type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'é'.repeat(50) }] }]
  const run = new Run('ann', DRAFT, () => undefined)
  run.head(200)
  run.data(frame({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } } as never))
  t.equal(run.ended, true)
  t.equal(run.kept.bytes, 100 + Buffer.byteLength(JSON.stringify(output)))
  t.match(run.kept.response, { status: 'completed', output, background: true })
})

t.test('whatever ends a run, its events end once, with one that says how', async t => {
  for (const [end, status] of [
    [(run: Run) => run.cancel(), 'cancelled'],
    [(run: Run) => run.broken(), 'failed'],
    [(run: Run) => run.end(), 'failed'],
  ] as const) {
    const run = new Run('ann', DRAFT, () => undefined)
    run.head(200)
    run.data(frame({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } } as never))
    end(run)
    run.broken()
    t.equal(run.events?.length, 2)
    t.match(run.events?.at(-1), /^event: response\.failed\n/)
    t.match(run.kept.response, { status })
  }
})
