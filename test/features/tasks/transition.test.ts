import t from 'tap'
import type { Plan } from '../../../src/core/plan.js'
import type { TaskShape } from '../../../src/core/task.js'
import { readAnswer } from '../../../src/features/tasks/reading.js'
import { isEnded, type Task } from '../../../src/features/tasks/record.js'
import { cancelled } from '../../../src/features/tasks/tasks.js'
import {
  applyFailedPoll,
  applyUpstreamStatus,
  fail,
  MAX_MISSES,
  nextPollAt,
  overdue,
  pastDeadline,
} from '../../../src/features/tasks/transition.js'
import { fc } from '../../helpers/property.js'

const SHAPE: TaskShape = {
  id: [['id']],
  state: [['status']],
  states: new Map(),
  progress: [['progress']],
  result: new Map([['video', [['output', '0']]]]),
  error: { code: [['error', 'code']], message: [['error', 'message'], ['error']] },
  proof: [],
  verdict: undefined,
  fields: new Map([['size', [['size']]]]),
  poll: { every: 1000, first: 1000, slowest: 8000, concurrency: 1, client_every: 1000 },
  deadline: 60_000,
  grace: 60_000,
  stall: undefined,
  retention: 3_600_000,
  maxInline: 1024,
  trustedHosts: new Set(),
}

const FRESH: Task = {
  id: `task_${'0'.repeat(32)}`,
  kind: 'video',
  owner: 'caller',
  route: 'POST /v1/videos',
  target: { upstream: 'up', model: 'm' },
  upstreamId: 'v1',
  model: 'm',
  phase: 'open',
  state: 'queued',
  progress: 0,
  input: {},
  fields: {},
  artifacts: [],
  created: 0,
  deadline: 60_000,
  moved: 0,
  pace: 1000,
  faults: 0,
  misses: 0,
  generation: 1,
}

function polled(task: Task, document: unknown, now = 1): Task {
  const reading = readAnswer(document as never, SHAPE)
  return applyUpstreamStatus(task, reading, SHAPE, now, reading.artifacts.length > 0)
}

const answers = fc.oneof(
  fc.record(
    {
      status: fc.constantFrom('queued', 'RUNNING', 'done', 'failed', 'canceled', 'marinating', null, 7),
      progress: fc.oneof(fc.integer({ min: -5, max: 200 }), fc.constantFrom('40%', 'x', '', null), fc.double()),
      output: fc.constantFrom(['https://x.example/a.mp4'], [], null, 'x'),
      error: fc.constantFrom({ code: 'e', message: 'm' }, 'text', null, 7),
      size: fc.constantFrom('1x1', 7, null),
    },
    { requiredKeys: [] },
  ),
  fc.jsonValue(),
)

t.test('progress never goes back, and what has ended does not change, no matter what an upstream says', async t => {
  fc.assert(
    fc.property(fc.array(answers, { maxLength: 12 }), documents => {
      let task = FRESH
      let clock = 0
      for (const document of documents) {
        const next = polled(task, document, ++clock)
        if (next.progress < task.progress) return false
        if (isEnded(task) && next !== task) return false
        if (task.state === 'running' && next.state === 'queued') return false
        if (next.state === 'succeeded' && (next.progress !== 100 || next.artifacts.length === 0)) return false
        if (!isEnded(next) && next.progress === 100) return false
        task = next
      }
      return true
    }),
  )
  t.pass()
})

t.test('a success without anything to show is a failure', async t => {
  t.match(polled(FRESH, { status: 'done', output: [] }), { state: 'failed', error: { code: 'no_artifact' } })
  t.match(polled(FRESH, { status: 'done', output: ['u'] }), {
    state: 'succeeded',
    artifacts: [{ variant: 'video', url: 'u' }],
  })
})

t.test('an error beside a success with nothing to show is that failure', async t => {
  const error = { code: 'safety', message: 'No.' }
  t.match(polled(FRESH, { status: 'done', error }), { state: 'failed', error })
  t.match(polled(FRESH, { status: 'done', error, output: ['u'] }), { state: 'succeeded' })
})

t.test('ten refusals in a row end a task, an answer between them begins the count anew', async t => {
  const refused = (task: Task, times: number): Task =>
    Array.from({ length: times }).reduce<Task>(one => applyFailedPoll(one, 'task_lost', SHAPE, 5), task)
  t.equal(refused(FRESH, MAX_MISSES - 1).state, 'queued')
  t.match(refused(FRESH, MAX_MISSES), { state: 'failed', error: { code: 'task_lost' }, finished: 5 })
  const answered = polled(refused(FRESH, MAX_MISSES - 1), { status: 'running' })
  t.equal(refused(answered, MAX_MISSES - 1).state, 'running')
  const trouble = Array.from({ length: 1000 }).reduce<Task>(one => applyFailedPoll(one, undefined, SHAPE, 5), FRESH)
  t.equal(trouble.state, 'queued', 'trouble alone never ends it')
})

t.test('a deadline is a failure that a success still mends; any other is not', async t => {
  const late = overdue(FRESH, SHAPE, 60_000)
  t.match(late, { state: 'failed', phase: 'late', error: { code: 'deadline' } })
  t.equal(overdue(FRESH, SHAPE, 59_999), undefined)
  const mended = polled(late as Task, { status: 'done', output: ['u'] }, 61_000)
  t.match(mended, { state: 'succeeded', late: true, phase: 'done' })
  t.equal(mended.error, undefined)
  t.equal(polled(late as Task, { status: 'running' }, 61_000).state, 'failed')
  t.match(polled(late as Task, { status: 'failed' }, 61_000), {
    state: 'failed',
    error: { code: 'deadline' },
    phase: 'done',
  })
  const given = fail(FRESH, 'cancelled', 1, 1000)
  t.equal(polled(given, { status: 'done', output: ['u'] }), given)
})

t.test('what is deleted stays so: neither its deadline nor an operator changes it', async t => {
  const deleted: Task = { ...FRESH, phase: 'deleting' }
  t.equal(pastDeadline(deleted, SHAPE, 60_000), undefined)
  t.match(pastDeadline(FRESH, SHAPE, 60_000), { state: 'failed' })
  const plan = { routes: [] } as unknown as Plan
  t.equal(cancelled(deleted, plan, 1), undefined)
  t.match(cancelled(FRESH, plan, 1), { phase: 'cancelling' })
})

t.test('polls: at the pace, slower in trouble, as late as they are asked to be, never past the deadline', async t => {
  t.equal(nextPollAt(FRESH, SHAPE, 0, undefined, 0.5), 1000)
  t.equal(nextPollAt(FRESH, SHAPE, 0, undefined, 0), 900)
  t.equal(nextPollAt({ ...FRESH, faults: 2 }, SHAPE, 0, undefined, 0.5), 4000)
  t.equal(nextPollAt({ ...FRESH, faults: 60 }, SHAPE, 0, undefined, 0.5), 8000)
  t.equal(nextPollAt({ ...FRESH, faults: 5, misses: 5 }, SHAPE, 0, undefined, 0.5), 1000)
  t.equal(nextPollAt(FRESH, SHAPE, 0, 30_000, 0.5), 30_000)
  t.equal(nextPollAt(FRESH, SHAPE, 59_900, undefined, 0.5), 60_000)
  t.equal(nextPollAt({ ...FRESH, phase: 'done', state: 'failed' }, SHAPE, 0, undefined, 0.5), null)
  t.equal(nextPollAt({ ...FRESH, phase: 'late', state: 'failed' }, SHAPE, 120_000, undefined, 0.5), null)
})

t.test('hostile answers are read as if what is wrong were not there', async t => {
  const nasty = JSON.parse(
    '{"__proto__":{"status":"done"},"status":{"a":1},"progress":1e400,"output":{"0":"u"},"error":[]}',
  )
  t.match(readAnswer(nasty, SHAPE), { state: undefined, progress: undefined })
  t.equal(readAnswer({ id: 'x'.repeat(5000) }, SHAPE).id, undefined)
  t.equal(readAnswer({ progress: 0.31 }, SHAPE).progress, 31)
  t.equal(readAnswer({ id: 4711 }, SHAPE).id, '4711')
  t.same(readAnswer({ size: 'x'.repeat(100_000) }, SHAPE).fields, {}, 'what is kept is bounded')
})

t.test('an id is what the upstream wrote, also where it is a number that no double holds', async t => {
  const ids: readonly (readonly [string, string | undefined])[] = [
    ['{"id":9007199254740993}', '9007199254740993'],
    ['{"id":12345678901234567890}', '12345678901234567890'],
    ['{"id":null,"other":1}', undefined],
    ['{"id":4711}', '4711'],
    ['{"id":"12345678901234567890"}', '12345678901234567890'],
  ]
  for (const [text, id] of ids) t.equal(readAnswer(JSON.parse(text), SHAPE, Buffer.from(text)).id, id)
})
