import { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import type { Item } from './items.js'

const MAX_LIMIT = 100
const DEFAULT_LIMIT = 20

/**
 * A page of items by the query parameters `limit` (1 to 100, default 20), `order` (default `desc`), `after` and `before`,
 * which are items' ids. Throws `invalid_parameter`. Shape: `{object: "list", data, first_id, last_id, has_more}`.
 */
export function itemList(items: readonly Item[], query: URLSearchParams | undefined): JsonObject {
  return { object: 'list', ...pageOf(items, query) }
}

/** A page of anything that has ids, without the member `object`. `usual`: the default order. */
export function pageOf<T extends { readonly id?: unknown }>(
  items: readonly T[],
  query: URLSearchParams | undefined,
  usual: 'asc' | 'desc' = 'desc',
): Page<T> {
  const limit = readLimit(query?.get('limit'))
  const ordered = isAscending(query?.get('order') ?? usual) ? items : [...items].reverse()
  const from = placeOf(ordered, query?.get('after'), 'after')
  const to = placeOf(ordered, query?.get('before'), 'before')
  const range = ordered.slice(from === undefined ? 0 : from + 1, to)
  // A page before an item ends at that item.
  const data = from === undefined && to !== undefined ? range.slice(-limit) : range.slice(0, limit)
  return {
    data,
    first_id: idOf(data[0]),
    last_id: idOf(data.at(-1)),
    has_more: data.length < range.length,
  }
}

interface Page<T> {
  readonly data: readonly T[]
  readonly first_id: string | null
  readonly last_id: string | null
  readonly has_more: boolean
}

export function readLimit(text: string | null | undefined): number {
  if (text === null || text === undefined) return DEFAULT_LIMIT
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new GatewayError('invalid_parameter', `'limit' must be a number from 1 to ${MAX_LIMIT}.`, { param: 'limit' })
}

export function isAscending(text: string | null | undefined): boolean {
  if (text === null || text === undefined || text === 'desc') return false
  if (text === 'asc') return true
  throw new GatewayError('invalid_parameter', "'order' must be asc or desc.", { param: 'order' })
}

function placeOf(
  items: readonly { readonly id?: unknown }[],
  id: string | null | undefined,
  param: string,
): number | undefined {
  if (id === null || id === undefined || id === '') return undefined
  const place = items.findIndex(item => item.id === id)
  if (place < 0) throw new GatewayError('invalid_parameter', `'${param}' is not an id in this list.`, { param })
  return place
}

function idOf(item: { readonly id?: unknown } | undefined): string | null {
  return typeof item?.id === 'string' ? item.id : null
}
