import t from 'tap'
import { run } from './bin.js'

const env = { GATEWAY_KEY: 'a-key-of-this-file-0123456789' }
const YAML = `version: 1
groups: { research: { limits: { requests: 100/min } }, staff: {} }
keys: { me: { secret: { env: GATEWAY_KEY } } }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
identity:
  providers:
    company:
      issuer: https://login.example.com
      audience: gateway
      caller:
        group: { claim: team, map: { ml: research }, default: staff }
        models: { claim: models, default: [sim-text] }
        limits: { claim: plan, map: { gold: { requests: 60/min } }, default: { requests: 6/min } }
`
const ASK = ['explain', 'POST', '/v1/chat/completions', '--model', 'sim-text', '--claims', 'claims.json']

t.test('the plan names providers, how tokens are checked, and what claims say', async t => {
  const { stdout, code } = await run(['explain'], { cwd: t.testdir({ 'gateway.yaml': YAML }), env })
  t.equal(code, 0)
  const [, section] = /\nidentity\n([\s\S]*?)\n\n/.exec(stdout) ?? []
  t.equal(
    section,
    `  company  https://login.example.com, keys by discovery
           RS256 ES256 for gateway, skew 1m, in header
           name: company: and the claim sub
           models: claim models, else sim-text
           group: claim team: ml → research, else staff
           limits: claim plan: gold → {requests:60/min}, else {requests:6/min}`,
  )
})

t.test('a request is explained by the claims of a token', async t => {
  const claims = { sub: 'ada', team: ['guests', 'ml'], plan: 'gold' }
  const cwd = t.testdir({ 'gateway.yaml': YAML, 'claims.json': JSON.stringify(claims) })
  const { stdout, code } = await run(ASK, { cwd, env })
  t.equal(code, 0, stdout)
  t.match(stdout, /company:ada/)
  t.match(stdout, /key company:ada: requests 60\/min/)
  t.match(stdout, /group research: requests 100\/min/)
})

t.test('claims that may not use the model, and claims that are refused', async t => {
  const other = t.testdir({ 'gateway.yaml': YAML, 'claims.json': '{ "sub": "ada", "models": "another" }' })
  t.match(await run(ASK, { cwd: other, env }), { code: 1, stdout: /model_not_found/ })
  const nameless = t.testdir({ 'gateway.yaml': YAML, 'claims.json': '{ "team": "ml" }' })
  t.match(await run(ASK, { cwd: nameless, env }), { code: 2, stderr: /the claim sub is not a name/ })
})
