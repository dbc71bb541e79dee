import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run, start } from './bin.js'
import { command } from './in-process.js'

const cwd = join(packageRoot(), 'test/golden/difference')
const blast = (...args: readonly string[]) => run(['blast', ...args, '-f', 'new.yaml'], { cwd })

t.test('blast names the requests that would be refused without an upstream, a model or a key', async t => {
  const [north, south, model, key, none] = await Promise.all([
    blast('north'),
    blast('south'),
    blast('new', '--format', 'json'),
    blast('alice', '--kind', 'key'),
    blast('missing'),
  ])
  t.equal(north.code, 1, north.stderr)
  t.match(north.stdout, /^UNREACHABLE: model new for key bob on POST \/v1\/chat\/completions: north as gpt-5 → 404/m)
  t.match(
    north.stdout,
    /^model swift for keys alice, bob .*: south as claude .*, then north as gpt-4o → south as claude/m,
  )
  t.match(south.stdout, /^model swift for keys alice, bob .* → north as gpt-4o$/m)
  t.equal(model.code, 1)
  t.match(JSON.parse(model.stdout).changes, [{ keys: ['bob'], models: ['new'], marks: ['unreachable'] }])
  t.equal(key.code, 1)
  t.match(key.stdout, /key alice on .* → 401 unauthenticated/)
  t.strictSame([none.code, none.stderr], [2, 'error: no key, upstream, model or secret is called missing\n'])
})

t.test('blast exits 0 where another target takes over everything', async t => {
  const folder = t.testdir({
    'gateway.yaml': `version: 1
store: { type: memory }
upstreams:
  north: { kind: groq, secret: { env: NORTH } }
  south: { kind: groq, secret: { env: SOUTH } }
models: { swift: { targets: [south, north], protocols: [chat] } }
keys: { alice: { secret: { env: ALICE }, models: [swift] } }
`,
  })
  const { code, stdout, stderr } = await run(['blast', 'south'], { cwd: folder })
  t.equal(code, 0, stderr)
  t.match(stdout, /: south as swift, then north as swift → north as swift$/m)
})

t.test('blast exits 1 where only streams would be refused', async t => {
  const folder = t.testdir({
    'gateway.yaml': `version: 1
store: { type: memory }
upstreams:
  north: { kind: groq, secret: { env: NORTH } }
  whole: { kind: groq, secret: { env: SOUTH } }
models: { swift: { targets: [north, { upstream: whole, when: { stream: false } }], protocols: [chat] } }
keys: { alice: { secret: { env: ALICE }, models: [swift] } }
`,
  })
  const { code, stdout, stderr } = await run(['blast', 'north'], { cwd: folder })
  t.match(stdout, /^UNREACHABLE: .* → whole as swift; streams: \d\d\d \w+$/m, stderr)
  t.equal(code, 1)
})

t.test('blast of a secret: where it is named, what goes with it, and what would be refused', async t => {
  const folder = t.testdir({
    'gateway.yaml': `version: 1
store: { type: memory }
kinds: { house: { base: https://house.example, credential: { in: header, name: authorization, scheme: Bearer }, secret: { env: SHARED }, speaks: { chat: POST /v1/chat/completions } } }
upstreams:
  north: { kind: house }
  south: { kind: groq, secrets: [{ env: SHARED }, { env: OTHER }] }
  east: { kind: groq, secret: { file: ./east.key } }
models:
  swift: { targets: [north, south], protocols: [chat] }
  lone: north
  far: east
keys:
  alice: { secret: { env: ALICE }, models: ["*"] }
  bob: { secret: { env: BOB }, models: [swift] }
`,
  })
  const file = join(folder, 'gateway.yaml')
  const blast = (name: string, ...more: readonly string[]) => command(['blast', name, '-f', file, ...more])
  const shared = await blast('SHARED')
  t.equal(shared.code, 1, shared.stderr)
  t.match(shared.stdout, /gateway\.yaml:3:\d+ {2}kinds\.house\.secret\n/)
  t.match(shared.stdout, /gateway\.yaml:6:\d+ {2}upstreams\.south\.secrets\[0\]\n/)
  t.match(shared.stdout, /^goes with it: upstream north$/m)
  t.match(shared.stdout, /^UNREACHABLE: model lone /m)
  t.notMatch(shared.stdout, /UNREACHABLE: model swift/)
  const other = await blast('OTHER')
  t.match(other, { code: 0, stdout: /each of these has another secret\nmodel swift [\s\S]*\n1 change/ })
  const east = await blast('./east.key', '--format', 'json')
  t.equal(east.code, 1, east.stderr)
  t.match(JSON.parse(east.stdout), { upstreams: ['east'], keys: [], places: [{ path: 'upstreams.east.secret' }] })
  const bob = await blast('BOB', '--kind', 'secret')
  t.match(bob, { code: 1, stdout: /^goes with it: key bob$/m })
  t.match(bob.stdout, /^model swift for key bob on .* → 401 unauthenticated$/m)
})

t.test('blast --store: what a gateway keeps of it, while it runs', async t => {
  const folder = t.testdir({})
  const file = join(folder, 'gateway.yaml')
  writeFileSync(
    file,
    `version: 1
listen: { port: 0 }
store: { type: file, path: ./data }
keys:
  alice: { secret: { env: ALICE }, limits: { budget: 5 USD/day } }
  bob: { secret: { env: BOB } }
upstreams: { sim: { kind: simulator }, spare: { kind: simulator } }
models: { sim-text: { targets: [sim, spare] }, other: spare }
`,
  )
  const env = { ALICE: 'gw-alice-alice-alice', BOB: 'gw-bob-bob-bob-bob-bob' }
  const gateway = start(t, ['serve', file], { env })
  const [, origin = ''] = await gateway.until(/"address":"([^"]+)"/)
  const headers = { authorization: `Bearer ${env.ALICE}` }
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new Blob(['{}\n']), 'lines.jsonl')
  t.equal((await fetch(`${origin}/v1/files`, { method: 'POST', headers, body: form })).status, 200)
  const body = JSON.stringify({ model: 'sim-text', input: 'hello', store: true })
  const json = { ...headers, 'content-type': 'application/json' }
  t.equal((await fetch(`${origin}/v1/responses`, { method: 'POST', headers: json, body })).status, 200)
  const blast = (...args: readonly string[]) => command(['blast', ...args, '--store', '-f', file], { env })
  const used = /^in the store: 1 file, 1 responses; last used 20\d\d-/m
  t.match(await blast('sim'), { code: 1, stdout: used })
  t.match(await blast('alice'), { code: 1, stdout: used })
  t.match(await blast('ALICE'), { code: 1, stdout: used })
  const bob = await blast('bob', '--format', 'json')
  t.match(JSON.parse(bob.stdout).held, { tasks: 0, resources: {}, responses: 0, isPart: false })
  t.match(await blast('spare'), { stdout: /in the store: nothing; the ledger has no request/ })
  writeFileSync(file, 'version: 1\nstore: { type: memory }\nupstreams: { sim: { kind: simulator } }\n')
  t.match(await blast('sim'), { code: 1, stderr: /the store is the gateway's memory/ })
})
