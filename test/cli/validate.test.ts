import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, start } from './bin.js'
import { BAD, GOOD, TEST_KEY } from './files.js'

const env = { TEST_KEY }

t.test('validate prints what a valid file contains, and exits 0', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const { code, stdout, stderr } = await run(['validate'], { cwd, env })
  t.equal(stderr, '')
  t.match(
    stdout,
    /^gateway\.yaml is valid: 2 upstreams, 2 models, \d+ routes\n {2}the upstream north is off: NORTH_KEY is not set\n$/,
  )
  t.equal(code, 0)
})

t.test('validate and audit say how many secrets an upstream has', async t => {
  const text = `version: 1
keys: { local: { secret: { env: TEST_KEY }, models: ["*"] } }
upstreams: { several: { kind: openai, secrets: [{ env: FIRST }, { env: SECOND }, { env: THIRD }] } }
models: { m: several }
`
  const cwd = t.testdir({ 'gateway.yaml': text })
  const all = { ...env, FIRST: 'the-first-secret', SECOND: 'the-second-secret', THIRD: 'the-third-secret' }
  const { stdout } = await run(['validate'], { cwd, env: all })
  t.match(stdout, /^ {2}the upstream several has 3 secrets$/m)
  const { SECOND: _, ...two } = all
  t.match((await run(['validate'], { cwd, env: two })).stdout, /^ {2}the upstream several has 2 secrets$/m)
  const audit = await run(['audit', '--format', 'json'], { cwd, env: all })
  const { rows } = JSON.parse(audit.stdout) as { rows: { route: string; policies: Record<string, string> }[] }
  t.match(rows.find(({ route }) => route === 'POST /v1/chat/completions')?.policies, { secrets: '3' })
})

t.test('validate counts warnings by themselves', async t => {
  const cwd = t.testdir({ 'gateway.yaml': BAD })
  const { stdout } = await run(['validate'], { cwd, env: { TEST_KEY: 'short' } })
  t.match(stdout, /gateway\.yaml is not valid: \d+ problems, 1 warning\n$/)
})

t.test('validate prints all problems with their positions, and exits 1', async t => {
  const cwd = t.testdir({ 'gateway.yaml': BAD })
  const { code, stdout } = await run(['validate', 'gateway.yaml'], { cwd, env })
  t.equal(code, 1)
  t.match(stdout, /^gateway\.yaml:6:\d+ {2}upstreams\.sim/m)
  t.match(stdout, /^gateway\.yaml:9:\d+ {2}models\.sim-text/m)
  t.match(stdout, 'did you mean "kind"?')
  t.match(stdout, /gateway\.yaml is not valid: \d+ problems\n$/)
})

t.test('validate exits 2 where there is no file to read', async t => {
  const cwd = t.testdir({})
  for (const file of ['none.yaml']) {
    const { code, stdout, stderr } = await run(['validate', file], { cwd })
    t.equal(code, 2, file)
    t.equal(stdout, '')
    t.match(stderr, file)
    t.notMatch(stderr, / at .*\.js/)
  }
})

t.test('validate --format json, github and sarif report the same problems', async t => {
  const cwd = t.testdir({ 'gateway.yaml': BAD })
  const [json, github, sarif] = await Promise.all(
    ['json', 'github', 'sarif'].map(format => run(['validate', '--format', format], { cwd, env })),
  )
  const { valid, problems } = JSON.parse(json?.stdout ?? '')
  const [{ results }] = JSON.parse(sarif?.stdout ?? '').runs
  t.strictSame([json?.code, github?.code, sarif?.code], [1, 1, 1])
  t.equal(valid, false)
  t.match(problems, [{ position: { file: 'gateway.yaml', line: 6 } }, { position: { file: 'gateway.yaml', line: 9 } }])
  t.equal(results.length, problems.length)
  t.equal(github?.stdout.trim().split('\n').length, problems.length)
  t.match(github?.stdout, /^::error file=gateway\.yaml,line=6,col=\d+,/m)
})

t.test('every format is sound for a valid file too', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const [json, github, sarif] = await Promise.all(
    ['json', 'github', 'sarif'].map(format => run(['validate', '--format', format], { cwd, env })),
  )
  t.strictSame([json?.code, github?.code, sarif?.code], [0, 0, 0])
  t.strictSame(JSON.parse(json?.stdout ?? ''), { valid: true, problems: [] })
  t.equal(github?.stdout, '')
  t.strictSame(JSON.parse(sarif?.stdout ?? '').runs[0].results, [])
})

t.test('a format that there is not is refused', async t => {
  const { code, stderr } = await run(['validate', '--format', 'xml'])
  t.equal(code, 2)
  t.match(stderr, 'text, json, github, sarif')
})

t.test('colours: none into a pipe, some where they are forced, none against NO_COLOR', async t => {
  const cwd = t.testdir({ 'gateway.yaml': BAD })
  const coloured = async (more: Record<string, string>): Promise<boolean> =>
    (await run(['validate'], { cwd, env: { ...env, ...more } })).stdout.includes('\u001b[')
  t.equal(await coloured({}), false)
  t.equal(await coloured({ FORCE_COLOR: '1' }), true)
  t.equal(await coloured({ NO_COLOR: '1' }), false)
})

t.test('validate --watch reports changes, and a signal ends it with the last result', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const bin = start(t, ['validate', '--watch'], { cwd, env })
  await bin.until(/is valid/)
  writeFileSync(join(cwd, 'gateway.yaml.new'), BAD)
  renameSync(join(cwd, 'gateway.yaml.new'), join(cwd, 'gateway.yaml'))
  await bin.until(/is not valid/)
  bin.child.kill('SIGINT')
  t.equal((await bin.ended).code, 1)
})

t.test('validate --watch reports that a file is back, and ends with 2 while it is missing', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const [file, aside] = [join(cwd, 'gateway.yaml'), join(cwd, 'aside')]
  const bin = start(t, ['validate', '--watch'], { cwd, env })
  await bin.until(/is valid/)
  renameSync(file, aside)
  await bin.until(/there is no gateway\.yaml/)
  renameSync(aside, file)
  await bin.until(/is valid[\s\S]*is valid/)
  renameSync(file, aside)
  await bin.until(/there is no gateway\.yaml[\s\S]*there is no gateway\.yaml/)
  bin.child.kill('SIGINT')
  t.equal((await bin.ended).code, 2)
})

const FILED = '  filed: { kind: openai, secret: { file: ./none } }\n'
const WANTING = `${GOOD.replace('models:\n', `${FILED}models:\n`)}  placed: filed\n  both: [north, sim]\n`

t.test('validate --strict passes without secrets, and reports what is disabled', async t => {
  const cwd = t.testdir({ 'gateway.yaml': WANTING })
  const { code, stdout } = await run(['validate', '--strict'], { cwd })
  t.match(stdout, 'the upstream north is off: NORTH_KEY is not set')
  t.match(stdout, 'the key local cannot be used: TEST_KEY is not set')
  t.match(stdout, 'there is no file "./none"')
  t.equal(code, 0)
})

t.test('validate --secrets require fails for each secret that is not there', async t => {
  const cwd = t.testdir({ 'gateway.yaml': WANTING })
  const { code, stdout } = await run(['validate', '--secrets', 'require'], { cwd, env })
  t.match(stdout, /upstreams\.north\.secret {2}this secret is missing: NORTH_KEY is not set/)
  t.match(stdout, /upstreams\.filed\.secret {2}this secret is missing: \.\/none does not exist/)
  t.match(stdout, 'is not valid: 2 problems')
  t.equal(code, 1)
  const all = { ...env, NORTH_KEY: 'north-secret' }
  const whole = await run(['validate', '--secrets', 'require'], { cwd: t.testdir({ 'gateway.yaml': GOOD }), env: all })
  t.equal(whole.code, 0, whole.stdout)
})

t.test('validate --secrets assume says nothing of them; so does CI', async t => {
  const cwd = t.testdir({ 'gateway.yaml': WANTING })
  const assumed = await run(['validate', '--strict', '--secrets', 'assume'], { cwd })
  t.match(assumed.stdout, /^gateway\.yaml is valid: [^\n]*\n$/)
  t.equal(assumed.code, 0)
  t.strictSame(await run(['validate', '--strict'], { cwd, env: { CI: 'true' } }), assumed)
  const required = await run(['validate', '--secrets', 'require'], { cwd, env: { CI: 'true' } })
  t.equal(required.code, 1, 'what is said wins over CI')
})

t.test('warnings are the same with and without secrets', async t => {
  const late = `${GOOD}  late: { targets: [sim, north], retry: { attempts: 1 } }\n`
  const cwd = t.testdir({ 'gateway.yaml': late })
  for (const more of [{}, { NORTH_KEY: 'north-secret' }]) {
    const { code, stdout } = await run(['validate', '--strict'], { cwd, env: { ...env, ...more } })
    t.match(stdout, 'this target is never tried')
    t.equal(code, 1)
  }
})

t.test('validate accepts several files, and the worst decides', async t => {
  const cwd = t.testdir({ 'a.yaml': GOOD, 'b.yaml': BAD })
  const both = await run(['validate', 'a.yaml', 'b.yaml'], { cwd, env })
  t.match(both.stdout, /^a\.yaml is valid[\s\S]*^b\.yaml is not valid/m)
  t.equal(both.code, 1)
  const missing = await run(['validate', 'none.yaml', 'a.yaml', '--format', 'json'], { cwd, env })
  t.match(missing.stderr, 'there is no none.yaml')
  t.strictSame(JSON.parse(missing.stdout), { valid: true, problems: [] })
  t.equal(missing.code, 2)
})

t.test('validate reads standard input, with its includes', async t => {
  const more = 'models: { more: sim }\n'
  const cwd = t.testdir({ 'more.yaml': more })
  const good = await run(['validate', '-'], { cwd, env, input: `${GOOD}include: [more.yaml]\n` })
  t.match(good.stdout, /^- is valid: 2 upstreams, 3 models/)
  const bad = await run(['validate', '-'], { cwd, env, input: BAD })
  t.match(bad.stdout, /^-:6:\d+ {2}upstreams\.sim/m)
  t.equal(bad.code, 1)
})

t.test('validate reads variables from files; the environment wins', async t => {
  const cwd = t.testdir({
    'gateway.yaml': GOOD,
    '.env': `\ufeffTEST_KEY=${TEST_KEY}\nNORTH_KEY=""\n`,
    more: 'NORTH_KEY=abc\n',
  })
  const args = ['validate', '--secrets', 'require', '--env-file', '.env', '--env-file', 'more']
  t.equal((await run(args, { cwd })).code, 0)
  t.match((await run([...args], { cwd, env: { TEST_KEY: 'short' } })).stdout, 'fewer than 16 characters')
  const none = await run(['validate', '--env-file', 'none'], { cwd })
  t.match(none.stderr, /none.*(cannot be read|not found)/, 'some versions of the runtime read such options themselves')
  t.not(none.code, 0)
})
