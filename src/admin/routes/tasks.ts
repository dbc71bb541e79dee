import type { Task } from '../../features/tasks/record.js'
import { limitOf, PAGE_QUERY, pageOf } from '../pages.js'
import { AdminError, type AdminRoute, TEXT } from '../route.js'

export const tasks: AdminRoute = {
  method: 'GET',
  path: '/admin/tasks',
  summary:
    'Tasks that the gateway keeps; those of one key are adjacent, in the order in which they began. order=newest: the newest first, in one page, of the last ones of each key; of thousands, those of the first keys. Sessions that only look get no content, and no address.',
  query: {
    ...{ ...PAGE_QUERY, order: { type: 'string', enum: ['newest'] }, id: TEXT },
    ...{ kind: TEXT, owner: TEXT, state: TEXT, model: TEXT, upstream: TEXT },
  },
  status: 200,
  answer: pageOf({ type: 'object' }),
  async handle(request, host) {
    const { limit: _, after, ...filter } = request.query
    if ((filter.order ?? 'newest') !== 'newest')
      throw new AdminError(400, 'invalid_parameter', 'order: expected newest')
    const page = await host.tasks(filter, limitOf(request), after)
    if (page === undefined) throw new AdminError(400, 'invalid_parameter', 'after: expected `next` of a page before')
    return request.session?.role === 'viewer' ? { ...page, data: page.data.map(withoutContent) } : page
  },
}

/** What those who only look may see of a task. */
function withoutContent(task: Task): object {
  const { id, kind, owner, model, target, state, progress, error, created, started, finished, expires } = task
  return {
    ...{ id, kind, owner, model, state, progress, created, started, finished, expires },
    ...(target && { target: { upstream: target.upstream, model: target.model } }),
    ...(error && { error: { code: error.code } }),
  }
}
