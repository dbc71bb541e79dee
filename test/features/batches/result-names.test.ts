import t from 'tap'
import { nameOfResult, type ResultNames, ResultNamesDraft } from '../../../src/features/batches/result-names.js'

function namesOf(...requests: readonly (readonly [id: string, asked: string, sent: string])[]): ResultNames {
  const draft = new ResultNamesDraft()
  for (const request of requests) draft.add(...request)
  const { names } = draft
  if (names === undefined) throw new Error('there are none')
  return names
}

t.test('nothing is noted where the upstream has the client’s own names', async t => {
  const draft = new ResultNamesDraft()
  draft.add('a', 'm', 'm')
  draft.add('b', 'n', 'n')
  t.equal(draft.names, undefined)
})

t.test('a name that the upstream gives back, or a version of it, is the client’s', async t => {
  const names = namesOf(['a', 'mine', 'real'], ['b', 'small', 'real-mini'], ['c', 'other', 'other'])
  t.equal(nameOfResult(names, 'a', 'real'), 'mine')
  t.equal(nameOfResult(names, 'a', 'real-20260101'), 'mine')
  t.equal(nameOfResult(names, 'a', 'real@20260101'), 'mine')
  t.equal(nameOfResult(names, 'b', 'real-mini-20260101'), 'small', 'the longest that fits')
  t.equal(nameOfResult(names, 'c', 'other-20260101'), undefined, 'a version of the client’s own name stays')
  t.equal(nameOfResult(names, 'a', 'realistic'), undefined, 'another model')
})

t.test('of several names for one model each request has its own', async t => {
  const names = namesOf(['a', 'mine', 'real'], ['b', 'also', 'real'], ['c', 'mine', 'real'], ['d', 'real', 'real'])
  t.strictSame(
    ['a', 'b', 'c', 'd'].map(id => nameOfResult(names, id, 'real')),
    ['mine', 'also', 'mine', 'real'],
  )
})

t.test('where all requests are for one model, so are all results', async t => {
  const names = namesOf(['a', 'mine', 'real'], ['b', 'mine', 'real'])
  t.equal(nameOfResult(names, 'a', 'whatever-the-server-calls-it'), 'mine')
})

t.test('no more requests are noted than a record has room for', async t => {
  const names = namesOf(
    ['first', 'mine', 'real'],
    ...Array.from({ length: 5000 }, (_, index) => [`r${index}`, 'also', 'real'] as const),
  )
  t.equal(Object.keys(names.requests).length, 4096)
  t.equal(nameOfResult(names, 'r4999', 'real'), 'mine')
})
