import type { Match, Miss } from '../core/plan.js'
import type { Call } from './call.js'

/** How long a browser may keep a preflight's answer, seconds. */
const PREFLIGHT_MAX_AGE_SECONDS = '600'
const EXPOSED = [
  ...['x-request-id', 'x-gateway-error', 'x-gateway-dropped', 'x-gateway-estimated'],
  ...['retry-after', 'retry-after-ms', 'x-should-retry'],
].join(', ')

/**
 * Lets the declared browser origins in: marks the answers to them and answers their preflights itself. True where the
 * request was a preflight and is answered.
 */
export function cors(call: Call, matched: Match | Miss): boolean {
  const settings = call.generation.plan.listen.cors
  const { origin } = call.request.headers
  if (settings === undefined || origin === undefined) return false
  if (!settings.origins.includes(origin) && !settings.origins.includes('*')) return false
  call.extraHeaders = [
    'access-control-allow-origin',
    origin,
    'vary',
    'origin',
    'access-control-expose-headers',
    EXPOSED,
  ]
  const method = call.request.headers['access-control-request-method']
  if (call.request.method !== 'OPTIONS' || method === undefined) return false
  if (matched.route === undefined && matched.status !== 405) return false
  const allow = matched.route === undefined ? matched.allow : [matched.route.method]
  call.begin(204, [
    'access-control-allow-methods',
    allow.join(', '),
    'access-control-allow-headers',
    requestedHeaders(call),
    'access-control-max-age',
    PREFLIGHT_MAX_AGE_SECONDS,
  ])
  call.end()
  return true
}

function requestedHeaders(call: Call): string {
  const asked = call.request.headers['access-control-request-headers'] ?? ''
  return /^[\w, -]{1,1024}$/.test(asked) ? asked : 'authorization, content-type'
}
