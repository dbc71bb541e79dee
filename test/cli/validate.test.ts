import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, start } from './bin.js'
import { BAD, GOOD, TEST_KEY } from './files.js'

const env = { TEST_KEY }

t.test('validate says what a valid file holds, and exits 0', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const { code, stdout, stderr } = await run(['validate'], { cwd, env })
  t.equal(stderr, '')
  t.match(stdout, /^gateway\.yaml is valid: 2 upstreams, 2 models, \d+ routes\n$/)
  t.equal(code, 0)
})

t.test('validate counts warnings by themselves', async t => {
  const cwd = t.testdir({ 'gateway.yaml': BAD })
  const { stdout } = await run(['validate'], { cwd, env: { TEST_KEY: 'short' } })
  t.match(stdout, /gateway\.yaml is not valid: \d+ problems, 1 warning\n$/)
})

t.test('validate tells all problems with their positions, and exits 1', async t => {
  const cwd = t.testdir({ 'gateway.yaml': BAD })
  const { code, stdout } = await run(['validate', 'gateway.yaml'], { cwd, env })
  t.equal(code, 1)
  t.match(stdout, /^gateway\.yaml:6:\d+ {2}upstreams\.sim/m)
  t.match(stdout, /^gateway\.yaml:9:\d+ {2}models\.sim-text/m)
  t.match(stdout, 'did you mean "kind"?')
  t.match(stdout, /gateway\.yaml is not valid: \d+ problems\n$/)
})

t.test('validate exits 2 where there is no file to read', async t => {
  const cwd = t.testdir({ folder: {} })
  for (const file of ['none.yaml', 'folder']) {
    const { code, stdout, stderr } = await run(['validate', file], { cwd })
    t.equal(code, 2, file)
    t.equal(stdout, '')
    t.match(stderr, file)
    t.notMatch(stderr, / at .*\.js/)
  }
})

t.test('validate --format json, github and sarif tell the same problems', async t => {
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

t.test('validate --watch tells again what changes, and a signal ends it with the last result', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const bin = start(t, ['validate', '--watch'], { cwd, env })
  await bin.until(/is valid/)
  writeFileSync(join(cwd, 'gateway.yaml.new'), BAD)
  renameSync(join(cwd, 'gateway.yaml.new'), join(cwd, 'gateway.yaml'))
  await bin.until(/is not valid/)
  bin.child.kill('SIGINT')
  t.equal((await bin.ended).code, 1)
})

t.test('validate --watch tells that a file is back, and ends with 2 while it is away', async t => {
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
