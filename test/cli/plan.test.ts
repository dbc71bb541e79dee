import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from './bin.js'

const GOLDEN = join(packageRoot(), 'test/golden/difference')
const UPDATE = process.env.UPDATE_GOLDEN === '1'
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
33.3 % may lose members by translation chat → messages (1)
cost +100 %: 1.00 → 2.00 USD
`,
    )
    const json = await run(['plan', '--traffic', '-', 'old.yaml', '--format', 'json'], { cwd: GOLDEN, input })
    t.match(JSON.parse(json.stdout), { requests: 3, same: 2, moved: { north: 1 }, cost: { before: 1e6, after: 1e6 } })
  },
)

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
