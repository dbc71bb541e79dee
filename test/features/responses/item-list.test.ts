import t from 'tap'
import { itemList } from '../../../src/features/responses/item-list.js'

const items = Array.from({ length: 25 }, (_, n) => ({ id: `i${n}`, type: 'message' }))
const list = (query: string, of = items) => itemList(of, new URLSearchParams(query))
const ids = (page: { readonly [key: string]: unknown }): string[] => (page.data as { id: string }[]).map(({ id }) => id)

t.test('the newest 20 come first where nothing is said', async t => {
  const page = itemList(items, undefined)
  t.same(
    ids(page),
    items
      .slice(5)
      .map(({ id }) => id)
      .reverse(),
  )
  t.match(page, { object: 'list', first_id: 'i24', last_id: 'i5', has_more: true })
})

t.test('pages meet, in both orders', async t => {
  for (const order of ['asc', 'desc']) {
    const seen: string[] = []
    for (let after = ''; ; after = seen.at(-1) ?? '') {
      const page = list(`order=${order}&limit=7${after === '' ? '' : `&after=${after}`}`)
      seen.push(...ids(page))
      if (page.has_more === false) break
    }
    const all = items.map(({ id }) => id)
    t.same(seen, order === 'asc' ? all : all.reverse())
  }
})

t.test('before gives what comes just before it', async t => {
  t.same(ids(list('order=asc&limit=3&before=i10')), ['i7', 'i8', 'i9'])
  t.same(ids(list('order=asc&after=i2&before=i6')), ['i3', 'i4', 'i5'])
})

t.test('no items are an empty page', async t => {
  t.same(list('', []), { object: 'list', data: [], first_id: null, last_id: null, has_more: false })
})

t.test('what cannot be meant is refused by name', async t => {
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['order=up', 'order'],
    ['after=nobody', 'after'],
    ['before=nobody', 'before'],
  ]) {
    t.throws(() => list(query ?? ''), { code: 'invalid_parameter', details: { param: String(param) } })
  }
})
