import t from 'tap'
import { FEATURES } from '../../src/features/index.js'
import { oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

const ADMIN_KEY = 'the-key-of-the-admin-0123456789abcdef'
const PATHS = [
  '/admin/config',
  '/admin/keys',
  '/admin/reload',
  '/admin/drain',
  '/admin/openapi.json',
  '/admin/debug/heap-snapshot',
  '/metrics',
  '/debug/pprof/heap',
  '/json/list',
]

t.test('F-A11 the port for callers has nothing of the admin API, whoever asks', async t => {
  const upstream = await startRawUpstream(t)
  const admin = 'admin: { port: 0, secret: { env: GATEWAY_ADMIN_KEY } }\n'
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, admin), {
    env: { GATEWAY_ADMIN_KEY: ADMIN_KEY },
  })
  for (const path of PATHS) {
    for (const method of ['GET', 'POST']) {
      const ours = await gateway.request(path, { method })
      t.equal(ours.status, 404, `${method} ${path} with a caller's key`)
      t.match(ours.json(), { error: { type: 'invalid_request_error' } })
      const theirs = await gateway.request(path, { method, headers: { authorization: `Bearer ${ADMIN_KEY}` } })
      t.equal(theirs.status, 401, `${method} ${path} with the admin's key`)
    }
  }
  const paths = gateway.gateway.plan.routes.map(route => route.id)
  t.same(
    paths.filter(id => /admin|metrics|debug/.test(id)),
    [],
  )
  t.ok(paths.length > 50 && FEATURES.length > 5)
  t.same(upstream.requests.items, [])
})
