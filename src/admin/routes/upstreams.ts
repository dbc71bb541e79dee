import { PAGE_QUERY, pageOf, pageOfNames } from '../pages.js'
import { type AdminRoute, objectOf, TEXT } from '../route.js'

export const upstreams: AdminRoute = {
  method: 'GET',
  path: '/admin/upstreams',
  summary: 'Upstreams of the configuration, in its order.',
  query: PAGE_QUERY,
  status: 200,
  answer: pageOf(
    objectOf({ name: TEXT, kind: TEXT, base: TEXT, speaks: { type: 'array', items: TEXT }, off: TEXT }, ['name']),
  ),
  async handle(request, { config }) {
    return pageOfNames(Object.keys(config.upstreams), request, name => {
      const { kind, base, speaks = {}, off } = config.upstreams[name] ?? {}
      return { name, kind, base, speaks: Object.keys(speaks), off }
    })
  },
}
