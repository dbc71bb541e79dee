import { request as openHttps } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { command } from '../../cli/in-process.js'
import { Authority, type Pair, withoutOpenssl } from '../../helpers/authority.js'
import { CHAT, startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { startSocketUpstream } from '../../helpers/realtime.js'

// What holds for a key holds for a client certificate: budgets, the ledger, what commands say, and secrets that it had made.

interface Stage {
  readonly gateway: TestGateway
  readonly authority: Authority
}

interface Said {
  readonly status: number
  readonly body: unknown
}

async function stage(t: Test, rest: string): Promise<Stage> {
  const authority = new Authority(t)
  const server = authority.issue('DNS:localhost', 'IP:127.0.0.1')
  const yaml = `version: 1
listen: { tls: { cert: server.pem, key: server.key, client_ca: ca.pem } }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
${rest}
`
  const files = { 'server.pem': server.cert, 'server.key': server.key, 'ca.pem': authority.cert }
  return { authority, gateway: await startTestGateway(t, yaml, { files }) }
}

/** A request with a certificate, on a connection of its own. */
function ask({ gateway, authority }: Stage, shown: Pair, path: string, body: unknown): Promise<Said> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', ca: authority.cert, ...shown, agent: false } as const
    const headers = { 'content-type': 'application/json' }
    const asking = openHttps(new URL(path, gateway.origin), { ...options, headers }, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) as unknown }))
    })
    asking.on('error', reject).end(JSON.stringify(body))
  })
}

t.test('a budget, the ledger, explain and audit know a certificate', { skip: withoutOpenssl }, async t => {
  const ready = await stage(
    t,
    `store: { type: file, path: ./data }
prices: { sim-text: { request: 0.25 } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
groups: { services: { limits: { budget: 100 USD/month } } }
identity: { certificates: { caller: { name: cn, group: services, models: ["*"], limits: { budget: 0.30 USD } } } }`,
  )
  const { authority, gateway } = ready
  const [chat, other] = [authority.issueFor({ subject: '/CN=chat' }), authority.issueFor({ subject: '/CN=other' })]
  const statusOf = async (shown: Pair): Promise<number> =>
    (await ask(ready, shown, '/v1/chat/completions', CHAT)).status
  t.equal(await statusOf(chat), 200)
  t.equal(await statusOf(other), 200, 'another account')
  let status = 200
  while (status === 200) status = await statusOf(chat)
  t.equal(status, 429, 'the budget is spent')
  await gateway.gateway.close()

  const file = join(gateway.folder, 'gateway.yaml')
  const env = { CALLER_KEY: gateway.key }
  const spent = await command(['spend', file, '--by', 'key', '--format', 'json'], { env })
  t.equal(spent.code, 0, spent.stderr)
  const { groups } = JSON.parse(spent.stdout) as { groups: readonly { name: string; usd: string }[] }
  t.same(groups.map(({ name }) => name).sort(), ['certificate:chat', 'certificate:other'])
  t.equal(groups.find(({ name }) => name === 'certificate:other')?.usd, '0.250000')
  t.match(await command(['ledger', 'verify', file], { env }), { code: 0, stdout: /all agree/ })
  const explained = await command(['explain', file], { env })
  t.match(
    explained.stdout,
    /certificate {2}certificates of clients, in place of a key\n +name: certificate: and the claim cn/,
  )
  const { stdout } = await command(['audit', file], { env })
  t.match(stdout, /identity\+keys/, 'callers with a certificate are judged like those with a key')
})

t.test('a client secret that a certificate had made opens sessions in its name', { skip: withoutOpenssl }, async t => {
  const up = await startSocketUpstream(t)
  const ready = await stage(
    t,
    `upstreams: { up: { base: "${up.origin}", speaks: { realtime: "GET /v1/realtime?model={model}" } } }
models: { m: up, other: up }
identity: { certificates: { caller: { name: cn, models: [m] } } }`,
  )
  const { authority, gateway } = ready
  const shown = authority.issueFor({ subject: '/CN=chat' })
  const make = (model: string): Promise<Said> =>
    ask(ready, shown, '/v1/realtime/client_secrets', { session: { type: 'realtime', model } })
  t.equal((await make('other')).status, 404, 'for models that it may use')
  const made = await make('m')
  t.equal(made.status, 200, JSON.stringify(made.body))
  const { value } = made.body as { value: string }

  // Without the certificate.
  const open = (model: string, secret: string): Promise<number> =>
    new Promise(resolve => {
      const headers = { authorization: `Bearer ${secret}` }
      const url = `${gateway.origin.replace('https', 'wss')}/v1/realtime?model=${model}`
      const socket = new WebSocket(url, { ca: authority.cert, headers })
      socket.on('unexpected-response', (_request, answer) => resolve(answer.statusCode ?? 0))
      socket.on('open', () => {
        resolve(101)
        socket.close()
      })
      socket.on('error', () => undefined)
      t.teardown(() => socket.terminate())
    })
  t.equal(await open('m', value), 101)
  t.match(await gateway.log.find(({ msg, status }) => msg === 'request' && status === 101), { key: 'certificate:chat' })
  t.equal(await open('other', value), 404, 'for its model alone')
  t.equal(await open('m', `${value}x`), 401)
})
