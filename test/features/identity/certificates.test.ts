import { once } from 'node:events'
import { request as openHttps } from 'node:https'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { tryLoad } from '../../config/support.js'
import { Authority, type Pair, withoutOpenssl } from '../../helpers/authority.js'
import { CHAT, startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { request } from '../../helpers/raw-client.js'

// Callers by the certificates that they show, on both transports.

interface Said {
  readonly status: number
  readonly message: string
  readonly id: string
}

type TestStage = { readonly gateway: TestGateway; readonly authority: Authority }

async function stage(t: Test, transport: string, certificates: string, withList = false): Promise<TestStage> {
  const authority = new Authority(t)
  const server = authority.issue('DNS:localhost', 'IP:127.0.0.1')
  const yaml = `version: 1
transport: ${transport}
listen: { tls: { cert: server.pem, key: server.key, client_ca: ca.pem${withList ? ', client_crl: crl.pem' : ''} } }
keys: { caller: { secret: { env: CALLER_KEY } }, billing: { secret: { hash: "sha256:${'a'.repeat(64)}" } } }
groups: { services: {}, people: { limits: { requests: 1/month } } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
identity: { certificates: ${certificates} }
`
  const files = {
    'server.pem': server.cert,
    'server.key': server.key,
    'ca.pem': authority.cert,
    ...(withList && { 'crl.pem': authority.revocations() }),
  }
  return { authority, gateway: await startTestGateway(t, yaml, { files }) }
}

/** A request with a certificate, with a key, or with neither, on a connection of its own. */
function ask(
  { gateway, authority }: TestStage,
  shown?: Pair,
  headers: Record<string, string> = {},
  path = '/v1/chat/completions',
  method = 'POST',
): Promise<Said> {
  return new Promise((resolve, reject) => {
    const url = new URL(path, gateway.origin)
    const options = { method, ca: authority.cert, ...shown, agent: false } as const
    const asking = openHttps(
      url,
      { ...options, headers: { 'content-type': 'application/json', ...headers } },
      answer => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        answer.on('end', () => {
          const body = JSON.parse(text) as { error?: { message: string } }
          const id = String(answer.headers['x-request-id'])
          resolve({ status: answer.statusCode ?? 0, message: body.error?.message ?? '', id })
        })
      },
    )
    asking.on('error', reject).end(method === 'POST' ? JSON.stringify(CHAT) : undefined)
  })
}

async function keyOf({ gateway: { log } }: TestStage, { id }: Said): Promise<unknown> {
  return (await log.find(line => line.msg === 'request' && line.id === id)).key
}

const SPIFFE = 'spiffe://example.org/ns/models/sa/chat'
const CALLER = `{ caller: { name: cn, group: { claim: /subject/O, map: { people: people }, default: services }, models: ["*"] } }`

for (const transport of ['fast', 'node']) {
  t.test(`${transport}: a revoked certificate is refused by name`, { skip: withoutOpenssl }, async t => {
    const ready = await stage(t, transport, CALLER, true)
    const { authority, gateway } = ready
    const [kept, revoked] = [authority.issueFor({ subject: '/CN=kept' }), authority.issueFor({ subject: '/CN=gone' })]
    t.equal((await ask(ready, revoked)).status, 200)
    await gateway.write('crl.pem', authority.revoke(revoked))
    await gateway.gateway.reload()
    const said = await ask(ready, revoked)
    t.equal(said.status, 401)
    t.equal(said.message, 'The client certificate is refused: it has been revoked.')
    t.equal((await ask(ready, kept)).status, 200)
    const other = new Authority(t)
    await gateway.write('crl.pem', other.revocations())
    await gateway.gateway.reload()
    t.match((await ask(ready, kept)).message, /the list of revoked certificates is not one of its authority/)
  })

  t.test(
    `${transport}: a certificate is taken in place of a key, with its terms`,
    { skip: withoutOpenssl },
    async t => {
      const ready = await stage(t, transport, CALLER)
      const { authority, gateway } = ready
      const chat = authority.issueFor({ subject: '/O=services/CN=chat' })
      for (let i = 0; i < 3; i++) {
        const said = await ask(ready, chat)
        t.equal(said.status, 200, said.message)
        t.equal(await keyOf(ready, said), 'certificate:chat')
      }
      const person = authority.issueFor({ subject: '/O=people/CN=ada' })
      t.equal((await ask(ready, person)).status, 200)
      t.equal((await ask(ready, person)).status, 429, 'the limit of its group')

      const withKey = await ask(ready, chat, { authorization: `Bearer ${gateway.key}` })
      t.equal(await keyOf(ready, withKey), 'caller', 'a key comes first')
      t.equal((await ask(ready, chat, { authorization: 'Bearer wrong' })).status, 401)
      t.equal((await ask(ready, undefined, { authorization: `Bearer ${gateway.key}` })).status, 200, 'a key alone')
    },
  )

  t.test(
    `${transport}: certificates that do not count are refused, each by name`,
    { skip: withoutOpenssl },
    async t => {
      const ready = await stage(t, transport, CALLER)
      const { authority, gateway } = ready
      const cases: readonly (readonly [Pair | undefined, RegExp])[] = [
        [undefined, /^A valid API key is required/],
        [authority.issueFor({ subject: '/CN=old', days: -1 }), /^The client certificate is refused: it has expired/],
        [new Authority(t).issueFor({ subject: '/CN=chat' }), /its authority is not one of those that count here/],
        [authority.issueFor({ subject: '/O=services' }, 'DNS:no-name.example'), /it belongs to no caller/],
      ]
      for (const [shown, words] of cases) {
        const said = await ask(ready, shown)
        t.equal(said.status, 401)
        t.match(said.message, words)
        t.equal(await keyOf(ready, said), undefined)
      }
      t.equal(
        (await ask(ready, cases[1]?.[0], { authorization: `Bearer ${gateway.key}` })).status,
        200,
        'beside a key it is not needed',
      )
    },
  )

  t.test(`${transport}: required, also beside a key`, { skip: withoutOpenssl }, async t => {
    const ready = await stage(t, transport, `{ required: true, caller: { models: ["*"] } }`)
    const { authority, gateway } = ready
    const key = { authorization: `Bearer ${gateway.key}` }
    t.match(await ask(ready, undefined, key), { status: 401, message: 'A client certificate is required.' })
    const foreign = new Authority(t).issueFor({ subject: '/CN=chat' })
    t.match(await ask(ready, foreign, key), { status: 401, message: /its authority/ })
    const good = authority.issueFor({ subject: '/CN=chat' })
    t.equal(await keyOf(ready, await ask(ready, good, key)), 'caller')
    t.equal(await keyOf(ready, await ask(ready, good)), 'certificate:chat')
    const link = '/v1beta/operations/some-task:download?signature=x'
    t.match(await ask(ready, undefined, {}, link, 'GET'), { status: 401, message: 'A client certificate is required.' })
    t.notMatch(await ask(ready, good, {}, link, 'GET'), { message: /certificate/ })
  })

  t.test(`${transport}: a SPIFFE id leads to a key of the file`, { skip: withoutOpenssl }, async t => {
    const mapping = `{ caller: { key: { claim: spiffe, map: { "${SPIFFE}": caller } } } }`
    const ready = await stage(t, transport, mapping)
    const { authority } = ready
    t.equal(await keyOf(ready, await ask(ready, authority.issueFor({ subject: '/CN=x' }, `URI:${SPIFFE}`))), 'caller')
    for (const names of [[`URI:${SPIFFE}2`], [`URI:${SPIFFE}`, 'URI:spiffe://other.org/x'], [`DNS:${SPIFFE}`]]) {
      const said = await ask(ready, authority.issueFor({ subject: '/CN=caller' }, ...names))
      t.match(said, { status: 401, message: /it belongs to no caller/ }, names.join(' '))
    }
  })

  t.test(`${transport}: a WebSocket is opened with a certificate`, { skip: withoutOpenssl }, async t => {
    const ready = await stage(t, transport, CALLER)
    const { authority, gateway } = ready
    const open = (path: string, shown: Pair | undefined): Promise<number | WebSocket> =>
      new Promise(resolve => {
        const url = `${gateway.origin.replace('https', 'wss')}${path}`
        const socket = new WebSocket(url, { ca: authority.cert, ...shown })
        socket.on('unexpected-response', (_request, answer) => resolve(answer.statusCode ?? 0))
        socket.on('open', () => resolve(socket))
        socket.on('error', () => undefined)
        t.teardown(() => socket.terminate())
      })
    const shown = authority.issueFor({ subject: '/CN=chat' })
    t.equal(await open('/v1/realtime?model=m', undefined), 401)
    t.not(await open('/v1/realtime?model=m', shown), 401)
    t.equal(await open('/v1/responses', undefined), 401)
    t.equal(await open('/v1/responses', authority.issueFor({ subject: '/CN=old', days: -1 })), 401)
    const socket = await open('/v1/responses', shown)
    if (typeof socket === 'number') throw new Error(`refused with ${socket}`)
    const first = once(socket, 'message')
    socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'hi', store: false }))
    t.match(JSON.parse(String((await first)[0])), { type: 'response.created' })
    t.match(await gateway.log.find(({ msg, status }) => msg === 'request' && status === 200), {
      key: 'certificate:chat',
      route: 'WS /v1/responses',
    })
  })
}

t.test('a key in a place that its route does not take is refused by the name of that place', async t => {
  const yaml = `version: 1
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
`
  const gateway = await startTestGateway(t, yaml)
  const messageOf = async (path: string, headers: Record<string, string>): Promise<string> => {
    const answer = await request(t, gateway.origin, path, { headers, body: CHAT })
    t.equal(answer.status, 401, path)
    return (answer.json() as { error: { message: string } }).error.message
  }
  t.match(
    await messageOf('/v1/chat/completions', { 'x-goog-api-key': gateway.key }),
    /^A credential was sent in the header x-goog-api-key, where it is not taken\. Send it as "authorization: Bearer YOUR_KEY"\.$/,
  )
  t.match(await messageOf('/v1/chat/completions', {}), /^A valid API key is required\./)
})

t.test('what a file says of certificates belongs together', { skip: withoutOpenssl }, async t => {
  const authority = new Authority(t)
  const server = authority.issue('DNS:localhost')
  const files = { 'server.pem': server.cert, 'server.key': server.key, 'ca.pem': authority.cert }
  const problems = async (listen: string, identity: string): Promise<string> => {
    const yaml = `version: 1\nkeys: { me: { secret: { env: K }, models: ["*"] } }\nlisten: { tls: { cert: server.pem, key: server.key${listen} } }\n${identity}`
    return (await tryLoad(t, { 'gateway.yaml': yaml, ...files }, { env: { K: 'k'.repeat(32) } })).text
  }
  t.match(await problems('', 'identity: { certificates: { caller: {} } }\n'), /listen\.tls\.client_ca is missing/)
  t.match(await problems(', client_ca: ca.pem', ''), /identity\.certificates is missing/)
  t.match(
    await problems(', client_ca: ca.pem', 'identity: { certificates: { caller: { group: none } } }\n'),
    /no group is called "none"/,
  )
})
