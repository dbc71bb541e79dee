import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { command } from '../cli/in-process.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { CALLER, type GatewayOptions, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { trap } from '../helpers/inner-addresses.js'
import { CLIENT, type Issuer, startIssuer } from '../helpers/issuer.js'
import { Journal } from '../helpers/journal.js'
import { listening } from '../helpers/listening.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { filmYaml, startTaskUpstream } from '../helpers/task-upstream.js'

// F-X1: servers at addresses of the file that send the gateway on to another address. No redirect is followed, and no secret goes there.

t.setTimeout(120_000)

const STATUSES = [302, 307]
const PEM = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()

interface Redirecting {
  readonly origin: string
  readonly asked: Journal<string>
}

function redirecting(asked: Journal<string>, status: number, location: string): RequestListener {
  return (request, response) => {
    request.resume()
    response.writeHead(status, { location }).end()
    asked.push(`${request.method} ${request.url}`)
  }
}

async function startRedirecting(t: Test, status: number, location: string): Promise<Redirecting> {
  const asked = new Journal<string>('requests that are redirected')
  const server: Server = createServer(redirecting(asked, status, location))
  return { asked, origin: `http://127.0.0.1:${await listening(t, server)}` }
}

async function gatewayWith(t: Test, credential: string, options: GatewayOptions): Promise<TestGateway> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const up = `{ base: "${upstream.origin}", speaks: { chat: POST /v1/chat/completions }, credential: ${credential} }`
  return await startTestGateway(t, `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: { m: up }\n`, options)
}

/** Credentials whose server is at this address. */
const CREDENTIALS: Readonly<
  Record<string, (origin: string) => readonly [credential: string, options: GatewayOptions]>
> = {
  oauth2: origin => [
    `{ type: oauth2, token_url: "${origin}/token", client_id: gateway, secret: { env: CLIENT_SECRET } }`,
    { env: { CLIENT_SECRET: 'the-secret-of-the-gateway' } },
  ],
  'gcp, a service account': origin => [
    '{ type: gcp, file: account.json }',
    {
      files: {
        'account.json': JSON.stringify({
          ...{ type: 'service_account', client_email: 'a@b.example', private_key: PEM, token_uri: `${origin}/token` },
        }),
      },
    },
  ],
  'gcp, the metadata server': origin => [
    '{ type: gcp }',
    { env: { GCE_METADATA_HOST: new URL(origin).host, HOME: '/nowhere' } },
  ],
  'aws-sigv4, a role': origin => [
    '{ type: aws-sigv4, service: bedrock, region: eu-west-1, access_key_id: AKIA1, secret: { env: AWS_KEY }, role: "arn:r" }',
    { env: { AWS_KEY: 'the-secret-access-key', AWS_ENDPOINT_URL_STS: `${origin}/` } },
  ],
  'aws-sigv4, a container': origin => [
    '{ type: aws-sigv4, service: bedrock, region: eu-west-1 }',
    {
      env: {
        ...{ AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere' },
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin}/creds`,
      },
    },
  ],
  'aws-sigv4, a machine': origin => [
    '{ type: aws-sigv4, service: bedrock, region: eu-west-1 }',
    {
      env: {
        ...{ AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere' },
        AWS_EC2_METADATA_SERVICE_ENDPOINT: origin,
      },
    },
  ],
}

for (const [name, write] of Object.entries(CREDENTIALS)) {
  t.test(`F-X1 redirects: ${name}`, async t => {
    const host = await trap(t)
    for (const status of STATUSES) {
      const server = await startRedirecting(t, status, `http://127.0.0.1:${host.port}/stolen`)
      const gateway = await gatewayWith(t, ...write(server.origin))
      await server.asked.count(1)
      t.equal((await gateway.chat()).status, 502)
    }
    t.equal(host.connections(), 0)
  })
}

t.test('F-X1 redirects: an issuer, its keys, and where it is asked about tokens', async t => {
  const host = await trap(t)
  const issuer = await startIssuer(t)
  const yaml = `version: 1
${CALLER}
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
identity:
  providers:
    company:
      { issuer: "${issuer.origin}", audience: gateway, allow: [127.0.0.1, "*"], caller: {},
        introspection: { client_id: ${CLIENT.id}, client_secret: { env: CLIENT_SECRET } } }
`
  const ways: readonly (readonly [path: string, token: (issuer: Issuer) => Promise<string>])[] = [
    ['/.well-known/openid-configuration', ({ sign }) => sign()],
    ['/jwks', ({ sign }) => sign()],
    ['/token/introspection', async () => 'a-token-that-is-no-jwt-0123456789'],
  ]
  for (const [path, token] of ways) {
    for (const status of STATUSES) {
      issuer.instead.clear()
      issuer.instead.set(path, response => {
        response.writeHead(status, { location: `http://127.0.0.1:${host.port}/` }).end()
      })
      const gateway = await startTestGateway(t, yaml, { env: { CLIENT_SECRET: CLIENT.secret } })
      t.equal((await gateway.chat({}, { key: await token(issuer) })).status, 503, `${path} ${status}`)
      await gateway.log.find(line => line.msg === 'request' && new RegExp(`status ${status}`).test(String(line.cause)))
    }
  }
  t.equal(host.connections(), 0)
})

t.test('F-X1 redirects: a webhook', async t => {
  const host = await trap(t)
  const tls = join(packageRoot(), 'test/fixtures/tls')
  const cert = readFileSync(join(tls, 'first.pem'))
  const asked = new Journal<string>('notifications')
  const to = `http://127.0.0.1:${host.port}/`
  const listener = redirecting(asked, 307, to)
  const port = await listening(t, createSecureServer({ cert, key: readFileSync(join(tls, 'first.key')) }, listener))
  const upstream = await startTaskUpstream(t, () => ({ body: { id: 'one', object: 'video', status: 'completed' } }))
  const hooks = `webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [${port}, ${host.port}] }
egress: { tls: { ca: authority.pem } }\n`
  const gateway = await startTestGateway(t, filmYaml(upstream.origin, undefined, hooks), {
    env: { HOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', OTHER_KEY: 'the-key-of-another-caller-01' },
    files: { 'authority.pem': cert.toString() },
  })
  const webhook_url = `https://localhost:${port}/hook`
  await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat', webhook_url } })
  await asked.count(1)
  await gateway.log.find(({ msg }) => msg === 'notification again')
  t.equal(host.connections(), 0)
})

t.test('F-X1 redirects: a WebSocket of an upstream', async t => {
  const host = await trap(t)
  const server = await startRedirecting(t, 302, `http://127.0.0.1:${host.port}/v1/realtime`)
  const credential = '{ in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }'
  const up = `{ base: "${server.origin}", speaks: { realtime: GET /v1/realtime }, credential: ${credential} }`
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: { m: up }\n`)
  const headers = {
    ...{ connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' },
    'sec-websocket-key': Buffer.alloc(16, 7).toString('base64'),
  }
  const answer = await gateway.request('/v1/realtime?model=m', { headers })
  t.equal(answer.status, 502)
  t.match(server.asked.items, ['GET /v1/realtime'])
  t.equal(host.connections(), 0)
})

t.test('F-X1 redirects: a collector of traces', async t => {
  const host = await trap(t)
  const server = await startRedirecting(t, 307, `http://127.0.0.1:${host.port}/v1/traces`)
  const telemetry = `telemetry:
  otlp: { endpoint: "${server.origin}", headers: { authorization: { env: OTLP_TOKEN } } }
  traces: { sample: { rest: 1 } }
`
  const yaml = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels: { m: { upstream: sim, as: sim-text } }\n${telemetry}`
  const gateway = await startTestGateway(t, yaml, { env: { OTLP_TOKEN: 'the-token-of-the-collector' } })
  t.equal((await gateway.chat()).status, 200)
  await gateway.gateway.close()
  t.match(server.asked.items, ['POST /v1/traces'])
  t.equal(host.connections(), 0)
})

t.test('F-X1 redirects: a configuration from a git server, whose login goes nowhere else', async t => {
  const host = await trap(t)
  for (const status of STATUSES) {
    const server = await startRedirecting(t, status, `http://127.0.0.1:${host.port}/fleet.git/info/refs`)
    const address = `git+${server.origin}/fleet.git#main:gateway.yaml`
    const args = ['validate', address, '--bearer-env', 'TOKEN']
    const { code, stderr } = await command(args, { env: { TOKEN: 'of-the-fleet' } })
    t.equal(code, 2, stderr)
    t.match(stderr, /git: /)
    t.match(server.asked.items[0], 'GET /fleet.git/info/refs')
  }
  t.equal(host.connections(), 0)
})
