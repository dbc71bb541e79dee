import { setImmediate } from 'node:timers/promises'
import type { Scope, ScopeLimits, ScopeType } from '../../core/bounds.js'
import type { Config } from '../../core/config.js'
import { CALLERS } from '../../features/keys/callers.js'
import type { ShownLimit } from '../../features/limits/usage.js'
import type { AdminHost } from '../host.js'
import { limitOf, PAGE_QUERY, pageOf, pageOfNames } from '../pages.js'
import { AdminError, type AdminRequest, type AdminRoute, objectOf, TEXT } from '../route.js'

const SECTIONS = { key: 'keys', group: 'groups', model: 'models', upstream: 'upstreams' } as const
const SCOPES = Object.keys(SECTIONS) as readonly ScopeType[]

/** Scopes that are compared by their use, and how many of them are read between other work. */
const MAX_SORTED = 1000
const PIECE_SCOPES = 50
const ORDER = { order: { type: 'string', enum: ['used'] } } as const

const LIMIT = objectOf({ unit: TEXT, window: { type: ['string', 'null'] }, limit: { type: 'number' } }, [
  'unit',
  'limit',
])

export const limits: AdminRoute = {
  method: 'GET',
  path: '/admin/limits',
  summary:
    'Limits of the configuration, and what of them is used. A key of the store is found by scope=key and its name. order=used: those that are nearest to a bound, in one page; of the first 1000, upstreams, models and groups before keys.',
  query: { ...PAGE_QUERY, ...ORDER, scope: { type: 'string', enum: [...SCOPES] }, name: TEXT },
  status: 200,
  answer: pageOf(objectOf({ scope: TEXT, name: TEXT, limits: { type: 'array', items: LIMIT } }, ['scope', 'name'])),
  async handle(request, host) {
    const { scope, name, order } = request.query
    if (scope !== undefined && !SCOPES.some(one => one === scope))
      throw new AdminError(400, 'invalid_parameter', `scope: expected one of ${SCOPES.join(', ')}`)
    if ((order ?? 'used') !== 'used') throw new AdminError(400, 'invalid_parameter', 'order: expected used')
    if (scope === 'key' && name !== undefined && host.config.keys[name] === undefined)
      return { data: await shown(await scopesNamed(scope, name, host), host) }
    const scopes = scopesOf(host.config, scope, name)
    if (order === 'used') {
      const used: Shown[] = []
      for (const first = scopes.reverse().slice(0, MAX_SORTED); first.length > 0; await setImmediate())
        used.push(...(await shown(first.splice(0, PIECE_SCOPES), host)))
      return { data: used.sort((one, other) => partOf(other) - partOf(one)).slice(0, limitOf(request)) }
    }
    const page = pageOfScopes(scopes, request)
    return { ...page, data: await shown(page.data, host) }
  },
}

interface Shown {
  readonly scope: ScopeType
  readonly name: string
  readonly limits: readonly ShownLimit[]
}

/** How much of its nearest bound is used; 1: all of it. */
function partOf({ limits }: Shown): number {
  return Math.max(0, ...limits.map(({ used, limit }) => (limit === 0 ? 1 : used / limit)))
}

/** The scopes with limits that have this name, of a key of the store also those of its groups. */
export async function scopesNamed(type: ScopeType, name: string, host: AdminHost): Promise<readonly Scope[]> {
  const isStored = type === 'key' && host.config.keys[name] === undefined
  return isStored ? await storedScopes(name, host) : scopesOf(host.config, type, name)
}

/** Those that have limits, in the order of the configuration. */
function scopesOf(config: Config, scope: string | undefined, name: string | undefined): Scope[] {
  return SCOPES.filter(type => type === (scope ?? type)).flatMap(type => {
    const entries: Readonly<Record<string, { readonly limits?: ScopeLimits }>> = config[SECTIONS[type]]
    return Object.entries(entries).flatMap(([own, { limits }]) =>
      limits === undefined || own !== (name ?? own) ? [] : [{ type, name: own, limits }],
    )
  })
}

function pageOfScopes(scopes: readonly Scope[], request: AdminRequest): ReturnType<typeof pageOfNames<Scope>> {
  const byName = new Map(scopes.map(scope => [`${scope.type}:${scope.name}`, scope]))
  return pageOfNames([...byName.keys()], request, name => byName.get(name) as Scope)
}

async function storedScopes(name: string, host: AdminHost): Promise<readonly Scope[]> {
  const key = await host.kernel.need(CALLERS).stored.find(name)
  return (key && host.holderOf(key)?.caller.policy?.scopes) ?? []
}

async function shown(scopes: readonly Scope[], host: AdminHost): Promise<readonly Shown[]> {
  const limits = await host.limits(scopes)
  return scopes.map(({ type, name }, at) => ({ scope: type, name, limits: limits[at] ?? [] }))
}
