import type { Call } from '../../kernel/call.js'
import { chainOf } from '../../kernel/chain.js'
import type { Feature } from '../../kernel/stages.js'

/** How long a browser may cache a preflight's answer, seconds. */
const PREFLIGHT_MAX_AGE_SECONDS = '600'
/** Headers of every answer; stages declare their own. */
const EXPOSED = [
  ...['x-request-id', 'request-id', 'x-gateway-error', 'x-gateway-dropped', 'x-gateway-estimated'],
  ...['retry-after', 'retry-after-ms', 'x-should-retry'],
]

/** Admits the declared browser origins: adds headers to their answers, and answers their preflights. */
export const cors: Feature = {
  name: 'cors',
  compile({ plan, route }) {
    const origins = plan.listen.cors?.origins
    if (origins === undefined || route?.tunnel !== undefined) return undefined
    const originOf = ({ request }: Call): string | undefined => {
      const { origin } = request.headers
      return origin !== undefined && (origins.includes(origin) || origins.includes('*')) ? origin : undefined
    }
    return {
      name: 'cors',
      exposes: EXPOSED,
      onRequest(call) {
        if (originOf(call) !== undefined) answerPreflight(call)
      },
      onAnswerHead(call, _status, headers) {
        const origin = originOf(call)
        if (origin === undefined) return
        headers.push('access-control-allow-origin', origin, 'vary', 'origin')
        headers.push('access-control-expose-headers', chainOf(call).exposes)
      },
    }
  },
}

/** Answers preflights for every path of a route, with any method; other paths get their error. */
function answerPreflight(call: Call): void {
  const { match, request } = call
  const method = request.headers['access-control-request-method']
  if (request.method !== 'OPTIONS' || method === undefined) return
  if (match.route === undefined && match.status !== 405) return
  const allow = match.route === undefined ? match.allow : [match.route.method]
  call.begin(204, [
    'access-control-allow-methods',
    allow.join(', '),
    'access-control-allow-headers',
    requestedHeaders(call),
    'access-control-max-age',
    PREFLIGHT_MAX_AGE_SECONDS,
  ])
  call.end()
}

function requestedHeaders(call: Call): string {
  const asked = call.request.headers['access-control-request-headers'] ?? ''
  return /^[\w, -]{1,1024}$/.test(asked) ? asked : 'authorization, content-type'
}
