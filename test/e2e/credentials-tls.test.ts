import { createServer } from 'node:https'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { CHAT_ANSWER } from '../helpers/answers.js'
import { Authority, withoutOpenssl } from '../helpers/authority.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { listening } from '../helpers/listening.js'
import { CLIENT, startTokenServer } from '../helpers/token-server.js'

/** TLS of servers that give the gateway its credentials: an authority, a certificate and a name that are not the upstream's. */

const NAME = 'upstream.test'

interface Arrived {
  readonly path: string
  readonly authorization: string | undefined
  readonly token: unknown
  readonly body: string
  /** Whose certificate was shown. */
  readonly shown: unknown
}

/** A server that wants certificates unless it is said otherwise, and answers all requests alike. */
async function startServer(t: Test, authority: Authority, name: string, answer: object, requestCert = true) {
  const arrived = new Journal<Arrived>('requests over TLS')
  const tls = { ...authority.issue(name), ca: authority.cert, requestCert }
  const server = createServer(tls, (request, response) => {
    const shown = (request.socket as TLSSocket).getPeerCertificate().subject?.CN
    const { authorization, 'x-vault-token': token } = request.headers
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      arrived.push({ path: request.url ?? '', authorization, token, body, shown })
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
  return { arrived, port: await listening(t, server) }
}

t.test('oauth2: the client proves itself by its certificate (RFC 8705)', { skip: withoutOpenssl }, async t => {
  const authority = new Authority(t)
  const own = authority.issueFor({ subject: '/CN=gateway-1' }, 'DNS:gateway')
  const other = authority.issueFor({ subject: '/CN=gateway-2' }, 'DNS:gateway')
  const { client_secret: _, ...client } = CLIENT
  const server = await startTokenServer(
    t,
    [{ ...client, token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=gateway-1' }],
    { ...authority.issue('DNS:localhost'), ca: authority.cert },
  )
  const upstream = await startServer(t, authority, `DNS:${NAME}`, CHAT_ANSWER)
  const yaml = `version: 1
${CALLER}
upstreams:
  up:
    base: "https://127.0.0.1:${upstream.port}"
    speaks: { chat: POST /v1/chat/completions }
    tls: { ca: ca.pem, certificate: own.pem, key: own.key, server_name: ${NAME} }
    credential: { type: oauth2, token_url: "${server.tokenUrl}", client_id: gateway, auth: none, scope: models }
models: { m: up }
`
  const files = { 'ca.pem': authority.cert, 'own.pem': own.cert, 'own.key': own.key }
  const gateway = await startTestGateway(t, yaml, { files })
  const answer = await gateway.chat()
  t.equal(answer.status, 200, answer.text)
  t.match(upstream.arrived.items, [{ authorization: /^Bearer \S{20,}$/, shown: 'gateway-1' }])
  t.match(server.asked.items, [{ authorization: undefined, status: 200 }])

  const wrong = { ...files, 'own.pem': other.cert, 'own.key': other.key }
  const stranger = await startTestGateway(t, yaml, { files: wrong })
  t.equal((await stranger.chat()).status, 502)
  t.match(await stranger.log.find(({ msg }) => msg === 'an upstream has no new credential'), {
    cause: /invalid_client/,
  })
  t.equal(upstream.arrived.items.length, 1)
})

t.test('a secret manager that wants a certificate, and a collector', { skip: withoutOpenssl }, async t => {
  const authority = new Authority(t)
  const own = authority.issueFor({ subject: '/CN=gateway-1' }, 'DNS:gateway')
  const vault = await startServer(t, authority, 'DNS:localhost', { data: { key: 'the-secret-of-the-upstream' } })
  const collector = await startServer(t, authority, 'DNS:localhost', {}, false)
  const upstream = await startServer(t, authority, 'DNS:localhost', CHAT_ANSWER)
  const yaml = (egress: string, tls: string): string => `version: 1
${CALLER}
egress: { tls: ${egress} }
secret_managers: { ${tls}vault: { address: "https://localhost:${vault.port}", token: { env: VAULT_TOKEN } } }
telemetry: { otlp: { endpoint: "https://localhost:${collector.port}" }, traces: { sample: { rest: 1 } } }
upstreams: { up: { kind: openai, base: "https://localhost:${upstream.port}", secret: { vault: kv/up }, tls: { certificate: own.pem, key: own.key } } }
models: { m: up }
`
  const options = {
    files: { 'ca.pem': authority.cert, 'own.pem': own.cert, 'own.key': own.key },
    env: { VAULT_TOKEN: 'the-token-of-the-gateway' },
  }
  const good = await startTestGateway(
    t,
    yaml('{ ca: ca.pem }', 'tls: { certificate: own.pem, key: own.key }, '),
    options,
  )
  const answer = await good.chat()
  t.equal(answer.status, 200, answer.text)
  await good.gateway.close()
  t.match(vault.arrived.items, [{ path: '/v1/kv/up', shown: 'gateway-1' }])
  t.match(collector.arrived.items[0], { path: '/v1/traces' })
  t.match(upstream.arrived.items, [{ authorization: 'Bearer the-secret-of-the-upstream' }])

  // Neither without the certificate, nor without the authority.
  for (const [egress, tls] of [
    ['{ ca: ca.pem }', ''],
    ['{ min_version: 1.3 }', 'tls: { certificate: own.pem, key: own.key }, '],
  ] as const) {
    const refused = await startTestGateway(t, yaml(egress, tls), options)
    t.not((await refused.chat()).status, 200)
    t.match((await refused.request('/readyz?verbose')).json(), { secrets: { 'vault kv/up': /cannot be asked/ } })
  }
  t.equal(vault.arrived.items.length, 1)
})

t.test('a login to Vault by the certificate that its connections show', { skip: withoutOpenssl }, async t => {
  const authority = new Authority(t)
  const own = authority.issueFor({ subject: '/CN=gateway-1' }, 'DNS:gateway')
  const auth = { client_token: 'hvs.of-the-certificate', lease_duration: 3600, renewable: true }
  const vault = await startServer(t, authority, 'DNS:localhost', { auth, data: { key: 'the-secret-of-the-upstream' } })
  const yaml = (login: string): string => `version: 1
${CALLER}
secret_managers:
  tls: { ca: ca.pem, certificate: own.pem, key: own.key }
  vault: { address: "https://localhost:${vault.port}", cert: ${login} }
upstreams: { up: { kind: openai, base: "http://127.0.0.1:1", secret: { vault: kv/up } } }
models: { m: up }
`
  const files = { 'ca.pem': authority.cert, 'own.pem': own.cert, 'own.key': own.key }
  for (const [login, path, body] of [
    ['{ role: gateway }', 'cert', { name: 'gateway' }],
    ['{ mount: machines }', 'machines', {}],
  ] as const) {
    const { gateway } = await startTestGateway(t, yaml(login), { files })
    t.equal(gateway.plan.off.upstreams.size, 0)
    const [asked, read] = vault.arrived.items.splice(0)
    t.match(asked, { path: `/v1/auth/${path}/login`, shown: 'gateway-1', body: JSON.stringify(body) })
    t.match(read, { path: '/v1/kv/up', shown: 'gateway-1', token: 'hvs.of-the-certificate' })
  }
})
