import { GatewayError } from '../../core/errors.js'

/** The value of a query parameter. */
export type Query = (name: string) => string | undefined

interface Item {
  readonly id: string
}

interface Page<T> {
  readonly items: readonly T[]
  /** Whether there are more items in the requested direction. */
  readonly more: boolean
}

/** Largest page, in both families. */
const MAX_PAGE_ITEMS = 1000

/**
 * The page selected by `limit`, `after_id` and `before_id`. Throws `invalid_parameter` for an invalid limit and for
 * an id that is not in the list.
 */
export function pageByIds<T extends Item>(items: readonly T[], query: Query): Page<T> {
  const limit = sizeOf(query, 'limit', 20)
  const before = indexOf(items, query, 'before_id')
  if (before !== undefined) {
    const start = Math.max(0, before - limit)
    return { items: items.slice(start, before), more: start > 0 }
  }
  const after = indexOf(items, query, 'after_id')
  const start = after === undefined ? 0 : after + 1
  return { items: items.slice(start, start + limit), more: start + limit < items.length }
}

/** The page selected by `pageSize` and `pageToken`, with the next page's token. Throws as {@link pageByIds}. */
export function pageByToken<T extends Item>(
  items: readonly T[],
  query: Query,
): { readonly items: readonly T[]; readonly next: string | undefined } {
  const size = sizeOf(query, 'pageSize', 50)
  const token = query('pageToken')
  const last = token === undefined || token === '' ? undefined : Buffer.from(token, 'base64url').toString()
  const found = items.findIndex(item => item.id === last)
  if (last !== undefined && found < 0) throw refused('pageToken', 'The page token is not valid.')
  const end = found + 1 + size
  const page = items.slice(found + 1, end)
  const bottom = page.at(-1)
  return {
    items: page,
    next: bottom === undefined || end >= items.length ? undefined : Buffer.from(bottom.id).toString('base64url'),
  }
}

function sizeOf(query: Query, name: string, usual: number): number {
  const given = query(name)
  if (given === undefined || given === '') return usual
  const size = Number(given)
  if (/^\d{1,9}$/.test(given) && size >= 1) return Math.min(size, MAX_PAGE_ITEMS)
  // Clients of the native protocol send 0 for the default (https://google.aip.dev/158).
  if (size === 0 && name === 'pageSize') return usual
  throw refused(name, `'${name}' must be a whole number from 1 to ${MAX_PAGE_ITEMS}.`)
}

function indexOf(items: readonly Item[], query: Query, name: string): number | undefined {
  const id = query(name)
  if (id === undefined || id === '') return undefined
  const index = items.findIndex(item => item.id === id)
  if (index < 0) throw refused(name, `'${name}' is not the id of a model in this list.`)
  return index
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param })
}
