import { Agent, request as httpRequest } from 'node:http'
import t from 'tap'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { request } from '../helpers/raw-client.js'

/** Names that clients invent, of each kind. */
const NAMES = 300
const AT_ONCE = 16

t.test(`F-P13 ${NAMES} invented models and as many paths and keys add no series to the metrics`, async t => {
  const { line, origin } = await adminLine(', metrics: { per_key: true }')
  const yaml = `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\n`
  const gateway = await startTestGateway(t, `${yaml}${line}\n`, { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET } })
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  t.teardown(() => agent.destroy())
  const { port } = new URL(gateway.origin)
  const send = (path: string, key: string, body?: object): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const method = body === undefined ? 'GET' : 'POST'
      const sent = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent }, answer => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  const messages = [{ role: 'user', content: 'hi' }]
  /** One request of each kind. */
  const invent = async (name: string): Promise<readonly number[]> => [
    await send('/v1/chat/completions', gateway.key, { model: `unknown-${name}`, messages }),
    await send(`/v1/${name}/${name}`, gateway.key),
    await send('/v1/models', `key-${name}`),
    await send('/v1/chat/completions', gateway.key, { model: `sim-${name}?status=404`, messages }),
  ]
  const series = async (): Promise<readonly string[]> => {
    const { text } = await request(t, origin, '/metrics', { key: ADMIN_SECRET })
    // The console and the sweeper use the store by time, however few requests there are.
    const isOfRequests = (line: string): boolean => !/^#|^$|^gateway_store_operation_duration_seconds/.test(line)
    const lines = text.split('\n').filter(isOfRequests)
    return lines.map(line => line.slice(0, line.lastIndexOf(' '))).sort()
  }
  t.same(await invent('first'), [404, 404, 401, 404])
  const before = await series()
  let next = 0
  const walk = async (): Promise<void> => {
    while (next < NAMES) await invent(`n${next++}-${'x'.repeat(next % 50)}`)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, walk))
  const after = await series()
  t.same(after, before, 'the same series')
  t.notOk(after.some(line => /n299|unknown-|key-/.test(line)))
})
