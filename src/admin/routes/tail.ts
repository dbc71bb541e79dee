import { faultOf, STATUS_PATTERN } from '../../features/tail/filter.js'
import { AdminError, type AdminRoute, type StreamAnswer, TEXT } from '../route.js'

export const tail: AdminRoute = {
  method: 'GET',
  path: '/admin/tail',
  summary:
    'Lines of requests as they settle, of all workers, as server-sent events: request, and lost with the number of lines that the reader was too slow for. status: 404 or 5xx; slow: at least so many milliseconds.',
  query: {
    key: TEXT,
    model: TEXT,
    status: { type: 'string', pattern: STATUS_PATTERN },
    slow: { type: 'integer' },
  },
  status: 200,
  answer: TEXT,
  stream: 'text/event-stream',
  async handle({ query: { key, model, status, slow } }, host): Promise<StreamAnswer> {
    const fault = faultOf(status, slow)
    if (fault !== undefined) throw new AdminError(400, 'invalid_parameter', fault)
    const pieces = host.tail({
      ...(key !== undefined && { key }),
      ...(model !== undefined && { model }),
      ...(status !== undefined && { status }),
      ...(slow !== undefined && { slow: Number(slow) }),
    })
    if (pieces === undefined) throw new AdminError(409, 'too_many_readers', 'too many read the lines already')
    return { pieces }
  },
}
