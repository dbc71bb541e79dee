import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { certificate } from '../helpers/certificates.js'
import { childrenOf } from '../helpers/children.js'
import { run, start } from './bin.js'

const GOLDEN = join(packageRoot(), 'test/golden/difference')
const UPDATE = process.env.UPDATE_GOLDEN === '1'
const DROPS =
  'seed, presence_penalty, frequency_penalty, logit_bias, n, logprobs, top_logprobs, verbosity, metadata, prompt_cache_key, prompt_cache_retention, prompt_cache_options, store, modalities, audio, prediction and 1 more and parts of others'
const VERSION: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')).version

t.test('plan prints each format as the golden file has it', async t => {
  await Promise.all(
    ['text', 'json', 'markdown', 'github', 'sarif'].map(async format => {
      const { code, stdout, stderr } = await run(['plan', 'old.yaml', 'new.yaml', '--format', format], { cwd: GOLDEN })
      t.equal(code, 0, stderr)
      const text = stdout.replaceAll(`"${VERSION}"`, '"VERSION"')
      const path = join(GOLDEN, `${format}.txt`)
      if (UPDATE) writeFileSync(path, text)
      else t.equal(text, readFileSync(path, 'utf8'), format)
    }),
  )
})

t.test('plan of two equal files has no changes, and --fail-on finds marks', async t => {
  const plan = (...args: readonly string[]) => run(['plan', ...args], { cwd: GOLDEN })
  const [same, text, weaker, back, strange] = await Promise.all([
    plan('old.yaml', 'old.yaml', '--format', 'json', '--fail-on', 'weaker,loss,unreachable'),
    plan('old.yaml', 'old.yaml'),
    plan('old.yaml', 'new.yaml', '--fail-on', 'weaker'),
    plan('new.yaml', 'old.yaml', '--fail-on', 'weaker'),
    plan('old.yaml', 'new.yaml', '--fail-on', 'worse'),
  ])
  t.strictSame([same.code, JSON.parse(same.stdout)], [0, { changes: [] }])
  t.strictSame([text.code, text.stdout], [0, 'nothing differs\n'])
  t.strictSame([weaker.code, back.code, strange.code], [1, 0, 2])
})

t.test('plan reads git revisions, with what they include, and the file of the working tree without NEW', async t => {
  const cwd = t.testdir({ sub: {} })
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.email=a@example', '-c', 'user.name=a', ...args], { cwd })
  const at = join(cwd, 'sub', 'gateway.yaml')
  mkdirSync(join(cwd, 'sub', 'parts'))
  const part = join(cwd, 'sub', 'parts', 'models.yaml')
  copyFileSync(join(GOLDEN, 'old.yaml'), at)
  writeFileSync(at, `${readFileSync(at, 'utf8')}include: [parts/*.yaml]\n`)
  writeFileSync(part, 'models:\n  more: north\n')
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'one')
  writeFileSync(part, 'models:\n  more: south\n')
  const revision = await run(['plan', 'HEAD'], { cwd: join(cwd, 'sub') })
  t.equal(revision.code, 0, revision.stderr)
  t.match(revision.stdout, /model more for key bob on .*: north as more → south as more/)
  const both = await run(['plan', 'HEAD:sub/gateway.yaml', 'HEAD:sub/gateway.yaml'], { cwd })
  t.strictSame([both.code, both.stdout], [0, 'nothing differs\n'], both.stderr)
  const none = await run(['plan', 'HEAD~9'], { cwd: join(cwd, 'sub') })
  t.strictSame(
    [none.code, none.stderr],
    [2, 'error: HEAD~9 is neither a file nor a git revision that has gateway.yaml\n'],
  )
})

/** A repository with what `plan` reads, and git in it. */
function repository(t: Test, files: Readonly<Record<string, string>>) {
  const cwd = t.testdir({ ...files })
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.email=a@example', '-c', 'user.name=a', ...args], { cwd, stdio: 'pipe' })
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'one')
  return { cwd, git }
}

const PEM = (name: string): string => certificate(name, new Date(0), new Date(Date.UTC(2100, 0, 1))).cert

t.test(
  'plan takes secrets that git does not keep for those of now, and sees what files of certificates hold',
  async t => {
    const north =
      '{ kind: openai-compatible, base: "https://north.example", secret: { file: secrets/north }, tls: { ca: ca.pem } }'
    const { cwd } = repository(t, {
      'gateway.yaml': `version: 1
keys: { team: { secret: { file: secrets/team }, models: ["*"] } }
egress: { tls: { ca: ca.pem } }
upstreams: { north: ${north} }
models: { swift: north }
`,
      ...{ '.gitignore': 'secrets/\\n', 'ca.pem': PEM('one') },
    })
    mkdirSync(join(cwd, 'secrets'))
    for (const name of ['north', 'team']) writeFileSync(join(cwd, 'secrets', name), `the-secret-of-${name}-0123456789`)
    const same = await run(['plan', 'HEAD'], { cwd })
    t.strictSame([same.code, same.stdout], [0, 'nothing differs\n'], same.stderr)
    writeFileSync(join(cwd, 'ca.pem'), PEM('another'))
    const { stdout } = await run(['plan', 'HEAD'], { cwd })
    t.match(stdout, /^upstream north: egress\.files [0-9a-f]+ → [0-9a-f]+$/m)
    t.match(stdout, /^setting egress\.tls\.ca\.content: value one → another$/m)
  },
)

t.test('plan fetches what a partial clone lacks at once', async t => {
  const text = readFileSync(join(GOLDEN, 'old.yaml'), 'utf8')
  const { cwd: origin, git } = repository(t, {
    'gateway.yaml': `${text}include: [a.yaml, b.yaml]\n`,
    'a.yaml': '{}',
    'b.yaml': '',
  })
  for (const name of ['allowFilter', 'allowAnySHA1InWant']) git('config', `uploadpack.${name}`, 'true')
  git('clone', '-q', '--no-checkout', '--filter=blob:none', `file://${origin}`, join(origin, 'partial'))
  const cwd = join(origin, 'partial')
  const trace = join(origin, 'trace')
  const { code, stdout, stderr } = await run(['plan', 'HEAD:gateway.yaml', 'HEAD:gateway.yaml'], {
    cwd,
    env: { GIT_TRACE: trace },
  })
  t.strictSame([code, stdout], [0, 'nothing differs\n'], stderr)
  t.equal(readFileSync(trace, 'utf8').match(/built-in: git .*\bfetch /g)?.length, 1)
})

t.test('a signal that ends plan leaves no folder of the revision behind', async t => {
  const { cwd } = repository(t, { 'gateway.yaml': readFileSync(join(GOLDEN, 'old.yaml'), 'utf8') })
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  const [tools, temporary] = [join(cwd, 'tools'), join(cwd, 'temporary')]
  for (const folder of [tools, temporary]) mkdirSync(folder)
  // Says that it has begun, and gives no answer.
  execFileSync('mkfifo', [join(tools, 'begun')])
  const script = `#!/bin/sh\ncase "$*" in *cat-file*) echo > ${join(tools, 'begun')}; exec tail -f /dev/null;; esac\nexec ${real} "$@"\n`
  writeFileSync(join(tools, 'git'), script, { mode: 0o755 })
  const env = { PATH: `${tools}:${process.env.PATH}`, TMPDIR: temporary }
  const bin = start(t, ['plan', 'HEAD'], { cwd, env, bare: true })
  await readFile(join(tools, 'begun'))
  t.equal(readdirSync(temporary).length, 1)
  const running = childrenOf(bin.child.pid)
  bin.child.kill('SIGINT')
  t.equal((await bin.ended).code, 130)
  for (const pid of running) process.kill(pid)
  t.strictSame(readdirSync(temporary), [])
})

t.test(
  'plan of a git revision reads all files that the configuration names, and knows them from another folder',
  async t => {
    const cwd = t.testdir({
      sub: {
        'gateway.yaml': FILES.replace('DATA', join(tmpdir(), 'plan-data')),
        'check.mjs': 'export const openCheck = () => ({ check: () => "pass" })\n',
        'login.mjs': 'export const openCredential = () => ({})\n',
        'account.json': '{}',
        'ca.pem': certificate('gateway', new Date(0), new Date(Date.UTC(2100, 0, 1))).cert,
        recordings: { 'one.bin': Buffer.from([0xff, 0x00, 0xfe]) },
        'real.yaml': MORE,
        'linked.yaml': t.fixture('symlink', 'real.yaml'),
      },
    })
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.email=a@example', '-c', 'user.name=a', ...args], { cwd })
    git('init', '-q')
    git('add', '.')
    git('commit', '-qm', 'one')
    for (const [at, file] of [
      ['sub', 'gateway.yaml'],
      ['', 'sub/gateway.yaml'],
    ] as const) {
      const same = await run(['plan', 'HEAD', '--file', file], { cwd: join(cwd, at) })
      t.strictSame([same.code, same.stdout, same.stderr], [0, 'nothing differs\n', ''])
    }
    writeFileSync(join(cwd, 'sub', 'check.mjs'), 'export const openCheck = () => ({ check: () => "refuse" })\n')
    const changed = await run(['plan', 'HEAD'], { cwd: join(cwd, 'sub') })
    t.match(changed.stdout, /^setting checks\.one\.digest: value /m, changed.stderr)
  },
)

t.test(
  'plan says how many files of a git revision it has left out, and the configuration is not among them',
  async t => {
    const cwd = t.testdir({ 'gateway.yaml': FILES.slice(0, FILES.indexOf('include')) })
    writeFileSync(join(cwd, 'a.bin'), Buffer.alloc(20 * 1024 * 1024))
    writeFileSync(join(cwd, 'b.bin'), Buffer.alloc(20 * 1024 * 1024, 1))
    execFileSync('git', ['init', '-q'], { cwd })
    execFileSync('git', ['add', '.'], { cwd })
    execFileSync('git', ['-c', 'user.email=a@example', '-c', 'user.name=a', 'commit', '-qm', 'one'], { cwd })
    const { code, stdout, stderr } = await run(['plan', 'HEAD'], { cwd })
    t.strictSame([code, stdout], [0, 'nothing differs\n'], stderr)
    t.equal(stderr, 'HEAD: 1 file beside or below gateway.yaml not read: at most 2000 files and 32 MiB are\n')
  },
)

const MORE = `upstreams:
  google: { kind: openai-compatible, base: https://google.example/v1, credential: { type: gcp, file: account.json } }
  own: { kind: openai-compatible, base: https://own.example/v1, credential: { type: ./login.mjs } }
  near: { kind: openai, secret: { env: N }, tls: { ca: ca.pem } }
  tape: { kind: recorded, recordings: recordings }
models: { more: [google, own, near, tape] }
`
const FILES = `version: 1
store: { type: memory, path: DATA }
upstreams:
  north: { kind: openai, secret: { env: N } }
models: { swift: north }
keys: { alice: { secret: { env: A } } }
include: [linked.yaml]
checks: { one: { type: ./check.mjs, when_it_fails: closed } }
record: { into: recorded }
`

t.test('plan compares folders of git revisions, and files at addresses', async t => {
  const cwd = t.testdir({ 'conf.d': {}, bare: {} })
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.email=a@example', '-c', 'user.name=a', ...args], { cwd })
  const more = join(cwd, 'conf.d', 'more.yaml')
  copyFileSync(join(GOLDEN, 'old.yaml'), join(cwd, 'conf.d', 'gateway.yaml'))
  writeFileSync(more, 'models:\n  more: north\n')
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'one')
  writeFileSync(more, 'models:\n  more: south\n')
  const changed = /model more for key bob on .*: north as more → south as more/
  for (const word of ['HEAD', 'HEAD:conf.d/']) {
    const { code, stdout, stderr } = await run(['plan', word, '--file', 'conf.d'], { cwd })
    t.equal(code, 0, stderr)
    t.match(stdout, changed, word)
  }
  const file = join(GOLDEN, 'new.yaml')
  const repository = `git+file://${cwd}#main:conf.d/gateway.yaml`
  const cloned = await run(['plan', repository, file], { cwd })
  t.equal(cloned.code, 0, cloned.stderr)
  t.match(cloned.stdout, 'model calm is gone')
  const text = readFileSync(join(GOLDEN, 'old.yaml'))
  const server = createServer((request, response) => response.end(request.url === '/old.yaml' ? text : '{}'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const env = { GATEWAY_ADMIN_KEY: 'the-key-of-an-admin' }
  const other = await run(['plan', `http://127.0.0.1:${port}/old`, file, '--file', file], { cwd, env })
  t.match(other, { code: 1, stderr: /\/old is not an admin API; the address of a file ends in \.yaml or \.yml/ })
  const fetched = await run(['plan', `http://127.0.0.1:${port}/old.yaml`, file], { cwd })
  t.equal(fetched.code, 0, fetched.stderr)
  t.match(fetched.stdout, 'model calm is gone')
})

t.test(
  'plan has all settings in JSON, and says elsewhere how many it leaves out; those with marks are never',
  async t => {
    const rest = `version: 1
store: { type: memory }
upstreams: { north: { kind: openai, secret: { env: N } } }
models: { swift: north }
keys: { bob: { secret: { env: BOB } } }
`
    const checks = Array.from(
      { length: 32 },
      (_, i) => `  check-${i}: { type: ./check.mjs, routes: ["POST *"], models: [swift] }\n`,
    ).join('')
    const cwd = t.testdir({ 'few.yaml': rest, 'many.yaml': `${rest}checks:\n${checks}`, 'check.mjs': '' })
    const plan = async (...args: readonly string[]) => (await run(['plan', ...args], { cwd })).stdout
    const { changes } = JSON.parse(await plan('few.yaml', 'many.yaml', '--format', 'json'))
    const left = changes.filter(({ about }: { readonly about: string }) => about === 'setting').length - 200
    t.ok(left > 0, `${left + 200} settings`)
    t.match(await plan('few.yaml', 'many.yaml'), `and ${left} more settings: --format json has all\n`)
    t.match(await plan('few.yaml', 'many.yaml'), `\n${changes.length} changes`)
    t.match(await plan('few.yaml', 'many.yaml', '--format', 'markdown'), `\n\n${left} more: `)
    t.match(await plan('few.yaml', 'many.yaml', '--format', 'github'), `::${left} more settings`)
    const { runs } = JSON.parse(await plan('few.yaml', 'many.yaml', '--format', 'sarif'))
    t.equal(runs[0].results.at(-1).message.text, `and ${left} more settings: --format json has all`)
    const settings = runs[0].results.filter(
      (one: { message: { text: string } }) => !/ on (?:GET|POST|DELETE|PUT|WS) /.test(one.message.text),
    )
    t.equal(settings.length, 201)
    t.equal((await plan('many.yaml', 'few.yaml')).match(/^WEAKER: setting checks\.check-\d+\.module/gm)?.length, 32)
  },
)

t.test(
  'plan --traffic decides the requests of a log again: where they go, which are refused, what they cost',
  async t => {
    const line = (model: string, more: object = {}) =>
      JSON.stringify({
        ...{ level: 'info', msg: 'request', method: 'POST', route: 'POST /v1/chat/completions', key: 'bob', model },
        ...{ upstream: 'north', target: 'x', status: 200, outcome: 'ok', stream: false, ...more },
      })
    const usage = { input_tokens: 1_000_000, output_tokens: 0, cost_usd: 1 }
    const lines = [
      line('swift', usage),
      line('swift', { upstream: 'south' }),
      line('calm'),
      line('calm', { status: 500 }),
      'no JSON',
    ]
    const input = `${lines.join('\n')}\n{"msg":"request"}\n`
    const now = await run(['plan', '--traffic', '-', 'new.yaml'], { cwd: GOLDEN, input })
    t.equal(now.code, 0, now.stderr)
    t.equal(
      now.stdout,
      `3 requests, 33.3 % go where they went
33.3 % move to south (1)
33.3 % are refused: 404 model_not_found (1)
66.7 % may lose members by translation chat → messages (2): ${DROPS}
cost +100 %: 1.00 → 2.00 USD
`,
    )
    const json = await run(['plan', '--traffic', '-', 'old.yaml', '--format', 'json'], { cwd: GOLDEN, input })
    t.match(JSON.parse(json.stdout), { requests: 3, same: 2, moved: { north: 1 }, cost: { before: 1e6, after: 1e6 } })
  },
)

t.test(
  'plan --traffic counts losses that are new: by the receipt or by OLD, and of drawn targets their share',
  async t => {
    const drawn = `version: 1
store: { type: memory }
upstreams:
  north: { kind: openai, secret: { env: N } }
  south: { kind: anthropic, secret: { env: S } }
models:
  swift: { targets: [{ upstream: north, weight: 3 }, { upstream: south, weight: 1 }] }
  other: { targets: [{ upstream: south }] }
keys: { bob: { secret: { env: BOB } } }
`
    const plain = drawn.replace('kind: anthropic', 'kind: openai')
    const cwd = t.testdir({ 'drawn.yaml': drawn, 'plain.yaml': plain })
    const route = 'POST /v1/chat/completions'
    const line = (model: string, upstream: string) =>
      JSON.stringify({ msg: 'request', route, key: 'bob', model, upstream, status: 200 })
    const receipt = (translated: object) =>
      JSON.stringify({
        ...{ kind: 'request', route, key: 'bob', model: 'other', status: 200 },
        attempts: [{ number: 1, upstream: 'south', ...translated }],
      })
    const replay = async (input: readonly string[], ...files: readonly string[]) => {
      const args = ['plan', '--traffic', '-', ...files, '--format', 'json']
      const { code, stdout, stderr } = await run(args, { cwd, input: input.join('\n') })
      t.equal(code, 0, stderr)
      return JSON.parse(stdout)
    }
    const four = Array.from({ length: 4 }, () => line('swift', 'north'))
    const shares = await replay(four, 'drawn.yaml')
    t.strictSame([shares.lossy, shares.moved], [{ 'chat → messages': 1 }, { south: 1 }])
    t.ok(shares.drops['chat → messages'].includes('logit_bias'))
    const stays = await replay([line('other', 'south')], 'plain.yaml', 'drawn.yaml')
    t.strictSame([stays.same, stays.lossy], [1, { 'chat → messages': 1 }], 'the same upstream, translated now')
    const alike = await replay([line('other', 'south')], 'drawn.yaml', 'drawn.yaml')
    t.strictSame([alike.same, alike.lossy, alike.drops], [1, {}, {}], 'translated alike before')
    const receipts = await replay([receipt({ translated: 'messages' }), receipt({})], 'drawn.yaml')
    t.strictSame([receipts.requests, receipts.lossy], [2, { 'chat → messages': 1 }], 'the receipt says how it was sent')
  },
)

t.test('a key far behind that may do more fails --fail-on weaker', async t => {
  const [keys, far] = [6000, 5000]
  const folder = (isLax: boolean) => {
    const one = (i: number) => {
      const secret = `{ hash: "sha256:${i.toString(16).padStart(64, '0')}" }`
      const limit = isLax && i === far ? 20 : 10
      return `  k-${i}: { secret: ${secret}, models: [m], limits: { requests: ${limit}/s } }\n`
    }
    const part = (from: number, to: number) =>
      `keys:\n${Array.from({ length: to - from }, (_, i) => one(from + i)).join('')}`
    return {
      'gateway.yaml':
        'version: 1\ninclude: [one.yaml, two.yaml]\nupstreams: { up: { kind: simulator } }\nmodels: { m: up }\n',
      'one.yaml': part(0, keys / 2),
      'two.yaml': part(keys / 2, keys),
    }
  }
  const cwd = t.testdir({ before: folder(false), after: folder(true) })
  const plan = (old: string, now: string, ...args: readonly string[]) =>
    run(['plan', `${old}/gateway.yaml`, `${now}/gateway.yaml`, '--fail-on', 'weaker', ...args], { cwd })
  const weaker = await plan('before', 'after')
  t.equal(weaker.code, 1, weaker.stderr)
  t.match(weaker.stdout, /^WEAKER.*k-5000\b.*\n/m)
  t.match(weaker.stdout, /^1 change, 1 weaker$/m)
  t.equal((await plan('after', 'before')).code, 0, 'stricter')
})

t.test('plan --traffic has marks for --fail-on', async t => {
  const request = { msg: 'request', route: 'POST /v1/chat/completions', key: 'bob', upstream: 'north', status: 200 }
  const ask = async (model: string, ...args: readonly string[]) => {
    const input = JSON.stringify({ ...request, model })
    return (await run(['plan', '--traffic', '-', ...args], { cwd: GOLDEN, input })).code
  }
  t.equal(await ask('swift', 'new.yaml', '--fail-on', 'loss'), 1)
  t.equal(await ask('swift', 'new.yaml', '--fail-on', 'unreachable'), 0)
  t.equal(await ask('calm', 'new.yaml', '--fail-on', 'unreachable'), 1)
  t.equal(await ask('calm', 'old.yaml', '--fail-on', 'loss,unreachable'), 0)
  const { code, stderr } = await run(['plan', '--traffic', '-', 'old.yaml', '--fail-on', 'weaker'], {
    cwd: GOLDEN,
    input: '',
  })
  t.match({ code, stderr }, { code: 2, stderr: /--fail-on weaker is not of requests/ })
  const twice = await run(['plan', '--traffic', '-', '-', 'old.yaml'], { cwd: GOLDEN, input: '' })
  t.match(twice, { code: 2, stderr: /standard input can be given only once/ })
})

t.test('plan --traffic fills limits by the time of the log, and names those that would refuse', async t => {
  const file = `version: 1
time_zone: Europe/Berlin
prices: { swift: { input: 1.00, output: 1.00 } }
groups: { crew: { limits: { tokens: 5M/month } } }
keys:
  alice: { secret: { env: ALICE }, limits: { budget: 2 USD/day } }
  bob: { secret: { env: BOB }, group: crew }
  carol: { secret: { env: CAROL }, limits: { requests: 2/min, in_flight: 1 } }
upstreams:
  north: { kind: openai-compatible, base: https://north.example, secret: { env: N }, limits: { requests: 9/total } }
models: { swift: north }
`
  const cwd = t.testdir({ 'gateway.yaml': file })
  const line = (key: string, time: string, total_ms: number, more: object = {}) =>
    JSON.stringify({
      ...{
        level: 'info',
        time,
        msg: 'request',
        method: 'POST',
        route: 'POST /v1/chat/completions',
        key,
        model: 'swift',
      },
      ...{ upstream: 'north', target: 'swift', status: 200, outcome: 'ok', stream: false, total_ms, ...more },
    })
  const million = { input_tokens: 1_000_000, output_tokens: 0, cost_usd: 1 }
  const lines = [
    // The day begins at 22:00 UTC there: the third is of the next one.
    line('alice', '2026-07-01T21:10:00.000Z', 10, million),
    line('alice', '2026-07-01T21:20:00.000Z', 10, { ...million, input_tokens: 1_500_000 }),
    line('alice', '2026-07-01T22:00:00.500Z', 10, million),
    // What began before midnight counts there.
    line('alice', '2026-07-01T22:00:01.000Z', 2000, million),
    line('bob', '2026-07-02T10:00:00.000Z', 10, { ...million, input_tokens: 5_000_000 }),
    line('bob', '2026-07-02T10:00:01.000Z', 10, { ...million, input_tokens: 1 }),
    line('bob', '2026-08-02T10:00:01.000Z', 10, { ...million, input_tokens: 1 }),
    // The second runs within the first, which ends later.
    line('carol', '2026-08-02T10:01:02.000Z', 1000),
    line('carol', '2026-08-02T10:01:09.000Z', 9000),
    line('carol', '2026-08-02T10:01:10.000Z', 100),
    line('carol', '2026-08-02T10:01:11.000Z', 100),
    line('carol', '2026-08-02T10:02:00.200Z', 100),
  ]
  const { code, stdout, stderr } = await run(['plan', '--traffic', '-', '--format', 'json'], {
    cwd,
    input: lines.join('\n'),
  })
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stdout), {
    requests: 12,
    same: 8,
    refused: {
      'budget_spent, budget of key alice, 2 USD/day': 1,
      'rate_limited, tokens of group crew, 5M/month': 1,
      'rate_limited, in_flight of key carol, 1': 1,
      'rate_limited, requests of key carol, 2/min': 1,
    },
    full: {},
  })
  const again = await run(['plan', '--traffic', '-'], { cwd, input: [...lines, ...lines].join('\n') })
  t.match(again.stdout, /% are refused: budget_spent, budget of key alice, 2 USD\/day \(\d+\)\n/)
  t.match(
    again.stdout,
    /% find no room and wait, or go to another target: requests of upstream north, 9\/total \(\d+\)\n/,
  )
})
