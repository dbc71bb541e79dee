import { randomBytes } from 'node:crypto'
import t from 'tap'
import { EventShares } from '../../../src/features/responses/event-shares.js'
import { Run } from '../../../src/features/responses/run.js'
import type { OwnResponse } from '../../../src/features/responses/stored.js'
import { collected } from '../../helpers/collected.js'

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

/** A run whose answer has begun, and what it gives to be stored. */
function started(draft = DRAFT): { readonly run: Run; readonly kept: OwnResponse[] } {
  const kept: OwnResponse[] = []
  const run = new Run('ann', draft, new EventShares(), (_, last) => kept.push(last))
  run.head(200)
  return { run, kept }
}

/** Text that no compression makes much smaller. */
const noise = (chars: number): string => randomBytes(chars).toString('base64').slice(0, chars)

const frame = (event: { readonly type: string }): Buffer =>
  Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)

t.test('what a run in the background gave counts towards the size of its conversation', async t => {
  const output = [{ type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'é'.repeat(50) }] }]
  const { run, kept } = started()
  run.data(frame({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } } as never))
  t.equal(run.ended, true)
  t.match(kept, [{ bytes: 100 + Buffer.byteLength(JSON.stringify(output)), response: { output, background: true } }])
  t.match(run.response, { status: 'completed' })
})

t.test('its moments are those of the gateway, if the upstream has another clock', async t => {
  const created_at = Math.floor(Date.now() / 1000)
  const { run, kept } = started({ ...DRAFT, response: { ...DRAFT.response, created_at } })
  const upstream = { id: 'resp_2', created_at: 1000, completed_at: null }
  run.data(frame({ type: 'response.created', response: { ...upstream, status: 'in_progress' } } as never))
  t.match(run.response, { created_at, completed_at: null })
  run.data(frame({ type: 'response.completed', response: { ...upstream, completed_at: 1001 } } as never))
  t.match(kept, [{ response: { created_at } }])
  t.ok(Number(run.response.completed_at) >= created_at)
})

t.test('its events end once, with one that says how, no matter what ends a run', async t => {
  for (const [end, status] of [
    [(run: Run) => run.cancel(), 'cancelled'],
    [(run: Run) => run.broken(), 'failed'],
    [(run: Run) => run.end(), 'failed'],
  ] as const) {
    const { run, kept } = started()
    run.data(frame({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } } as never))
    end(run)
    run.broken()
    t.equal(run.next, 2)
    t.match(String(run.event(1)), /^event: response\.failed\n/)
    t.match(kept, [{ response: { status } }])
    t.equal(kept.length, 1)
  }
})

t.test('of many events the newest are kept, by the numbers that they had', async t => {
  const { run } = started()
  for (let n = 0; n < 50; n++) {
    run.data(frame({ type: 'response.output_text.delta', sequence_number: n, delta: noise(20_000) } as never))
  }
  t.equal(run.next, 50)
  t.equal(run.has(0), false)
  t.equal(run.event(0), undefined)
  t.equal(run.has(40), true)
  t.match(String(run.event(49)), '"sequence_number":49')
  run.data(frame({ type: 'response.output_text.delta', delta: 'x'.repeat(3_000_000) } as never))
  t.equal(run.event(50)?.length, 3_000_000 + run.event(50)!.indexOf('xx') + 4, 'the newest one stays, however large')
  t.equal(run.has(49), false)
  run.drop()
  t.equal(run.has(50), false, 'until it is dropped')
  t.equal(run.next, 51)
})

t.test('an event over every bound ends the run, and what makes it', async t => {
  const { run, kept } = started()
  let destroyed = 0
  run.begin({ destroy: () => void destroyed++ } as never)
  const piece = Buffer.alloc(1024 * 1024, 'x')
  run.data(Buffer.from('event: response.completed\ndata: "'))
  for (let n = 0; n < 20; n++) run.data(piece)
  t.equal(destroyed, 1)
  t.match(kept, [{ response: { status: 'failed', error: { message: /too large/ } } }])
})

t.test('a run that has ended lets go of its input and of its request', async t => {
  const begun = (): { readonly run: Run; readonly parts: readonly WeakRef<object>[] } => {
    const [draft, request] = [{ ...DRAFT }, { destroy: () => undefined }]
    const { run } = started(draft)
    run.begin(request as never)
    return { run, parts: [new WeakRef(draft), new WeakRef(request)] }
  }
  const { run, parts } = begun()
  run.broken()
  t.equal(await collected(parts), 0)
  t.equal(run.ended, true)
})
