import t from 'tap'
import { CALLER, startTestGateway } from '../helpers/gateway.js'

/** What someone meets who tries the gateway with a browser, or with a base address that is not quite right. */

const FILE = `version: 1
${CALLER}
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
`
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const CHAT = { model: 'sim-text', messages: [{ role: 'user', content: 'Hello' }] }

t.test('a browser is shown a page at /, without a key, a script or anything of this gateway', async t => {
  const gateway = await startTestGateway(t, FILE)
  const answer = await fetch(`${gateway.origin}/`, { headers: BROWSER })
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(answer.headers.get('content-security-policy'), "default-src 'none'")
  const page = await answer.text()
  t.equal(answer.headers.get('content-length'), String(Buffer.byteLength(page)))
  for (const word of ['/v1', '/v1beta', '/livez', '/readyz', 'gateway routes']) t.match(page, word)
  t.notMatch(page, /<script|javascript:|\son\w+=/i)
  for (const own of [gateway.key, 'sim-text', 'simulator', process.cwd()]) t.notMatch(page, own)
  const head = await fetch(`${gateway.origin}/`, { method: 'HEAD', headers: BROWSER })
  t.equal(head.status, 200)
  t.equal(await head.text(), '')
})

t.test('programs get no page there, and browsers none elsewhere', async t => {
  const gateway = await startTestGateway(t, FILE)
  const status = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(gateway.origin + path, init)
    await answer.text()
    return answer.status
  }
  t.equal(await status('/'), 401)
  t.equal(await status('/', { headers: { accept: 'application/json' } }), 401)
  t.equal(await status('/', { method: 'POST', headers: BROWSER }), 401)
  t.equal(await status('/v1/models', { headers: BROWSER }), 401)
})

t.test('a route of one’s own at / goes before the page', async t => {
  const own = 'routes: { GET /: { answer: models } }\n'
  const gateway = await startTestGateway(t, FILE + own)
  const answer = await fetch(`${gateway.origin}/`, { headers: BROWSER })
  t.equal(answer.status, 401, await answer.text())
})

const BEARER = 'bearer'
const NEAR: readonly (readonly [sent: string, meant: string, key: typeof BEARER | 'x-api-key'])[] = [
  ['/chat/completions', '/v1/chat/completions', BEARER],
  ['/v1/v1/chat/completions', '/v1/chat/completions', BEARER],
  ['/openai/v1/chat/completions', '/v1/chat/completions', BEARER],
  ['/v1/chat/completions/', '/v1/chat/completions', BEARER],
  ['/responses', '/v1/responses', BEARER],
  ['/v1beta/v1beta/models/sim-text:generateContent', '/v1beta/models/sim-text:generateContent', BEARER],
  ['/v1/v1/messages', '/v1/messages', 'x-api-key'],
  ['/messages', '/v1/messages', 'x-api-key'],
]

for (const [sent, meant, key] of NEAR) {
  t.test(`POST ${sent} is answered with a hint at ${meant}, in its own family`, async t => {
    const gateway = await startTestGateway(t, FILE)
    const authorization = key === BEARER ? { authorization: `Bearer ${gateway.key}` } : { 'x-api-key': gateway.key }
    const headers = { 'content-type': 'application/json', ...authorization }
    const answer = await fetch(gateway.origin + sent, { method: 'POST', headers, body: JSON.stringify(CHAT) })
    t.equal(answer.status, 404)
    const body = (await answer.json()) as { type?: string; error: { message: string } }
    t.equal(
      body.error.message,
      `Invalid URL (POST ${sent}); this is served at ${meant}: check the base address of the client`,
    )
    if (key === 'x-api-key') t.equal(body.type, 'error')
  })
}

t.test('without a key answers say nothing about paths, and nor do they where no path is near', async t => {
  const gateway = await startTestGateway(t, FILE)
  const bare = await fetch(`${gateway.origin}/chat/completions`, { method: 'POST' })
  t.equal(bare.status, 401)
  t.notMatch(await bare.text(), '/v1/chat/completions')
  const { status, text } = await gateway.request('/what/is/this', { body: CHAT })
  t.equal(status, 404)
  t.notMatch(text, 'served at')
})
