import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { startConnectProxy } from '../helpers/connect-proxy.js'
import { startTestGateway } from '../helpers/gateway.js'
import { hookListener } from '../helpers/hook-listener.js'
import { compatible, filmYaml, startTaskUpstream } from '../helpers/task-upstream.js'

t.setTimeout(60_000)

t.test('notifications of a task whose upstream a canary alone has go through its proxy', async t => {
  const { url, port, notifications } = await hookListener(t, () => 204)
  const upstream = await startTaskUpstream(t, compatible({ status: 'failed' }))
  const proxy = await startConnectProxy(t)
  const hooks = `webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [${port}] }\n`
  const settings = `reload: { canary: 50%, for: 1h }\n${hooks}`
  const yaml = filmYaml(upstream.origin, undefined, settings).replace('models: ["*"]', '$&, generations: pin')
  const env = { HOOK_SECRET: 'a signing secret of a test', OTHER_KEY: 'another key of a test' }
  const gateway = await startTestGateway(t, yaml, { env })
  const ca = join(packageRoot(), 'test/fixtures/tls/first.pem')
  const clips = `  clips:
    kind: openai
    base: "${upstream.origin}"
    secret: { env: UPSTREAM_KEY }
    tasks: { poll: { every: 20ms } }
    proxy: "${proxy.origin}"
    tls: { ca: "${ca}" }
models: { film: up, clip: clips }`
  await gateway.write('gateway.yaml', yaml.replace('models: { film: up }', clips))
  await gateway.gateway.reload()
  const body = { model: 'clip', prompt: 'A cat', webhook_url: url }
  const headers = { 'x-gateway-generation': '2' }
  const begun = await gateway.request('/v1/videos', { body, headers })
  t.equal(begun.status, 200, begun.text)
  const [{ body: text } = { body: '' }] = await notifications.count(1)
  t.match(JSON.parse(text), { type: /failed$/, data: { status: 'failed' } })
  t.ok(proxy.asked.items.some(({ authority }) => authority === `127.0.0.1:${port}`))
})
