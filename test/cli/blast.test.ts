import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from './bin.js'

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
  t.strictSame([none.code, none.stderr], [2, 'error: no key, upstream or model is called missing\n'])
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
