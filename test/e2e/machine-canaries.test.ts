import { createServer } from 'node:http'
import t from 'tap'
import { TABLE } from '../../src/admin/routes/index.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { listening } from '../helpers/listening.js'
import { startOtlpReceiver } from '../helpers/otlp-receiver.js'

for (const from of ['container', 'machine'] as const) {
  t.test(`the session of a ${from} is in no log, metric, trace, answer of the admin API or error`, async t => {
    const [secret, session, proof] = [canary('upstream'), canary('upstream'), canary('upstream')]
    const keys = { AccessKeyId: 'ASIAEXAMPLE', SecretAccessKey: secret, Token: session }
    const arrived: string[] = []
    const server = createServer(({ url = '', headers, method }, response) => {
      arrived.push(JSON.stringify(headers))
      if (method === 'PUT') response.end(proof)
      else if (url.endsWith('/security-credentials/')) response.end('the-role')
      else if (url === '/chat') {
        const error = { message: JSON.stringify(headers), type: 'invalid_request_error', code: null, param: null }
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      } else response.end(JSON.stringify({ ...keys, Expiration: new Date(Date.now() + 3_600_000).toISOString() }))
    })
    const origin = `http://127.0.0.1:${await listening(t, server)}`
    const collector = await startOtlpReceiver(t)
    const admin = await adminLine(', metrics: open')
    const yaml = `version: 1
${CALLER}
log: { level: trace }
telemetry: { otlp: { endpoint: "${collector.origin}", interval: 50ms }, traces: { sample: { rest: 1 } } }
${admin.line}
upstreams:
  up: { base: "${origin}", speaks: { chat: POST /chat }, credential: { type: aws-sigv4, service: bedrock, region: eu-west-1 } }
models: { m: up }
`
    const own = {
      container: { AWS_CONTAINER_CREDENTIALS_FULL_URI: `${origin}/c`, AWS_CONTAINER_AUTHORIZATION_TOKEN: proof },
      machine: { AWS_EC2_METADATA_SERVICE_ENDPOINT: origin },
    }
    const nowhere = { AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere', HOME: '/nowhere' }
    const env = { ...nowhere, ...own[from], GATEWAY_ADMIN_KEY: ADMIN_SECRET }
    const gateway = await startTestGateway(t, yaml, { env })
    const places = new Map<string, string>()
    const answer = await gateway.chat()
    t.equal(answer.status, 400, answer.text)
    places.set('error', answer.text + JSON.stringify(answer.head.fields))
    const ask = adminOf(t, admin.origin)
    const reads = TABLE.filter(
      ({ method, path }) => method === 'GET' && !/\{|log$|tail|live|heap|cpu|stream|oidc/.test(path),
    )
    t.ok(reads.length > 10)
    for (const { path } of reads) places.set(path, (await ask('GET', path)).text)
    await collector.spans.count(1)
    await collector.metrics.count(1)
    await gateway.gateway.close()
    places.set('spans', JSON.stringify(collector.spans.items))
    places.set('metrics', JSON.stringify(collector.metrics.items))
    places.set('log', JSON.stringify(gateway.log.items))
    for (const one of [session, proof]) t.ok(arrived.join('').includes(one), 'what is looked for was in use')
    for (const [place, text] of places) {
      t.ok(text.length > 10, `${place} says something`)
      for (const one of [secret, session, proof]) {
        const forms = [one, Buffer.from(one).toString('base64'), encodeURIComponent(one)]
        if (forms.some(form => text.includes(form))) t.fail(`${place} has a secret`)
      }
    }
  })
}

proveNoLeak(t)
