import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

/** The parts of `.ci/run` that a green run rests on can fail. */

const ROOT = packageRoot()
const CI = readFileSync(join(ROOT, '.ci/run'), 'utf8')

/** The text of functions of `.ci/run`. */
function functions(...names: readonly string[]): string {
  const found = names.map(name => new RegExp(`^${name}\\(\\) \\{(?: .* \\}|[^]*?\\n\\})$`, 'm').exec(CI)?.[0])
  const missing = names.filter((_, at) => found[at] === undefined)
  if (missing.length > 0) throw new Error(`.ci/run has no ${missing.join(', ')}`)
  return found.join('\n')
}

interface Ran {
  readonly status: number | null
  readonly out: string
}

function bash(text: string, env: Readonly<Record<string, string>> = {}): Ran {
  const options = { encoding: 'utf8', env: { PATH: process.env.PATH, ...env } } as const
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', `set -uo pipefail\n${text}`], options)
  return { status, out: stdout + stderr }
}

t.test('a step that changes folder and PATH fails where its function does', async t => {
  const script = `here=$PWD; away() { cd / && PATH=/nowhere; return "$1"; }\n${functions('with_path')}`
  t.same(bash(`${script}\nwith_path away 0`).status, 0)
  const { status, out } = bash(`${script}\nwith_path away 3; echo "$? $([ "$PWD" = "$here" ] && ls -d .)"`)
  t.same([status, out], [0, '3 .\n'])
})

const ADVISORY = { title: 'Reads what it should not', url: 'https://example.test/1', severity: 'high' }
const AUDITS = {
  none: [0, { auditReportVersion: 2, vulnerabilities: {}, metadata: { vulnerabilities: { total: 0 } } }],
  some: [
    1,
    { auditReportVersion: 2, vulnerabilities: { pg: { name: 'pg', severity: 'high', via: [ADVISORY, 'pg-types'] } } },
  ],
  unanswered: [1, { message: '405 Method Not Allowed', statusCode: 405 }],
} as const

t.test('an advisory among the dependencies fails and is named; a registry without audits is skipped', async t => {
  const audited = (name: keyof typeof AUDITS): Ran => {
    const [status, answer] = AUDITS[name]
    const npm = `npm() { printf '%s\\n' "$ANSWER"; return ${status}; }`
    return bash(`${npm}\n${functions('audit')}\naudit`, { work: t.testdir(), ANSWER: JSON.stringify(answer, null, 2) })
  }
  t.same(audited('none'), { status: 0, out: '' })
  const { status, out } = audited('some')
  t.equal(status, 1)
  t.match(out, 'pg, high: Reads what it should not (https://example.test/1)')
  t.match(audited('unanswered'), { status: 0, out: /^SKIPPED: the registry answers no audits$/m })
})

t.test('what the hour may be too short for begins elsewhere with each commit, and all of it runs once', async t => {
  const order = (seed: number): string => {
    const in_time = 'in_time() { shift; echo "$*"; }'
    const asked = ["in_turn 1 step 'one step' a", "in_turn 2 step 'two steps' b", 'in_turn 3 c'].join('\n')
    return bash(
      `SAMPLE_SEED=${seed}\n${in_time}\nwaiting=()\n${functions('in_turn', 'run_in_turn')}\n${asked}\nrun_in_turn`,
    ).out
  }
  t.equal(order(3), 'step one step a\nstep two steps b\nc\n')
  t.equal(order(4), 'step two steps b\nc\nstep one step a\n')
})

t.test('what tests skip is counted and named', async t => {
  const { PATH = '' } = process.env
  const run = ['scripts/test.mjs', 'test/credentials/signature-vectors.test.ts']
  const { status, stdout } = spawnSync(process.execPath, run, { cwd: ROOT, encoding: 'utf8', env: { PATH } })
  t.equal(status, 0)
  const named =
    '# SKIPPED: test/credentials/signature-vectors.test.js > AWS_VECTORS_DIR does not name the published vectors'
  t.match(stdout, new RegExp(`^${named}\\n1 skipped\\n\\d+ passed, 0 failed$`, 'm'))
})

const AS_ROOT = 'asRoot'

t.test('what root is never refused is tested as another user', async t => {
  const listed = readFileSync(join(ROOT, 'test/refused.txt'), 'utf8').split('\n')
  const paths = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).map(path => `test/${path}`)
  const files = paths.filter(path => path.endsWith('.test.ts'))
  const refused = files.filter(path => readFileSync(join(ROOT, path), 'utf8').includes(`{ skip: ${AS_ROOT} }`))
  t.ok(refused.length > 0)
  t.same(listed.filter(line => line.startsWith('test/')).sort(), refused.sort())
})

/** Benches without a smoke, and why. */
const WITHOUT_SMOKE: Readonly<Record<string, string>> = {
  'bench:docs': 'it writes a page from figures of whole runs',
  'bench:reliability': 'it takes minutes, and writes a page',
  'bench:rivals': 'it installs other products',
}

t.test('each bench has a smoke', async t => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const smokes = CI.split('\n').filter(line => /^in_turn \d+ smoke /.test(line))
  for (const [name, script] of Object.entries(scripts)) {
    if (!/^bench\b/.test(name) || WITHOUT_SMOKE[name] !== undefined) continue
    const [, run = ''] = /node bench\/(\S+\.mjs(?: --tls)?)$/.exec(script) ?? []
    const [file = '', flag = ''] = run.split(' ')
    const isRun = (line: string): boolean =>
      line.endsWith(`npm run ${name} -- --quick`) || (line.includes(`node bench/${file} `) && line.includes(flag))
    t.ok(smokes.some(isRun), `${name}: node bench/${run}`)
  }
})
