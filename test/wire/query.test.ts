import t from 'tap'
import { mergeQuery } from '../../src/wire/query.js'

const merged = (target: string, query: string): string => mergeQuery(target, new URLSearchParams(query), () => false)

t.test('parameters of the client come after those of the call', async t => {
  t.equal(merged('/x', 'a=1&b=2'), '/x?a=1&b=2')
  t.equal(merged('/x?v=1', 'a=1'), '/x?v=1&a=1')
  t.equal(
    mergeQuery('/x?v=1', undefined, () => false),
    '/x?v=1',
  )
})

t.test('what a call sets itself no client sets again, in any spelling', async t => {
  for (const name of [
    'api-version',
    'API-Version',
    'api%2Dversion',
    'api-version[]',
    'api_version',
    'api-ver\u017fion',
    '%20api-version',
  ])
    t.equal(merged('/x?api-version=1', `${name}=2&b=3`), '/x?api-version=1&b=3', name)
})
