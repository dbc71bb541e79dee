import type { Page } from './host.js'
import { AdminError, type AdminRequest, objectOf, type Schema, TEXT } from './route.js'

const MAX_PAGE_ITEMS = 1000
const DEFAULT_PAGE_ITEMS = 100

/** Parameters of every list. */
export const PAGE_QUERY: Readonly<Record<string, Schema>> = {
  limit: { type: 'integer', minimum: 1, maximum: MAX_PAGE_ITEMS, default: DEFAULT_PAGE_ITEMS },
  after: { type: 'string', description: '`next` of the page before.' },
}

/** The answer of every list. */
export function pageOf(item: Schema): Schema {
  return objectOf({ data: { type: 'array', items: item }, next: TEXT }, ['data'])
}

export function limitOf({ query }: AdminRequest): number {
  const { limit } = query
  if (limit === undefined) return DEFAULT_PAGE_ITEMS
  const number = /^\d{1,4}$/.test(limit) ? Number(limit) : 0
  if (number >= 1 && number <= MAX_PAGE_ITEMS) return number
  throw new AdminError(400, 'invalid_parameter', `limit: expected a number from 1 to ${MAX_PAGE_ITEMS}`)
}

/** A page of names that are at hand, behind the name `after`; what is shown is made for the page alone. */
export function pageOfNames<T>(names: readonly string[], request: AdminRequest, show: (name: string) => T): Page<T> {
  const limit = limitOf(request)
  const { after } = request.query
  const start = after === undefined ? 0 : names.indexOf(after) + 1
  if (after !== undefined && start === 0)
    throw new AdminError(400, 'invalid_parameter', 'after: no entry has this name')
  const page = names.slice(start, start + limit)
  return { data: page.map(show), ...(start + limit < names.length ? { next: page.at(-1) } : {}) }
}
