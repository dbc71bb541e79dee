import { json } from '../protocol.js'
import { notListed, wrongValue } from './refusals.js'

const MAX_PAGE_ITEMS = 100
const DEFAULT_PAGE_ITEMS = 20

/** One page of a list as the compatible family answers it, by `order` (latest first unless asked otherwise), `after` and `limit`. */
export function pageOf(oldestFirst: readonly { readonly id?: unknown }[], query: URLSearchParams) {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw notListed('order', order, ['asc', 'desc'])
  const limit = Number(query.get('limit') ?? DEFAULT_PAGE_ITEMS)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE_ITEMS) {
    throw wrongValue('limit', `Invalid 'limit': expected an integer from 1 to ${MAX_PAGE_ITEMS}.`)
  }
  const all = order === 'asc' ? oldestFirst : oldestFirst.toReversed()
  const after = query.get('after')
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1
  const data = all.slice(from, from + limit)
  const [first_id = null, last_id = null] = [data[0]?.id, data.at(-1)?.id]
  return json({ object: 'list', data, first_id, last_id, has_more: from + data.length < all.length })
}
