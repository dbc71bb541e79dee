import t from 'tap'
import { courseOf } from '../../../simulator/src/tasks/task.js'

const at = (elapsed: number) => ({ elapsed, polls: 0 })
const poll = (polls: number) => ({ elapsed: 0, polls })

t.test('by the time that has gone by', async t => {
  const course = (elapsed: number) => courseOf({ takes: 3000 }, at(elapsed))
  t.same(course(0), { phase: 'queued', progress: 0 })
  t.same(course(299), { phase: 'queued', progress: 0 })
  t.same(course(1500), { phase: 'running', progress: 50 })
  t.same(course(2999), { phase: 'running', progress: 99 })
  t.same(course(3000), { phase: 'done', progress: 100 })
  t.same(course(-5), { phase: 'queued', progress: 0 }, 'a clock that was put back')
  t.match(courseOf({}, at(4999)), { phase: 'running' })
  t.match(courseOf({}, at(5000)), { phase: 'done' })
})

t.test('by the number of polls', async t => {
  const phases = [0, 1, 2, 3, 4, 5].map(polls => courseOf({ polls: 4 }, poll(polls)).progress)
  t.same(phases, [0, 25, 50, 75, 100, 100])
  t.match(courseOf({ polls: 0 }, poll(0)), { phase: 'done' })
})

t.test('a task that stalls is never over', async t => {
  t.same(courseOf({ takes: 10, stall: 85 }, at(1e9)), { phase: 'running', progress: 85 })
  t.same(courseOf({ takes: 10, stall: 100 }, at(1e9)), { phase: 'running', progress: 100 })
  t.same(courseOf({ polls: 4, stall: 85 }, poll(2)), { phase: 'running', progress: 50 })
})

t.test('it ends as requested', async t => {
  for (const ends of ['failed', 'blocked', 'empty'] as const) {
    t.match(courseOf({ polls: 2, ends }, poll(1)), { phase: 'running' })
    t.match(courseOf({ polls: 2, ends }, poll(2)), { phase: ends })
  }
})
