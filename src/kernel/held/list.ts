import { GatewayError } from '../../core/errors.js'
import type { Holding } from '../../core/held.js'
import type { JsonObject } from '../../core/json.js'
import type { Range } from '../../core/store.js'
import type { Call } from '../call.js'
import { ownerOf } from './choose.js'
import type { Held } from './holdings.js'
import { looked, type Serve } from './look.js'

type After = Range['after']

/** Answers with the caller's own things of a kind, page by page, as they were last seen. */
export async function listHeld(call: Call, { kind }: Holding, serve: Serve): Promise<void> {
  const { pages, member, filter } = kind.list
  const byIds = pages === 'ids'
  const limit = limitOf(call, byIds ? 'limit' : 'pageSize', kind.list)
  const after = byIds ? await afterId(call, kind) : afterToken(call)
  const order = byIds ? orderOf(call) : 'descending'
  const wanted = (object: JsonObject): boolean =>
    filter.every(name => {
      const value = call.query?.get(name)
      return value === undefined || value === null || object[name] === value
    })
  const range: Range = { order, limit, ...(after === undefined ? {} : { after }) }
  const { items, more } = await call.kernel.state.holdings.page(ownerOf(call), kind, range, wanted)
  const seen = await looked(call, kind, items, serve)
  if (call.over) return
  const objects = seen.map(item => shown(item, kind))
  const last = items.at(-1)
  if (byIds) {
    const [first] = items
    const ids = { first_id: first?.id ?? null, last_id: last?.id ?? null }
    call.answer(200, { object: 'list', [member]: objects, ...ids, has_more: more })
    return
  }
  const next = more && last !== undefined ? { nextPageToken: tokenOf(last.created, last.id) } : {}
  call.answer(200, { ...(objects.length === 0 ? {} : { [member]: objects }), ...next })
}

/** A thing that has never been seen itself is told by its name alone. */
function shown({ id, object }: Held, { prefix, id: path }: Holding['kind']): JsonObject {
  return object ?? { [path.at(-1) ?? 'id']: prefix + id }
}

function limitOf(call: Call, name: string, { usual, most }: Holding['kind']['list']): number {
  const given = call.query?.get(name)
  if (given === undefined || given === null || given === '') return usual
  const limit = /^\d{1,9}$/.test(given) ? Number(given) : 0
  if (limit >= 1) return Math.min(limit, most)
  throw refused(name, `'${name}' has to be a whole number from 1 on.`)
}

function orderOf(call: Call): Range['order'] {
  const order = call.query?.get('order') ?? 'desc'
  if (order === 'desc') return 'descending'
  if (order === 'asc') return 'ascending'
  throw refused('order', "'order' has to be asc or desc.")
}

async function afterId(call: Call, kind: Holding['kind']): Promise<After> {
  const id = call.query?.get('after')
  if (id === undefined || id === null || id === '') return undefined
  const place = await call.kernel.state.holdings.placeOf(ownerOf(call), kind, id)
  if (place === undefined) throw refused('after', "'after' is not the id of anything in this list.")
  return place
}

function tokenOf(created: number, key: string): string {
  return Buffer.from(JSON.stringify([created, key])).toString('base64url')
}

function afterToken(call: Call): After {
  const token = call.query?.get('pageToken')
  if (token === undefined || token === null || token === '') return undefined
  try {
    const [created, key] = JSON.parse(Buffer.from(token, 'base64url').toString('utf8')) as unknown[]
    if (typeof created === 'number' && typeof key === 'string') return { created, key }
  } catch {
    // Told below.
  }
  throw refused('pageToken', 'The page token is not valid.')
}

function refused(param: string, message: string): GatewayError {
  return new GatewayError('invalid_parameter', message, { param })
}
