import t from 'tap'
import { ADMIN_SECRET, adminLine, adminOf } from '../../helpers/admin.js'
import { startTestGateway } from '../../helpers/gateway.js'
import { request } from '../../helpers/raw-client.js'

/** Words, so that nothing but their place says that they are a key. */
const KEY = 'plain-words-of-a-caller'
const ECHOED = 'plain-words-of-an-upstream'

t.test(
  'keys are hidden in any header that a route reads them from, and the secrets of an upstream in all headers',
  async t => {
    const { line, origin } = await adminLine()
    const gateway = await startTestGateway(
      t,
      `version: 1
store: { type: memory }
keys: { caller: { secret: { env: WORDS_KEY }, models: ["*"] } }
upstreams:
  sim: { kind: simulator, headers: { x-place: green } }
  named: { base: "http://127.0.0.1:9", speaks: { chat: POST /chat }, credential: { in: header, name: x-team, secret: { env: UPSTREAM_WORDS } } }
models: { sim-text: sim, away: named }
routes:
  GET /v1/models: { answer: models, caller: [{ in: header, name: x-team }, { in: subprotocol, prefix: team. }] }
${line}
`,
      { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET, WORDS_KEY: KEY, UPSTREAM_WORDS: ECHOED } },
    )
    const ask = adminOf(t, origin)
    const shown = async (id: unknown): Promise<string> => (await ask('GET', `/admin/requests/${id}`)).text
    for (const headers of [{ 'x-team': KEY }, { 'sec-websocket-protocol': `realtime, team.${KEY}` }]) {
      const answer = await request(t, gateway.origin, '/v1/models', { headers: { ...headers, 'x-plain': 'green' } })
      t.equal(answer.status, 200, answer.text)
      const text = await shown(answer.header('x-request-id'))
      t.notMatch(text, KEY, JSON.stringify(Object.keys(headers)))
      t.match(text, '["x-plain","green"]')
    }
    const messages = [{ role: 'user', content: 'x' }]
    const failed = await gateway.chat({ model: 'away', messages }, { key: KEY, headers: { 'x-said': `so: ${ECHOED}` } })
    const text = await shown(failed.header('x-request-id'))
    t.match(text, '["x-team","[')
    t.notMatch(text, ECHOED)
  },
)
