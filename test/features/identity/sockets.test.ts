import { once } from 'node:events'
import t, { type Test } from 'tap'
import { type ClientOptions, WebSocket } from 'ws'
import { signUrl } from '../../../src/index.js'
import { canary, proveNoLeak } from '../../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { CLIENT, type Issuer, startIssuer } from '../../helpers/issuer.js'
import { Journal } from '../../helpers/journal.js'

// WebSockets whose messages are requests of their own: who asks is found as on every other route, at the handshake and in each message.

const URL_SECRET = canary('upstream')
const PATH = '/v1/responses'

function yamlOf(issuer: string, more = '', routes = ''): string {
  return `version: 1
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
groups: { staff: {} }
identity:
  signed_urls: { secret: { env: URL_SECRET }, routes: ["WS /v1/responses"] }
  providers:
    company: { issuer: "${issuer}", audience: gateway, allow: [127.0.0.1], ${more}caller: { group: staff } }
${routes}`
}

async function stage(t: Test, more = '', routes = ''): Promise<{ issuer: Issuer; gateway: TestGateway }> {
  const issuer = await startIssuer(t)
  return { issuer, gateway: await startTestGateway(t, yamlOf(issuer.origin, more, routes), { env: { URL_SECRET } }) }
}

type Message = Readonly<Record<string, unknown>> & { readonly type: string }

class Client {
  readonly messages = new Journal<Message>('messages')
  readonly #socket: WebSocket
  #asked = 0

  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', data => this.messages.push(JSON.parse(String(data)) as Message))
  }

  get subprotocol(): string {
    return this.#socket.protocol
  }

  /** The last event of the answer to one more message. */
  async ask(): Promise<Message> {
    this.#socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'hi', store: false }))
    const ends = await this.messages.count(++this.#asked, ({ type }) => /^(response\.completed|error)$/.test(type))
    return ends.at(-1) as Message
  }
}

/** An open WebSocket, or the status with which the handshake was refused, and the id of the refusal. */
async function open(
  t: Test,
  { origin }: TestGateway,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  offered: readonly string[] = [],
): Promise<Client | { readonly status: number; readonly id: string }> {
  const options: ClientOptions = { headers }
  const socket = new WebSocket(`${origin.replace('http', 'ws')}${path}`, [...offered], options)
  t.teardown(() => socket.terminate())
  const client = new Client(socket)
  socket.on('error', () => undefined)
  const refused = once(socket, 'unexpected-response').then(([, answer]) => {
    const { statusCode = 0, headers } = answer as { statusCode?: number; headers: Record<string, string> }
    return { status: statusCode, id: headers['x-request-id'] ?? '' }
  })
  return await Promise.race([once(socket, 'open').then(() => client), refused])
}

async function opened(...asked: Parameters<typeof open>): Promise<Client> {
  const found = await open(...asked)
  if (found instanceof Client) return found
  throw new Error(`refused with ${found.status}`)
}

const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` })

t.test('a token of a real server opens one, and its holder is in the log of each message', async t => {
  const { issuer, gateway } = await stage(t)
  const client = await opened(t, gateway, PATH, bearer(await issuer.token()))
  t.equal((await client.ask()).type, 'response.completed')
  t.equal((await client.ask()).type, 'response.completed')
  const lines = await gateway.log.count(2, ({ msg, status }) => msg === 'request' && status === 200)
  for (const line of lines) t.match(line, { key: `company:${CLIENT.id}`, route: `WS ${PATH}` })
  t.equal((await (await opened(t, gateway, PATH, bearer(gateway.key))).ask()).type, 'response.completed')
})

t.test(
  'a token that does not count is refused before the handshake, as on every route, and the log says why',
  async t => {
    const { issuer, gateway } = await stage(t)
    const past = Math.floor(Date.now() / 1000) - 3600
    for (const [token, cause] of [
      [await issuer.sign({ aud: 'another' }), /aud does not fit/],
      [await issuer.sign({ exp: past }), /expired/],
      [await issuer.sign({}, { kid: 'made-up' }), /no such key/],
    ] as const) {
      const refused = await open(t, gateway, PATH, bearer(token))
      if (refused instanceof Client) throw new Error('it was opened')
      t.equal(refused.status, 401)
      const line = await gateway.log.find(({ msg, id }) => msg === 'request' && id === refused.id)
      t.match(line, { status: 401, route: `WS ${PATH}`, cause })
      t.notMatch(JSON.stringify(line), token.slice(-20), 'no token in the log')
    }
  },
)

t.test('an issuer that is away does not make its tokens wrong', async t => {
  const { issuer, gateway } = await stage(t)
  issuer.away = true
  t.match(await open(t, gateway, PATH, bearer(await issuer.sign())), { status: 503 })
})

t.test('an identity that counts no more is refused with the next message', async t => {
  const { issuer, gateway } = await stage(t)
  const client = await opened(t, gateway, PATH, bearer(await issuer.sign()))
  t.equal((await client.ask()).type, 'response.completed')
  const [before] = yamlOf(issuer.origin).split('identity:')
  await gateway.write('gateway.yaml', before ?? '')
  await gateway.gateway.reload()
  t.match(await client.ask(), { type: 'error', status: 401, error: { code: 'invalid_api_key' } })
})

const PLACES = [
  '{ in: header, name: authorization, scheme: Bearer }',
  '{ in: query, name: key }',
  '{ in: subprotocol, prefix: token. }',
]

t.test('a token is taken in the places of accept_in alone, and in each message from there', async t => {
  const routes = `routes: { WS ${PATH}: { protocol: responses, model: body.model, stream: true, caller: [${PLACES.join(', ')}] } }
protocols: { responses: { end: { events: [response.completed] }, stream_error: responses, subprotocols: { answer: [talk] } } }
`
  for (const accepted of ['header', 'query', 'subprotocol']) {
    const { issuer, gateway } = await stage(t, `accept_in: [${accepted}], `, routes)
    const token = await issuer.sign()
    const ways = {
      header: () => open(t, gateway, PATH, bearer(token)),
      query: () => open(t, gateway, `${PATH}?key=${token}`),
      subprotocol: () => open(t, gateway, PATH, {}, ['talk', `token.${token}`]),
    }
    for (const [place, way] of Object.entries(ways)) {
      const found = await way()
      if (place !== accepted) {
        t.match(found, { status: 401 }, `${place} of ${accepted}`)
        continue
      }
      if (!(found instanceof Client)) throw new Error(`${place}: ${found.status}`)
      t.equal((await found.ask()).type, 'response.completed', `${place} of ${accepted}`)
      t.equal(
        found.subprotocol,
        place === 'subprotocol' ? 'talk' : '',
        'one that is declared is chosen, never the token',
      )
    }
  }
})

t.test('a signed URL opens one', async t => {
  const { gateway } = await stage(t)
  const signing = { key: 'caller', secret: URL_SECRET, expires: new Date(Date.now() + 60_000) }
  const signed = (path: string, scheme = 'ws'): string => {
    const url = new URL(signUrl(`${gateway.origin.replace('http', scheme)}${path}`, signing))
    return `${url.pathname}${url.search}`
  }
  const client = await opened(t, gateway, signed(PATH))
  t.equal((await client.ask()).type, 'response.completed')
  t.match(await gateway.log.find(({ msg, status }) => msg === 'request' && status === 200), { key: 'caller' })
  t.match(await open(t, gateway, signed(PATH, 'http')), { status: 401 }, 'it was signed for GET')
  t.match(await open(t, gateway, signed(PATH), bearer(gateway.key)), { status: 401 }, 'a key was sent beside it')
  t.match(await open(t, gateway, signed('/v1/realtime?model=m')), { status: 401 }, 'this path takes none')
})

proveNoLeak(t)
