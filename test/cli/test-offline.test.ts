import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { listening } from '../helpers/listening.js'
import { run } from './bin.js'

const CHAT = (model: string, more = ''): string =>
  `{ to: POST /v1/chat/completions${more}, body: { model: ${model}, messages: [{ role: user, content: hi }] } }`
const ANSWER =
  '{ id: c, object: chat.completion, created: 1, model: m, choices: [{ index: 0, message: { role: assistant, content: yes }, finish_reason: stop }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }'

t.test('test runs no command, asks no token server, and needs no variable of a credential', async t => {
  let asked = 0
  const tokens = createServer((_, response) => {
    asked++
    response.end('{}')
  })
  const port = await listening(t, tokens)
  const command = JSON.stringify([process.execPath, '-e', 'require("fs").writeFileSync("ran", "")'])
  const answers = (name: string, header: string): string => `  ${name} answers:
    request: ${CHAT(name)}
    upstream: { ${name}: { answer: { body: ${ANSWER} } } }
    expect: { status: 200, upstream: ${name}, sent: { headers.${header}: present } }
`
  const cwd = t.testdir({
    'gateway.yaml': `version: 1
keys: { team: { secret: { env: TEAM_KEY } } }
upstreams:
  commanded: { kind: openai-compatible, base: https://a.example, credential: { type: exec, name: x-key, command: ${command} } }
  exchanged: { kind: openai-compatible, base: https://b.example, secret: { env: B }, credential: { type: oauth2, token_url: "http://127.0.0.1:${port}", client_id: b } }
  entra: { kind: azure-openai-entra, base: https://c.example, secret: { env: AZURE_CLIENT_SECRET } }
  signed: { kind: openai-compatible, base: https://d.example, credential: { type: aws-sigv4, service: s, region: r } }
  simulated: { kind: simulator, credential: { type: exec, command: ${command} } }
models: { commanded: commanded, exchanged: exchanged, entra: entra, signed: signed, simulated: simulated }
`,
    'a.test.yaml': `tests:
${answers('commanded', 'x-key')}${['exchanged', 'entra', 'signed'].map(name => answers(name, 'authorization')).join('')}\
  the simulator answers:
    request: ${CHAT('simulated')}
    expect: { status: 200, upstream: simulated }
`,
  })
  const { code, stdout, stderr } = await run(['test'], { cwd })
  t.strictSame([code, stderr], [0, ''], stdout)
  t.strictSame([existsSync(join(cwd, 'ran')), asked], [false, 0])
})

t.test('a test reads the line of its own request, or nothing where the gateway writes none', async t => {
  const cwd = t.testdir({
    'gateway.yaml': `version: 1
keys: { team: { secret: { env: TEAM_KEY } } }
upstreams:
  north: { kind: openai-compatible, base: https://north.example, secret: { env: NORTH_KEY } }
  spare: { kind: openai-compatible, base: https://spare.example, secret: { env: SPARE_KEY } }
models:
  swift: { targets: [north], mirror: { to: other } }
  other: spare
`,
    'a.test.yaml': `tests:
  it lives:
    request: { to: GET /livez }
    expect: { status: 200 }
  copies have lines of their own:
    before: [${CHAT('swift')}, ${CHAT('swift')}, ${CHAT('swift')}]
    request: ${CHAT('swift')}
    upstream: { north: { answer: { body: ${ANSWER} } } }
    expect: { status: 200, upstream: north }
  a request that the gateway makes for another has a line of its own:
    request: { to: POST /v1/responses/compact, body: { model: other, input: hi } }
    upstream: { spare: { answer: { body: ${ANSWER.replace('content: yes', 'content: ""')} } } }
    expect: { status: 502, calls: [spare], error: bad_upstream_response }
  messages on a socket have lines, which its handshake does not name:
    request: { to: WS /v1/responses, send: [{ type: response.create, model: other, store: false, input: hi }], until: response.completed }
    upstream: { spare: { answer: { body: ${ANSWER} } } }
    expect: { status: 101, upstream: spare }
  requests of one id have lines of their own:
    before: [${CHAT('other', ', headers: { x-request-id: one }')}]
    request: ${CHAT('none', ', headers: { x-request-id: one }')}
    upstream: { spare: { answer: { body: ${ANSWER} } } }
    expect: { status: 404, error: model_not_found }
`,
  })
  const { code, stdout, stderr } = await run(['test'], { cwd })
  t.strictSame([code, stderr], [0, ''], stdout)
})

t.test('snapshots are never written over the tests', async t => {
  const tests =
    '{ "tests": { "it lives": { "request": { "to": "GET /livez" }, "expect": { "snapshot": ["status"] } } } }'
  const cwd = t.testdir({
    'gateway.yaml': 'version: 1\nkeys: { team: { secret: { env: KEY } } }\nupstreams: { sim: { kind: simulator } }\n',
    ...{ 'a.json': tests, 'b.YAML': tests, c: tests, 'd.yml': tests },
  })
  const snapshots = { 'a.json': 'a.json.snapshot.json', 'b.YAML': 'b.snapshot.json', c: 'c.snapshot.json' }
  for (const [file, snapshot] of Object.entries({ ...snapshots, 'd.yml': 'd.yml.snapshot.json' })) {
    const { code, stdout, stderr } = await run(['test', file, '--update'], { cwd })
    t.equal(code, 0, stdout + stderr)
    t.equal(readFileSync(join(cwd, file), 'utf8'), tests)
    t.strictSame(JSON.parse(readFileSync(join(cwd, snapshot), 'utf8')), { 'it lives': { status: 200 } })
  }
})

t.test('test asks no issuer of tokens', async t => {
  let asked = 0
  const issuer = createServer((_, response) => {
    asked++
    response.end('{}')
  })
  const origin = `http://127.0.0.1:${await listening(t, issuer)}`
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = `${part({ alg: 'RS256', kid: 'a' })}.${part({ iss: origin, aud: 'app', exp: 4e9 })}.AAAA`
  const request = (authorization: string): string =>
    CHAT('swift', `, headers: { authorization: "Bearer ${authorization}" }`)
  const cwd = t.testdir({
    'gateway.yaml': `version: 1
keys: { team: { secret: { env: TEAM_KEY } } }
identity:
  providers:
    own:
      issuer: ${origin}
      audience: app
      allow: [127.0.0.1/32]
      introspection: { client_id: a, client_secret: { env: CLIENT_SECRET }, url: "${origin}/asked" }
      caller: { key: team }
upstreams: { north: { kind: openai-compatible, base: https://north.example, secret: { env: NORTH_KEY } } }
models: { swift: north }
`,
    'a.test.yaml': `tests:
  a token:
    request: ${request(token)}
    expect: { upstream: absent }
  another token:
    request: ${request('opaque')}
    expect: { upstream: absent }
`,
  })
  const { code, stdout, stderr } = await run(['test'], { cwd })
  t.strictSame([code, stderr, asked], [0, '', 0], stdout)
})
