import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { command } from '../cli/in-process.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { DONE, imageProxy, imageYaml } from '../helpers/image-upstream.js'
import { blockedIn, judge, KINDS, TRAP, trap, type Verdict } from '../helpers/inner-addresses.js'
import { startIssuer } from '../helpers/issuer.js'
import { listening } from '../helpers/listening.js'
import { request } from '../helpers/raw-client.js'
import { startTaskUpstream } from '../helpers/task-upstream.js'
import { SSRF_URLS } from '../net/ssrf-urls.js'

// F-X1: addresses that are not fetched at all, and those that are fetched without a caller's key.

t.setTimeout(120_000)

const SIM = 'upstreams: { sim: { kind: simulator } }\nmodels: { m: { upstream: sim, as: sim-text } }'

t.test('F-X1 a token names no address: neither by its issuer nor by its header', async t => {
  const host = await trap(t)
  const issuer = await startIssuer(t)
  const provider = `issuer: "${issuer.origin}", audience: gateway, allow: [127.0.0.0/8, "*"], caller: {}`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\n${SIM}\nidentity: { providers: { company: { ${provider} } } }\n`,
  )
  const at = `http://${TRAP}:${host.port}`
  const jwk = await issuer.publicKey()
  const tokens = [
    await issuer.sign({ iss: at }),
    await issuer.sign({ iss: `${issuer.origin}/../${TRAP}:${host.port}` }),
    ...(await Promise.all(
      [{ jku: `${at}/jwks` }, { x5u: `${at}/chain.pem` }, { jwk }].map(more =>
        issuer.sign({}, { ...more, kid: 'a-key-that-no-one-has' }),
      ),
    )),
  ]
  for (const key of tokens) t.equal((await gateway.chat({}, { key })).status, 401)
  t.equal((await gateway.chat({}, { key: await issuer.sign({}, { jku: `${at}/jwks`, jwk }) })).status, 200, 'ignored')
  t.equal(host.connections(), 0)
})

t.test('F-X1 a signed link, which needs no key, fetches no inner address either', async t => {
  const host = await trap(t)
  let imageUrl = ''
  const upstream = await startTaskUpstream(t, (asked, self) =>
    imageProxy({ records: [{ ...DONE, imageUrl }] })(asked, self),
  )
  const allow = `media: { fetch: { allow: ["*"], http: true, ports: [${host.port}] } }\n`
  const env = { OTHER_KEY: 'the-key-of-another-caller-01', NIJI_KEY: 'the-key-of-another-caller-02' }
  const gateway = await startTestGateway(t, imageYaml(upstream.origin, 'poll: { every: 5ms }', allow), { env })
  const verdicts: Record<string, Verdict> = {}
  for (const [kind, address] of Object.entries(KINDS)) {
    imageUrl = `http://${address}:${host.port}/1.png`
    const begun = await gateway.request('/mj/submit/imagine', { body: { prompt: 'A cat' } })
    const { result } = begun.json() as { result: string }
    await gateway.log.find(line => line.msg === 'task changed' && line.to === 'succeeded' && line.task === result)
    const record = (await gateway.request(`/mj/task/${result}/fetch`)).json() as { imageUrl: string }
    const link = new URL(record.imageUrl)
    t.match(link.search, /signature=/)
    const answer = await request(t, gateway.origin, link.pathname + link.search)
    t.equal(answer.status, 502, kind)
    t.notMatch(answer.text, address, kind)
    verdicts[kind] = await blockedIn(gateway, answer)
  }
  judge(t, 'result behind a signed link', verdicts, host)
})

t.test('F-X1 a draft of the file that is checked, fetches nothing', async t => {
  const host = await trap(t)
  const { line, origin } = await adminLine()
  const yaml = `version: 1\n${CALLER}\n${SIM}\n${line}\n`
  await startTestGateway(t, yaml, { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET, TOKEN: 'of-the-gateway' } })
  const at = `http://${TRAP}:${host.port}`
  const draft = `version: 1
${CALLER}
secret_managers: { vault: { address: "${at}", token: { env: TOKEN } } }
upstreams:
  kept: { kind: openai, base: "${at}", secret: { vault: secret/data/x } }
  token: { kind: openai, base: "${at}", credential: { type: oauth2, token_url: "${at}/token", client_id: a, secret: { env: TOKEN } } }
models: { m: kept, n: token }
identity: { providers: { company: { issuer: "${at}", audience: gateway, allow: ["${TRAP}"], caller: {} } } }
${line}
`
  const answer = await adminOf(t, origin)('POST', '/admin/plan/check', { text: draft })
  t.equal(answer.status, 200, answer.text)
  t.match(answer.json(), { valid: true })
  t.equal(host.connections(), 0)
})

t.test('F-X1 gateway try fetches an image of a public address, or of the gateway itself', async t => {
  const host = await trap(t)
  let url = ''
  const port = await listening(
    t,
    createServer((asked, response) => {
      asked.resume()
      const isOwn = asked.url === '/own.png'
      const body = isOwn ? 'a picture' : JSON.stringify({ created: 1, data: [{ url }] })
      response.writeHead(200, { 'content-type': isOwn ? 'image/png' : 'application/json' }).end(body)
    }),
  )
  const origin = `http://127.0.0.1:${port}`
  const file = join(t.testdir({}), 'out.png')
  const draw = async (address: string) => {
    url = address
    return await command(['try', 'm', 'A cat', '--draw', file, '--at', origin], { env: { GATEWAY_KEY: 'a-key' } })
  }
  t.match(await draw(`${origin}/own.png`), { code: 0, stdout: /out\.png: 9 bytes/ })
  t.match(await draw('data:image/png;base64,aGVsbG8='), { code: 0, stdout: /out\.png: 5 bytes/ })
  for (const address of [TRAP, 'localhost', '169.254.169.254', '[::ffff:127.0.0.3]', '2130706435']) {
    const { code, stderr } = await draw(`http://${address}:${host.port}/a.png`)
    t.equal(code, 1, address)
    t.match(stderr, /not fetched, because its address is not a public one/)
  }
  for (const spell of SSRF_URLS.filter((_, at) => at % 8 === 0)) t.not((await draw(spell(80))).code, 0, spell(80))
  t.equal(host.connections(), 0)
})
