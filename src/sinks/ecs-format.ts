import type { Fields } from '../core/log-record.js'
import { type Format, renamed } from './format.js'

/** Of the Elastic Common Schema, whose names these are: https://www.elastic.co/docs/reference/ecs */
const ECS_VERSION = '8.17.0'

/** Our names that the schema has a field for; others are below `gateway`. */
const NAMES: Readonly<Record<string, string>> = {
  id: 'http.request.id',
  method: 'http.request.method',
  trace: 'trace.id',
  path: 'url.path',
  client: 'client.address',
  status: 'http.response.status_code',
  error: 'error.code',
  cause: 'error.message',
  bytes_in: 'http.request.body.bytes',
  bytes_out: 'http.response.body.bytes',
  pid: 'process.pid',
}

const OUTCOMES: Readonly<Record<string, string>> = { ok: 'success', client_abort: 'unknown' }
const NS_PER_MS = 1_000_000

/**
 * One line of the Elastic Common Schema. Its first fields, their order and the dots in their names are those of the
 * specification of ECS logging.
 */
export const ecsFormat: Format = ({ severity, at, message, fields, worker }) =>
  `${JSON.stringify({
    '@timestamp': new Date(at).toISOString(),
    'log.level': severity,
    message,
    'ecs.version': ECS_VERSION,
    'service.name': 'gateway',
    'event.dataset': message === 'request' ? 'gateway.request' : 'gateway.process',
    ...(worker === undefined ? {} : { 'gateway.worker': worker }),
    ...eventOf(fields),
    ...renamed(fields, NAMES),
  })}\n`

function eventOf({ outcome, total_ms: total }: Fields): Fields {
  return {
    ...(typeof outcome === 'string' ? { 'event.outcome': OUTCOMES[outcome] ?? 'failure' } : {}),
    ...(typeof total === 'number' ? { 'event.duration': Math.round(total * NS_PER_MS) } : {}),
  }
}
