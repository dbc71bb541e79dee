import { LOG_FORMATS, LOG_LEVELS } from '../../core/log-config.js'
import { AdminError, type AdminRoute, COUNT, objectOf, type Schema, TEXT } from '../route.js'

const LEVEL: Schema = { type: 'string', enum: [...LOG_LEVELS] }

const STATE = objectOf(
  {
    level: LEVEL,
    configured: { ...LEVEL, description: 'The level of the file.' },
    format: { type: 'string', enum: [...LOG_FORMATS] },
    to: { ...TEXT, description: 'stderr, or the path of a file.' },
    dropped: {
      ...COUNT,
      description: 'Lines of this process that were lost: their reader or disk was too slow or full.',
    },
  },
  ['level', 'configured', 'format', 'to', 'dropped'],
)

export const showLog: AdminRoute = {
  method: 'GET',
  path: '/admin/log',
  summary: 'How the log is written, and what of it was lost.',
  status: 200,
  answer: STATE,
  handle: async (_request, host) => host.log.state,
}

export const changeLog: AdminRoute = {
  method: 'PUT',
  path: '/admin/log',
  summary: 'Another level for all workers, at once: until the level of the file changes, or the process ends.',
  body: objectOf({ level: LEVEL }, ['level']),
  status: 200,
  answer: STATE,
  async handle({ body }, host) {
    const level = LOG_LEVELS.find(name => name === body.level)
    if (level === undefined) {
      throw new AdminError(400, 'invalid_request', `level: expected one of ${LOG_LEVELS.join(', ')}`)
    }
    await host.log.level(level)
    return host.log.state
  },
}
