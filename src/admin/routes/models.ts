import { PAGE_QUERY, pageOf, pageOfNames } from '../pages.js'
import { type AdminRoute, objectOf, TEXT } from '../route.js'

const TARGET = objectOf({ upstream: TEXT, as: TEXT, weight: { type: 'number' } }, ['upstream'])

export const models: AdminRoute = {
  method: 'GET',
  path: '/admin/models',
  summary: 'Models of the configuration, in its order.',
  query: PAGE_QUERY,
  status: 200,
  answer: pageOf(objectOf({ name: TEXT, targets: { type: 'array', items: TARGET }, off: TEXT }, ['name', 'targets'])),
  async handle(request, { config, plan }) {
    return pageOfNames(Object.keys(config.models), request, name => ({
      name,
      targets: (config.models[name]?.targets ?? []).map(({ upstream, as, weight }) => ({ upstream, as, weight })),
      off: plan.off.models.get(name),
    }))
  },
}
