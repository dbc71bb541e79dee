import t from 'tap'
import { stateOf } from '../../../src/features/tasks/states.js'

const NONE = new Map<string, never>()

t.test('words in any case, with dashes, spaces or underscores', async t => {
  for (const word of ['IN_PROGRESS', 'in-progress', 'In Progress', 'InProgress', ' in_progress '])
    t.equal(stateOf(word, NONE), 'running', word)
  for (const word of ['SUCCESS', 'succeeded', 'Completed', 'done', 'finished'])
    t.equal(stateOf(word, NONE), 'succeeded', word)
  for (const word of ['FAILURE', 'failed', 'fail', 'error', 'expired']) t.equal(stateOf(word, NONE), 'failed', word)
  for (const word of ['cancelled', 'canceled', 'CANCEL']) t.equal(stateOf(word, NONE), 'cancelled', word)
  for (const word of ['NOT_START', 'SUBMITTED', 'queued', 'pending']) t.equal(stateOf(word, NONE), 'queued', word)
})

t.test('what is declared counts before what is usual, and may be no text', async t => {
  const declared = new Map([
    ['done', 'running'],
    ['true', 'succeeded'],
    ['3', 'failed'],
  ] as const)
  t.equal(stateOf('Done', declared), 'running')
  t.equal(stateOf(true, declared), 'succeeded')
  t.equal(stateOf(3, declared), 'failed')
})

t.test('an unknown word is not a state', async t => {
  for (const word of ['marinating', '', null, undefined, {}, [], false, '__proto__', 'constructor']) {
    t.equal(stateOf(word, NONE), undefined, JSON.stringify(word))
  }
})
