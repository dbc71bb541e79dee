import { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import type { ResourceRule } from '../../core/resources.js'
import type { Range } from '../../core/store.js'
import type { Call } from '../../kernel/call.js'
import type { Serve } from '../../kernel/inner.js'
import { objectWithLinks } from './links.js'
import { OWNERSHIP, type OwnedResource } from './ownership-store.js'
import { textAt } from './read-object.js'
import { refresh } from './refresh.js'
import { ownerOf } from './route-to-owner.js'

type After = Range['after']

/** Lists the caller's own resources of a kind, page by page, as they were last seen. */
export async function listResources(call: Call, { kind }: ResourceRule, serve: Serve): Promise<void> {
  const { pages, member, filter } = kind.list
  const limit = limitOf(call, pages === 'tokens' ? 'pageSize' : 'limit', kind.list)
  const { order, after } = await startOf(call, kind)
  const isBackwards = pages === 'cursors' && order === 'ascending'
  const ids = pages === 'cursors' ? idsWanted(call) : []
  const wanted = (object: JsonObject): boolean =>
    (ids.length === 0 || ids.includes(textAt(object, kind.id) ?? '')) &&
    filter.every(name => {
      const value = call.query?.get(name)
      return value === undefined || value === null || object[name] === value
    })
  const range: Range = { order, limit, ...(after === undefined ? {} : { after }) }
  const { items: found, more, end } = await call.kernel.need(OWNERSHIP).page(ownerOf(call), kind, range, wanted)
  const items = isBackwards ? found.toReversed() : found
  const seen = await refresh(call, kind, items, serve)
  const objects = seen.map(item => objectWithLinks(call, kind, objectOf(item, kind)))
  const next = more && end !== undefined ? tokenOf(end.created, end.key) : null
  if (pages !== 'tokens') {
    const [first, last] = [items[0]?.id ?? null, items.at(-1)?.id ?? null]
    const further = more ? end?.key : undefined
    const ids = isBackwards
      ? { first_id: further ?? first, last_id: last }
      : { first_id: first, last_id: further ?? last }
    const form = pages === 'ids' ? { object: 'list' } : { next_page: isBackwards ? null : next }
    call.answer(200, { ...form, [member]: objects, ...ids, has_more: more })
    return
  }
  const token = next === null ? {} : { nextPageToken: next }
  call.answer(200, { ...(objects.length === 0 ? {} : { [member]: objects }), ...token })
}

/** Clients write lists in two ways. */
function idsWanted({ query }: Call): readonly string[] {
  return query === undefined ? [] : [...query.getAll('ids'), ...query.getAll('ids[]')]
}

/** A resource whose object is unknown is listed by its id alone. */
function objectOf({ id, object }: OwnedResource, { prefix, id: path }: ResourceRule['kind']): JsonObject {
  return object ?? { [path.at(-1) ?? 'id']: prefix + id }
}

function limitOf(call: Call, name: string, { pageSize, maxPageSize }: ResourceRule['kind']['list']): number {
  const given = call.query?.get(name)
  if (given === undefined || given === null || given === '') return pageSize
  const limit = /^\d{1,9}$/.test(given) ? Number(given) : -1
  if (limit >= 1) return Math.min(limit, maxPageSize)
  // Clients of the native protocol send 0 for the default (https://google.aip.dev/158).
  if (limit === 0 && name === 'pageSize') return pageSize
  throw refused(name, `'${name}' must be a whole number of at least 1.`)
}

/** The page's cursor and direction. */
async function startOf(
  call: Call,
  kind: ResourceRule['kind'],
): Promise<Pick<Range, 'order'> & { readonly after: After }> {
  switch (kind.list.pages) {
    case 'ids':
      return { order: orderOf(call), after: await afterId(call, kind, 'after') }
    case 'cursors': {
      const before = await afterId(call, kind, 'before_id')
      if (before !== undefined) return { order: 'ascending', after: before }
      return { order: 'descending', after: (await afterId(call, kind, 'after_id')) ?? afterToken(call, 'page') }
    }
    case 'tokens':
      return { order: 'descending', after: afterToken(call, 'pageToken') }
  }
}

function orderOf(call: Call): Range['order'] {
  const order = call.query?.get('order') ?? 'desc'
  if (order === 'desc') return 'descending'
  if (order === 'asc') return 'ascending'
  throw refused('order', "'order' must be asc or desc.")
}

async function afterId(call: Call, kind: ResourceRule['kind'], name: string): Promise<After> {
  const id = call.query?.get(name)
  if (id === undefined || id === null || id === '') return undefined
  const place = await call.kernel.need(OWNERSHIP).cursorOf(ownerOf(call), kind, id)
  if (place === undefined) throw refused(name, `'${name}' is not an id in this list.`)
  return place
}

function tokenOf(created: number, key: string): string {
  return Buffer.from(JSON.stringify([created, key])).toString('base64url')
}

function afterToken(call: Call, name: string): After {
  const token = call.query?.get(name)
  if (token === undefined || token === null || token === '') return undefined
  try {
    const [created, key] = JSON.parse(Buffer.from(token, 'base64url').toString('utf8')) as unknown[]
    if (typeof created === 'number' && typeof key === 'string') return { created, key }
  } catch {
    // Reported below.
  }
  throw refused(name, 'The page token is not valid.')
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param })
}
