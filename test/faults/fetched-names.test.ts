import type { RequestListener } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { changingName } from '../helpers/changing-names.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { TRAP } from '../helpers/inner-addresses.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { filmYaml, startTaskUpstream } from '../helpers/task-upstream.js'
import { type MediaHost, sample, startMediaHost } from '../net/media-host.js'

// F-X1: names that lead to another address at each look-up, through the whole gateway. The first one may be connected to.

t.setTimeout(120_000)

const NAME = 'changing.example.com'
const GOOD = '127.0.0.2'

interface Hosts {
  readonly good: MediaHost
  readonly trap: MediaHost
  /** A file may allow these. */
  readonly allow: string
}

/** The allowed server and the forbidden one, at the same port. */
async function hosts(t: Test, listener: RequestListener): Promise<Hosts> {
  const good = await startMediaHost(t, GOOD, listener)
  const trap = await startMediaHost(t, TRAP, listener, good.port)
  return { good, trap, allow: `allow: ["${NAME}", "${GOOD}"]` }
}

const sending =
  (type: string): RequestListener =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': type }).end(sample('image/png'))

/** The connection went to what was checked, with one look-up; the next request looks again, and goes nowhere. */
function judge(t: Test, { good, trap }: Hosts, asked: number): void {
  t.equal(good.connections(), 1, 'to the address that was checked')
  t.equal(trap.connections(), 0, 'never to the other one')
  t.equal(asked, 2, 'one look-up for each request')
}

t.test('F-X1 rebinding: media of a request', async t => {
  const both = await hosts(t, sending('image/png'))
  const name = changingName(t, NAME, [GOOD, TRAP])
  const upstream = await startRawUpstream(t)
  upstream.answer(json({ candidates: [{ content: { parts: [{ text: 'A cat' }] }, finishReason: 'STOP' }] }))
  const speaks = 'generate: { call: "POST /v1beta/models/{model}:generateContent" }'
  const fetching = `media: { fetch: { ${both.allow}, http: true, ports: [${both.good.port}] } }`
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", speaks: { ${speaks} } } }\nmodels: { m: up }\n${fetching}\n`
  const gateway = await startTestGateway(t, yaml)
  const url = `http://${NAME}:${both.good.port}/a.png`
  const ask = async () =>
    await gateway.chat({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] })
  t.equal((await ask()).status, 200)
  t.equal((await ask()).status, 400)
  judge(t, both, name.asked)
  t.equal(upstream.requests.items.length, 1)
})

for (const [what, isRedirect] of [
  ['a result of a task', false],
  ['a redirect of content', true],
] as const) {
  t.test(`F-X1 rebinding: ${what}`, async t => {
    const both = await hosts(t, sending('video/mp4'))
    const name = changingName(t, NAME, [GOOD, TRAP])
    const film = `http://${NAME}:${both.good.port}/film.mp4`
    const upstream = await startTaskUpstream(t, ({ method, target }) => {
      if (target.endsWith('/content')) return { status: 302, headers: { location: film }, body: Buffer.alloc(0) }
      return {
        body: { id: 'one', state: method === 'POST' && isRedirect ? 'queued' : 'done', ...(!isRedirect && { film }) },
      }
    })
    const calls = ', videos.retrieve: "GET /jobs/{task_id}", videos.content: "GET /jobs/{task_id}/content"'
    const task = isRedirect ? 'poll: { every: 5ms }' : 'result: film'
    const yaml = `version: 1
store: { type: memory }
${CALLER}
media: { fetch: { ${both.allow}, http: true, ports: [${both.good.port}] } }
upstreams:
  up: { base: "${upstream.origin}", speaks: { videos: { call: POST /jobs, forms: json, task: { id: id, state: state, ${task} } }${isRedirect ? calls : ''} } }
models: { film: up }
`
    const gateway = await startTestGateway(t, yaml)
    const begun = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat' } })
    const { id } = begun.json() as { id: string }
    if (isRedirect) await gateway.log.find(line => line.msg === 'task changed' && line.to === 'succeeded')
    t.equal((await gateway.request(`/v1/videos/${id}/content`)).status, 200)
    t.equal((await gateway.request(`/v1/videos/${id}/content`)).status, 502)
    judge(t, both, name.asked)
  })
}

t.test('F-X1 rebinding: keys of an issuer, between its document and them', async t => {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }] }
  const place = { origin: '' }
  const both = await hosts(t, ({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json')
    const document = { issuer: place.origin, jwks_uri: `${place.origin}/jwks` }
    response.end(JSON.stringify(url === '/jwks' ? keys : document))
  })
  place.origin = `http://${NAME}:${both.good.port}`
  const name = changingName(t, NAME, [GOOD, TRAP])
  const provider = `issuer: "${place.origin}", audience: gateway, ${both.allow}, caller: {}`
  const yaml = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels: { m: { upstream: sim, as: sim-text } }
identity: { providers: { company: { ${provider} } } }\n`
  const gateway = await startTestGateway(t, yaml)
  const token = new SignJWT({ iss: place.origin, aud: 'gateway', sub: 'ada', exp: 9e9 })
  const key = await token.setProtectedHeader({ alg: 'RS256', kid: 'k' }).sign(privateKey)
  t.equal((await gateway.chat({}, { key })).status, 503)
  t.same(
    both.good.requests.map(({ url }) => url),
    ['/.well-known/openid-configuration'],
  )
  judge(t, both, name.asked)
})

t.test('F-X1 rebinding: a webhook', async t => {
  // It speaks no TLS, so that no notification is acknowledged: where the connections go is all that counts.
  const both = await hosts(t, sending('image/png'))
  const name = changingName(t, NAME, [GOOD, TRAP])
  const upstream = await startTaskUpstream(t, () => ({ body: { id: 'one', object: 'video', status: 'completed' } }))
  const hooks = `webhooks: { secret: { env: HOOK_SECRET }, ${both.allow}, ports: [${both.good.port}] }\n`
  const env = { HOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', OTHER_KEY: 'the-key-of-another-caller-01' }
  const gateway = await startTestGateway(t, filmYaml(upstream.origin, undefined, hooks), { env })
  const webhook_url = `https://${NAME}:${both.good.port}/hook`
  for (const msg of ['notification again', 'notification given up']) {
    const begun = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat', webhook_url } })
    t.equal(begun.status, 200)
    const { id } = begun.json() as { id: string }
    await gateway.log.find(line => line.msg === msg && line.task === id)
  }
  judge(t, both, name.asked)
})
