import { PAGE_QUERY, pageOf, pageOfNames } from '../pages.js'
import { type AdminRoute, COUNT, MOMENT, objectOf, type Schema, TEXT } from '../route.js'

const STATE: Readonly<Record<string, Schema>> = {
  state: { enum: ['closed', 'open', 'half_open'] },
  reason: TEXT,
  until: MOMENT,
}

/** Absent members: all is well. */
const HEALTH = objectOf(
  {
    ...STATE,
    secrets: { type: 'array', items: objectOf({ credential: TEXT, ...STATE }, ['credential', 'state']) },
    models: { type: 'array', items: objectOf({ model: TEXT, ...STATE }, ['model', 'state']) },
    more: COUNT,
  },
  ['state'],
)

export const upstreams: AdminRoute = {
  method: 'GET',
  path: '/admin/upstreams',
  summary: 'Upstreams of the configuration, in its order, and what of them rests because it fails.',
  query: PAGE_QUERY,
  status: 200,
  answer: pageOf(
    objectOf(
      {
        name: TEXT,
        kind: TEXT,
        base: TEXT,
        speaks: { type: 'array', items: TEXT },
        off: TEXT,
        secrets: COUNT,
        health: HEALTH,
      },
      ['name'],
    ),
  ),
  async handle(request, host) {
    const { upstreams } = host.config
    const resting = host.health()
    return pageOfNames(Object.keys(upstreams), request, name => {
      const { kind, base, speaks = {}, off } = upstreams[name] ?? {}
      const health = resting.get(name) ?? { state: 'closed' }
      const { others = [] } = host.plan.upstreams.get(name) ?? {}
      const secrets = others.length === 0 ? undefined : 1 + others.length
      return {
        name,
        kind,
        base,
        speaks: Object.keys(speaks),
        off,
        secrets,
        health: off === undefined ? health : undefined,
      }
    })
  },
}
