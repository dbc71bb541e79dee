import t from 'tap'
import { GuardedHttp } from '../../src/net/guarded.js'
import { Blocked } from '../../src/net/media-url.js'
import { json } from '../helpers/answers.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { blockedIn, judge, KINDS, OF_ISSUERS, TRAP, trap, type Verdict } from '../helpers/inner-addresses.js'
import { CLIENT, type Issuer, startIssuer } from '../helpers/issuer.js'
import { type Answer, request } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { startTaskUpstream, type TaskAnswer } from '../helpers/task-upstream.js'
import { SSRF_URLS } from '../net/ssrf-urls.js'

// F-X1: every way by which an address comes from outside the file. Media of requests are in media.test.ts, webhooks in
// webhooks.test.ts; here are results of tasks and their redirects, what issuers name, and names that change their addresses.

t.setTimeout(120_000)

const SOON = (): AbortSignal => AbortSignal.timeout(30_000)

/** Tasks whose upstream answers with a result at an address, or with content that is a redirect to one. */
function tasksYaml(origin: string, port: number, more: string): string {
  return `version: 1
store: { type: memory }
${CALLER}
media: { fetch: { allow: ["*"], http: true, ports: [${port}] } }
upstreams:
  up: { base: "${origin}", speaks: { videos: { call: POST /jobs, forms: json, task: { id: id, state: state, result: film } }${more} } }
models: { film: up }
`
}

async function contentOf(gateway: TestGateway): Promise<Answer> {
  const begun = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat' } })
  const { id } = begun.json() as { id: string }
  return await gateway.request(`/v1/videos/${id}/content`)
}

t.test('F-X1 a result at an inner address, in any spelling, is not fetched', async t => {
  const host = await trap(t)
  let film = ''
  const answer = (): TaskAnswer => ({ body: { id: 'one', state: 'done', film } })
  const upstream = await startTaskUpstream(t, ({ method }) => (method === 'POST' ? answer() : { status: 404 }))
  const gateway = await startTestGateway(t, tasksYaml(upstream.origin, host.port, ''))
  const verdicts: Record<string, Verdict> = {}
  for (const [kind, address] of Object.entries(KINDS)) {
    film = `http://${address}:${host.port}/film.mp4`
    const content = await contentOf(gateway)
    t.equal(content.status, 502, kind)
    t.notMatch(content.text, address, 'the client does not learn where it is')
    verdicts[kind] = await blockedIn(gateway, content)
  }
  judge(t, 'result of a task', verdicts, host)
  // Of all other spellings each fourth: what is not an address at all is a path of the upstream, or no result.
  for (const spell of SSRF_URLS.filter((_, at) => at % 4 === 0)) {
    film = spell(host.port)
    t.not((await contentOf(gateway)).status, 200, film)
  }
  t.equal(host.connections(), 0)
})

t.test('F-X1 a redirect of content to an inner address is not followed', async t => {
  const host = await trap(t)
  let location = ''
  const upstream = await startTaskUpstream(t, ({ method, target }) => {
    if (method === 'POST') return { body: { id: 'one', state: 'queued' } }
    if (!target.endsWith('/content')) return { body: { id: 'one', state: 'done' } }
    return { status: 302, headers: { location }, body: Buffer.alloc(0) }
  })
  const calls = ', videos.retrieve: "GET /jobs/{task_id}", videos.content: "GET /jobs/{task_id}/content"'
  const yaml = tasksYaml(upstream.origin, host.port, calls).replace('result: film', 'poll: { every: 5ms }')
  const gateway = await startTestGateway(t, yaml)
  const begun = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat' } })
  const { id } = begun.json() as { id: string }
  await gateway.log.find(line => line.msg === 'task changed' && line.to === 'succeeded')
  const verdicts: Record<string, Verdict> = {}
  for (const [kind, address] of Object.entries(KINDS)) {
    location = `http://${address}:${host.port}/film.mp4`
    const content = await gateway.request(`/v1/videos/${id}/content`)
    t.equal(content.status, 502, kind)
    verdicts[kind] = await blockedIn(gateway, content)
  }
  judge(t, 'redirect of content', verdicts, host)
})

function issuerYaml({ origin }: Issuer, more = ''): string {
  return `version: 1
${CALLER}
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
identity: { providers: { company: { issuer: "${origin}", audience: gateway, caller: {}, ${more} } } }
`
}

t.test('F-X1 what the document of an issuer names at an inner address is not asked', async t => {
  const host = await trap(t)
  const issuer = await startIssuer(t)
  const secret = 'introspection: { client_id: gateway, client_secret: { env: CLIENT_SECRET } }'
  for (const [name, key] of [
    ['jwks_uri', () => issuer.sign()],
    ['introspection_endpoint', async () => 'a-token-that-is-no-jwt-0123456789'],
  ] as const) {
    const verdicts: Record<string, Verdict> = {}
    for (const [kind, address] of Object.entries(KINDS).filter(([kind]) => OF_ISSUERS.includes(kind))) {
      const named = `http://${address}:${host.port}/`
      const document = { issuer: issuer.origin, jwks_uri: `${issuer.origin}/jwks`, [name]: named }
      issuer.instead.set('/.well-known/openid-configuration', document)
      // A fresh one: an issuer is asked a few times only.
      // Its own address may be asked, and no other of this machine.
      const fresh = await startTestGateway(t, issuerYaml(issuer, `allow: [127.0.0.1, "*"], ${secret}`), {
        env: { CLIENT_SECRET: CLIENT.secret },
      })
      const answer = await fresh.chat({}, { key: await key() })
      t.equal(answer.status, 503, kind)
      verdicts[kind] = await blockedIn(fresh, answer)
    }
    judge(t, `${name} of an issuer`, verdicts, host)
  }
})

t.test('F-X1 a name that changes its address is called where it was checked, or not at all', async t => {
  const host = await trap(t)
  const open = new GuardedHttp({ allow: ['*'], http: true, ports: [host.port], timeoutMs: 10_000 })
  for (const [kind, address] of Object.entries(KINDS)) {
    const guard = new GuardedHttp({
      ...{ allow: ['*'], http: true, ports: [host.port], timeoutMs: 10_000 },
      resolve: async () => [{ address: address.replace(/^\[(.*)\]$/, '$1'), family: address.startsWith('[') ? 6 : 4 }],
    })
    const opening = guard.open(`http://changing.example.com:${host.port}/`, SOON())
    await t.rejects(opening, Blocked, `a name that leads to ${kind}`)
  }
  let asked = 0
  const rebinding = new GuardedHttp({
    ...{ allow: ['127.0.0.2'], http: true, ports: [host.port], timeoutMs: 10_000 },
    resolve: async () => [{ address: asked++ === 0 ? '127.0.0.2' : TRAP, family: 4 }],
  })
  const connection = await rebinding.open(`http://changing.example.com:${host.port}/`, SOON())
  connection.finished()
  t.equal(asked, 1, 'the connection goes to what was checked')
  await t.rejects(rebinding.open(`http://changing.example.com:${host.port}/`, SOON()), Blocked)
  await t.rejects(open.open(`http://user:word@example.com:${host.port}/`, SOON()), Blocked)
  t.equal(host.connections(), 0)
})

t.test(
  'F-X1 addresses of the file: upstreams may be anywhere, issuers and their keys only where allow says so',
  async t => {
    const up = await startRawUpstream(t)
    up.answer(json({ object: 'list', data: [] }))
    const yaml = `version: 1\n${CALLER}\nupstreams: { up: { base: "${up.origin}", speaks: { list: GET /list } } }
models: { m: up }\nroutes: { GET /v1/list: { protocol: list, upstream: up } }\n`
    const near = await startTestGateway(t, yaml)
    t.equal((await near.request('/v1/list')).status, 200, 'an upstream of this machine')
    const issuer = await startIssuer(t)
    for (const [allow, status] of [
      ['', 503],
      ['allow: [127.0.0.1]', 200],
    ] as const) {
      const gateway = await startTestGateway(t, issuerYaml(issuer, `jwks: "${issuer.origin}/jwks", ${allow}`))
      const answer = await request(t, gateway.origin, '/v1/models', { key: await issuer.sign() })
      t.equal(answer.status, status, `keys of an issuer of this machine, ${allow}`)
      t.comment(
        `jwks of the file: loopback ${allow === '' ? '' : 'that is allowed'} ${answer.status === 200 ? 'taken' : 'refused'}`,
      )
    }
  },
)
