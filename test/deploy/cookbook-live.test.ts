import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { packageRoot } from '../../src/core/package-root.js'
import { start } from '../cli/bin.js'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { startTestGateway } from '../helpers/gateway.js'
import { hookListener } from '../helpers/hook-listener.js'
import { request } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { recipe, replaced } from '../helpers/recipes.js'
import { freePort } from '../helpers/store-servers.js'

/** A contract test shows only a part of these recipes. Their files are served here, and what their pages say is done. */

const CHAT = '/v1/chat/completions'
const HELLO = [{ role: 'user', content: 'hello' }]
const APP = 'the-key-of-the-app-0123456789abcdef'

/** The file with its upstream of this kind at a server of this test. */
function atUpstream(config: string, up: RawUpstream): string {
  return replaced(config, 'kind: openai,', `kind: openai, base: "${up.origin}",`)
}

t.test('Prometheus: the admin listener counts the request, by the names that the page promises', async t => {
  const page = recipe('prometheus')
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const port = await freePort()
  const config = replaced(atUpstream(page.config, up), 'port: 8081', `port: ${port}`)
  const env = { APP_KEY: APP, OPENAI_API_KEY: 'of-the-upstream', GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const gateway = await startTestGateway(t, config, { env })
  const model = 'gpt-4.1-mini'
  t.equal((await gateway.request(CHAT, { key: APP, body: { model, messages: HELLO } })).status, 200)
  await gateway.request(CHAT, { key: APP, body: { model: 'a-name-of-the-client', messages: HELLO } })
  await gateway.log.count(2, line => line.msg === 'request')
  t.match(page.block('yml'), `targets: ["127.0.0.1:8081"]`, 'the page scrapes the port of its file')
  const { status, text } = await request(t, `http://127.0.0.1:${port}`, '/metrics')
  t.equal(status, 200, 'without a key')
  t.match(text, /^gateway_requests_total\{[^}]*model="gpt-\*"[^}]*\} 1$/m)
  t.match(text, /^gateway_key_requests_total\{[^}]*key="app"/m)
  t.notMatch(text, 'a-name-of-the-client')
})

t.test('rotating keys: no request fails in the three steps, and the old secret ends', async t => {
  const page = recipe('rotating-keys')
  const up = await startRawUpstream(t)
  const [fresh, old] = ['the-new-key-of-the-app-0123456789', 'the-old-key-of-the-app-0123456789']
  const secrets = { OPENAI_KEY_NEW: 'new-of-the-upstream', OPENAI_KEY_OLD: 'old-of-the-upstream' }
  up.answer(async peer => {
    const isOld = up.last.header('authorization') === `Bearer ${secrets.OPENAI_KEY_OLD}`
    await json(isOld ? { error: { message: 'revoked' } } : CHAT_ANSWER, { status: isOld ? 401 : 200 })(peer)
  })
  const both = atUpstream(page.config, up)
  const withoutNew = replaced(
    replaced(both, '[{ env: APP_KEY }, { env: APP_KEY_BEFORE }]', '{ env: APP_KEY_BEFORE }'),
    'secrets: [{ env: OPENAI_KEY_NEW }, { env: OPENAI_KEY_OLD }]',
    'secret: { env: OPENAI_KEY_NEW }',
  )
  const env = { APP_KEY: fresh, APP_KEY_BEFORE: old, ...secrets }
  const gateway = await startTestGateway(t, withoutNew, { env })
  const ask = async (key: string): Promise<number> =>
    (await gateway.request(CHAT, { key, body: { model: 'gpt-4.1-mini', messages: HELLO } })).status
  const save = async (text: string): Promise<void> => {
    await gateway.write('gateway.yaml', text)
    await gateway.gateway.reload()
  }
  t.same([await ask(old), await ask(fresh)], [200, 401], 'before')
  await save(both)
  for (const key of [old, fresh, old, fresh]) t.equal(await ask(key), 200, 'step 1: either is taken')
  const used = (): readonly (string | undefined)[] => up.requests.items.map(one => one.header('authorization'))
  t.ok(used().filter(value => value?.endsWith(secrets.OPENAI_KEY_OLD)).length <= 1, 'a refused secret is set aside')
  await save(replaced(both, '[{ env: APP_KEY }, { env: APP_KEY_BEFORE }]', '{ env: APP_KEY }'))
  t.same([await ask(old), await ask(fresh)], [401, 200], 'step 3: the old one is gone')
})

t.test('tasks and webhooks: the address of the request is called, signed, when the video is ready', async t => {
  const page = recipe('tasks-and-webhooks')
  const { url, port, notifications } = await hookListener(t, () => 204)
  const folder = t.testdir({})
  const file = join(folder, 'gateway.yaml')
  const quick = replaced(page.config, 'as: sim-video', 'as: "sim-video?takes=20ms"')
  writeFileSync(
    file,
    `${replaced(quick, '[hooks.example.com]', `[localhost, 127.0.0.1], ports: [${port}]`)}listen: { port: 0 }\n`,
  )
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const NODE_EXTRA_CA_CERTS = join(packageRoot(), 'test/fixtures/tls/first.pem')
  const served = start(t, ['serve', file], { env: { STUDIO_KEY: APP, WEBHOOK_SECRET: secret, NODE_EXTRA_CA_CERTS } })
  const [, origin = ''] = await served.until(/"address":"([^"]+)"/)
  const [, sent = ''] = /-d '(.+)'/.exec(page.block('sh')) ?? []
  const body = replaced(sent, 'https://hooks.example.com/done', url)
  const headers = { authorization: `Bearer ${APP}`, 'content-type': 'application/json' }
  const answer = await fetch(`${origin}/v1/videos`, { method: 'POST', headers, body })
  const { id } = (await answer.json()) as { id: string }
  const [notified] = await notifications.count(1)
  const { headers: got = {}, body: text = '' } = notified ?? {}
  t.match(JSON.parse(text), { type: 'video.completed', data: { id, status: 'completed' } })
  const mac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
  const signed = mac.update(`${got['webhook-id']}.${got['webhook-timestamp']}.${text}`).digest('base64')
  t.equal(got['webhook-signature'], `v1,${signed}`)
})

t.test('Kubernetes: the pod says that it is not ready first, and serves until it ends', async t => {
  const page = recipe('kubernetes')
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const ports = { listen: await freePort(), admin: await freePort() }
  const changes = [
    ['port: 8080', `port: ${ports.listen}`],
    ['port: 8081', `port: ${ports.admin}`],
    // What pods share is in PostgreSQL: test/deploy/compose.test.ts serves with one.
    ['{ type: postgres, url: { env: DATABASE_URL } }', '{ type: memory }'],
    ['base: http://vllm.models.svc:8000', `base: "${up.origin}"`],
  ] as const
  const file = join(t.testdir({}), 'gateway.yaml')
  writeFileSync(
    file,
    changes.reduce((text, [from, to]) => replaced(text, from, to), page.config),
  )
  const served = start(t, ['serve', file], { env: { GATEWAY_KEY: APP, GATEWAY_ADMIN_KEY: ADMIN_SECRET }, bare: true })
  // Signals are taken from then on.
  await served.until(/^listening on /m)
  const origin = `http://127.0.0.1:${ports.listen}`
  const ask = (): Promise<number> =>
    request(t, origin, CHAT, { key: APP, body: { model: 'qwen3', messages: HELLO } }).then(({ status }) => status)
  t.equal((await request(t, origin, '/readyz')).status, 200)
  t.equal(await ask(), 200)
  served.child.kill('SIGTERM')
  await served.until(/SIGTERM: draining/)
  t.equal((await request(t, origin, '/readyz')).status, 503, 'the service takes the pod out')
  t.equal(await ask(), 200, 'what comes meanwhile is answered')
})

/** Runs the script of the page, whose server and socket are of this test, and returns its socket. */
async function runScript(t: Test, script: string, origin: string): Promise<WebSocket> {
  const pageOrigin = 'https://app.example.com'
  class PageSocket extends WebSocket {
    constructor(address: string, protocols: string[]) {
      super(replaced(address, 'wss://gateway.example.com', origin.replace('http', 'ws')), protocols, {
        origin: pageOrigin,
      })
    }
  }
  // What the user's server does for the page: it has the key.
  const server = async (path: string): Promise<Response> => {
    t.equal(path, '/my-server/realtime-secret')
    const session = { type: 'realtime', model: 'sim-realtime' }
    const headers = { authorization: `Bearer ${APP}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ expires_after: { anchor: 'created_at', seconds: 60 }, session })
    return fetch(`${origin}/v1/realtime/client_secrets`, { method: 'POST', headers, body })
  }
  const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as new (
    ...words: string[]
  ) => (...values: unknown[]) => Promise<WebSocket>
  return new AsyncFunction('fetch', 'WebSocket', `${script}\nreturn socket`)(server, PageSocket)
}

t.test('realtime in the browser: the script of the page opens a session, by a secret and without the key', async t => {
  const page = recipe('realtime-browser')
  const gateway = await startTestGateway(t, `${page.config}store: { type: memory }\n`, { env: { APP_KEY: APP } })
  const socket = await runScript(t, page.block('js'), gateway.origin)
  t.teardown(() => socket.terminate())
  const [first] = await once(socket, 'message')
  t.match(JSON.parse(String(first)), { type: 'session.created' })
  t.equal(socket.protocol, 'realtime')
})
