import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { textFrame } from '../../src/wire/frames.js'
import { CHAT_ANSWER } from '../helpers/answers.js'
import { Authority, type Pair, withoutOpenssl } from '../helpers/authority.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { type ConnectProxy, startConnectProxy } from '../helpers/connect-proxy.js'
import { CALLER, startTestGateway, upstreamYaml } from '../helpers/gateway.js'
import { hookListener } from '../helpers/hook-listener.js'
import { Journal } from '../helpers/journal.js'
import { ask, open, realtimeYaml, startSocketUpstream } from '../helpers/realtime.js'
import { compatible, filmYaml, startTaskUpstream } from '../helpers/task-upstream.js'
import { png } from '../net/hostile-hosts.js'
import { startMediaHost } from '../net/media-host.js'

/** A name that only the proxy can resolve: the system's resolver finds nothing (RFC 6761). */
const HOST = 'upstream.invalid'
const OTHER = (proxy: ConnectProxy): string =>
  `proxy: { url: "${proxy.origin}", user: "us:er", password: { env: PROXY_PASSWORD } }`

interface Arrived {
  readonly url: string
  readonly body: string
  readonly version: string
  /** Subject of the client's certificate. */
  readonly shown: string | readonly string[] | undefined
  /** The TLS connection, counted from 0. */
  readonly connection: number
}

/** An upstream of Node's own that answers every POST as a chat does. */
async function startUpstream(
  test: Test,
  tls?: Pair & { readonly ca?: string },
): Promise<{ readonly port: number; readonly arrived: Journal<Arrived> }> {
  const arrived = new Journal<Arrived>('upstream requests')
  const sockets: unknown[] = []
  const answer = (request: IncomingMessage, response: import('node:http').ServerResponse): void => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      const { socket, url = '', httpVersion: version } = request
      if (!sockets.includes(socket)) sockets.push(socket)
      const shown = tls?.ca === undefined ? undefined : (socket as TLSSocket).getPeerCertificate().subject?.CN
      arrived.push({ url, body, version, shown, connection: sockets.indexOf(socket) })
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(CHAT_ANSWER))
    })
  }
  const isMutual = tls?.ca !== undefined
  const server =
    tls === undefined ? createServer(answer) : createSecureServer({ ...tls, requestCert: isMutual }, answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, arrived }
}

function yamlOf(origin: string, words: string, more = ''): string {
  return `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams:\n  up: ${upstreamYaml(origin, words)}\nmodels: { m: up }\n${more}`
}

const LOGIN = (password: string): string => `Basic ${Buffer.from(`us:er:${password}`).toString('base64')}`

for (const isSecureProxy of [false, true]) {
  const kind = isSecureProxy ? 'over TLS' : 'in plain HTTP'
  t.test(
    `requests go through the proxy of their upstream, ${kind}, by name and with its login`,
    { skip: withoutOpenssl },
    async t => {
      const authority = new Authority(t)
      const upstream = await startUpstream(t, authority.issue(`DNS:${HOST}`))
      const proxy = await startConnectProxy(t, {
        to: () => ({ host: '127.0.0.1', port: upstream.port }),
        ...(isSecureProxy && { tls: authority.issue('IP:127.0.0.1') }),
      })
      const password = canary('upstream')
      const gateway = await startTestGateway(t, yamlOf(`https://${HOST}`, `${OTHER(proxy)}, tls: { ca: ca.pem }`), {
        files: { 'ca.pem': authority.cert },
        env: { PROXY_PASSWORD: password },
      })
      for (let i = 0; i < 3; i++) t.equal((await gateway.chat()).status, 200)
      const boundary = 'b'
      const part = (name: string, value: string, file = ''): string =>
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`
      const body = `${part('model', 'm')}${part('file', 'x'.repeat(300_000), '; filename="a.wav"')}--${boundary}--\r\n`
      const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
      t.equal((await gateway.request('/v1/audio/transcriptions', { body: Buffer.from(body), headers })).status, 200)
      t.same(
        upstream.arrived.items.map(({ url }) => url),
        [...Array.from({ length: 3 }, () => '/v1/chat/completions'), '/v1/audio/transcriptions'],
      )
      t.ok(upstream.arrived.items.at(-1)?.body.includes('x'.repeat(300_000)), 'the form came whole')
      t.same(
        new Set(upstream.arrived.items.map(({ connection }) => connection)),
        new Set([0]),
        'one tunnel is used again',
      )
      t.same(proxy.asked.items, [{ method: 'CONNECT', authority: `${HOST}:443`, authorization: LOGIN(password) }])
    },
  )
}

t.test('also plain HTTP goes through a tunnel, and what is excepted goes past the proxy', async t => {
  const upstream = await startUpstream(t)
  const proxy = await startConnectProxy(t)
  const words = (except: string): string => `proxy: { url: "${proxy.origin}", except: [${except}] }`
  const origin = `http://127.0.0.1:${upstream.port}`
  const through = await startTestGateway(t, yamlOf(origin, words('"127.0.0.1:1", 10.0.0.0/8, localhost')))
  t.equal((await through.chat()).status, 200)
  t.equal(proxy.asked.items[0]?.authority, `127.0.0.1:${upstream.port}`)
  for (const except of ['127.0.0.1', `"127.0.0.1:${upstream.port}"`, '127.0.0.0/8', '"*"']) {
    const past = await startTestGateway(t, yamlOf(origin, words(except)))
    t.equal((await past.chat()).status, 200)
  }
  t.equal(proxy.asked.items.length, 1)
})

t.test('proxy: env takes the proxy of the environment, an upstream may say off', async t => {
  const upstream = await startUpstream(t)
  const proxy = await startConnectProxy(t)
  const origin = `http://127.0.0.1:${upstream.port}`
  const env = {
    http_proxy: proxy.origin.replace('http://', ''),
    HTTPS_PROXY: 'http://127.0.0.1:9',
    NO_PROXY: 'a.example, localhost',
  }
  const all = 'egress: { proxy: env }\n'
  for (const [words, count] of [
    ['', 1],
    ['proxy: off', 1],
    ['proxy: env', 2],
  ] as const) {
    const gateway = await startTestGateway(t, yamlOf(origin, words, all), { env })
    t.equal((await gateway.chat()).status, 200)
    t.equal(proxy.asked.items.length, count, words)
  }
  const none = await startTestGateway(t, yamlOf(origin, '', all), { env: { ...env, NO_PROXY: '127.0.0.1' } })
  t.equal((await none.chat()).status, 200)
  t.equal(proxy.asked.items.length, 2)
})

t.test('a proxy that refuses, hangs or is not there is the phase proxy, and the next target is asked', async t => {
  const upstream = await startUpstream(t)
  const proxy = await startConnectProxy(t)
  const origin = `http://127.0.0.1:${upstream.port}`
  const words = (port: number): string =>
    `proxy: "http://user:\${PROXY_PASSWORD}@127.0.0.1:${port}", timeouts: { connect: 300ms }`
  const yaml = (port: number): string =>
    `version: 1\n${CALLER}\nstore: { type: memory }\nhealth: off\nupstreams:\n  up: ${upstreamYaml(origin, words(port))}\n  other: ${upstreamYaml(origin)}\n` +
    'models: { m: up, both: [up, other] }\n'
  const env = { PROXY_PASSWORD: canary('upstream') }
  const gateway = await startTestGateway(t, yaml(proxy.port), { env })
  for (const [answer, status, code] of [
    [407, 502, 'upstream_unavailable'],
    [403, 502, 'upstream_unavailable'],
    [502, 502, 'upstream_unavailable'],
    ['hang', 504, 'upstream_timeout'],
  ] as const) {
    proxy.answer = answer
    const refused = await gateway.chat()
    t.equal(refused.status, status, `${answer}`)
    t.match(refused.json(), { error: { code, message: /the proxy on the way to it failed/ } })
    t.notMatch(refused.text, /secret|407|403/)
    t.equal((await gateway.chat({ model: 'both' })).status, 200)
  }
  await gateway.log.count(8)
  const lines = gateway.log.items.filter(({ msg }) => msg === 'request')
  for (const [index, line] of lines.entries()) {
    const attempts = line.attempts as readonly { readonly phase: string; readonly upstream: string }[] | undefined
    t.match(JSON.stringify(index % 2 === 0 ? line : attempts), /"proxy"/)
  }
  t.equal(upstream.arrived.items.length, 4, 'only the other target asked the upstream')
  const gone = await startTestGateway(t, yaml(1), { env })
  t.match((await gone.chat()).json(), { error: { code: 'upstream_unavailable', message: /proxy/ } })
})

for (const tunnel of ['raw', 'framed']) {
  t.test(`WebSockets go the same way, with the gateway's certificate: ${tunnel}`, { skip: withoutOpenssl }, async t => {
    const authority = new Authority(t)
    const up = await startSocketUpstream(t, authority.issue(`DNS:${HOST}`))
    const proxy = await startConnectProxy(t, {
      to: () => ({ host: '127.0.0.1', port: Number(new URL(up.origin).port) }),
    })
    const words = `credential: { in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }, proxy: "${proxy.origin}", tls: { ca: ca.pem }`
    const more =
      tunnel === 'framed'
        ? 'routes: { WS /v1/realtime: { protocol: realtime, model: query.model, tunnel: framed } }\n'
        : ''
    const yaml = realtimeYaml(`https://${HOST}`, '', words) + more
    const gateway = await startTestGateway(t, yaml, { files: { 'ca.pem': authority.cert } })
    const { client, server } = await open(t, { gateway, up })
    client.send(textFrame('hello', true))
    await server.texts.count(1)
    server.send(textFrame('hi', false))
    await client.texts.count(1)
    t.same([server.texts.items, client.texts.items], [['hello'], ['hi']])
    t.equal(proxy.asked.items[0]?.authority, `${HOST}:443`)
    proxy.answer = 403
    const refused = await ask(t, gateway)
    t.equal(refused.status, 502)
    t.match(refused.body, /the proxy on the way to it failed/)
  })
}

t.test(
  'media that a request names are fetched through the proxy of its upstream, from the address that was checked',
  async t => {
    const host = await startMediaHost(t, '127.0.0.2', png)
    const proxy = await startConnectProxy(t)
    const upstream = await startUpstream(t)
    const up = `{ base: "http://127.0.0.1:${upstream.port}", speaks: { chat: POST /up }, traits: { fetches_urls: false, max_output: 100 }, proxy: "${proxy.origin}" }`
    const media = `media: { fetch: { allow: [127.0.0.2/32], http: true, ports: [${host.port}] } }\n`
    const gateway = await startTestGateway(
      t,
      `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: { m: up }\n${media}`,
    )
    const content = [{ type: 'image', source: { type: 'url', url: `${host.origin}/a.png` } }]
    const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content }] }
    t.equal((await gateway.request('/v1/messages', { body })).status, 200)
    t.match(upstream.arrived.items[0]?.body, /data:image\/png;base64,/)
    t.same(
      proxy.asked.items.map(({ authority }) => authority),
      [`127.0.0.2:${host.port}`, `127.0.0.1:${upstream.port}`],
    )
  },
)

t.test('webhooks of a task go through the proxy of its upstream, and trust its authorities', async t => {
  const { url, port, notifications } = await hookListener(t, () => 204)
  const upstream = await startTaskUpstream(t, compatible({ status: 'completed' }))
  const proxy = await startConnectProxy(t)
  const egress = `egress: { proxy: "${proxy.origin}", tls: { ca: "${join(packageRoot(), 'test/fixtures/tls/first.pem')}" } }\n`
  const hooks = `webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [${port}] }\n`
  const env = { HOOK_SECRET: 'a signing secret of a test', OTHER_KEY: 'another key of a test' }
  const gateway = await startTestGateway(t, filmYaml(upstream.origin, undefined, hooks + egress), { env })
  const body = { model: 'film', prompt: 'A cat', webhook_url: url }
  t.equal((await gateway.request('/v1/videos', { body })).status, 200)
  await notifications.count(1)
  const asked = new Set(proxy.asked.items.map(({ authority }) => authority))
  t.same([...asked], [new URL(upstream.origin).host, `127.0.0.1:${port}`])
})

t.test(
  'mTLS: the certificate of the gateway, an authority of its own, a name of its own, a version of TLS',
  { skip: withoutOpenssl },
  async t => {
    const authority = new Authority(t)
    const [stranger, own] = [new Authority(t), authority.issue('DNS:gateway')]
    const upstream = await startUpstream(t, { ...authority.issue(`DNS:${HOST}`), ca: authority.cert })
    const origin = `https://127.0.0.1:${upstream.port}`
    const files = { 'ca.pem': authority.cert, 'no.pem': stranger.cert, 'own.pem': own.cert, 'own.key': own.key }
    const words = (ca: string, more = ''): string =>
      `tls: { ca: ${ca}, certificate: own.pem, key: own.key, server_name: ${HOST}${more} }`
    const good = await startTestGateway(t, yamlOf(origin, words('ca.pem', ', min_version: 1.3')), { files })
    t.equal((await good.chat()).status, 200)
    t.match(String(upstream.arrived.items[0]?.shown), /^issued-/)
    const bad = await startTestGateway(t, yamlOf(origin, words('no.pem')), { files })
    t.equal((await bad.chat()).status, 502)
    const nameless = await startTestGateway(t, yamlOf(origin, 'tls: { ca: ca.pem }'), { files })
    t.equal((await nameless.chat()).status, 502)
    t.equal(upstream.arrived.items.length, 1)
  },
)

proveNoLeak(t)
