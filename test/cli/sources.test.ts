import { execFileSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, start } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'

const SERVE = ['--port', '0'] as const
const ADDRESS = /^listening on (http:\/\/127\.0\.0\.1:\d+)$/m

/** Names of the models that the gateway lists. */
async function models(origin: string): Promise<readonly string[]> {
  const answer = await fetch(`${origin}/v1/models`, { headers: { authorization: `Bearer ${TEST_KEY}` } })
  const { data = [] } = (await answer.json()) as { data?: readonly { id: string }[] }
  return data.map(one => one.id)
}

t.test('serve reads the file of -f, and variables from files; the environment wins', async t => {
  const cwd = t.testdir({
    'my.yaml': GOOD,
    '.env': `TEST_KEY=${TEST_KEY}\nNORTH_KEY=north\n`,
    'more.env': 'NORTH_KEY=\n',
  })
  const args = ['serve', '-f', 'my.yaml', '--env-file', '.env', '--env-file', 'more.env', ...SERVE]
  const bin = start(t, args, { cwd })
  const [, origin = ''] = await bin.until(ADDRESS)
  t.same(await models(origin), ['sim-text'], 'the later file says that NORTH_KEY is empty')
  const other = start(t, args, { cwd, env: { NORTH_KEY: 'from the environment' } })
  const [, second = ''] = await other.until(ADDRESS)
  t.same(await models(second), ['sim-text', 'north-text'])
})

/** The words that a shell makes of a printed curl line. */
function words(command: string, cwd: string): readonly string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${command}\n`
  const { TEST_KEY: _, ...env } = process.env
  return execFileSync('sh', ['-c', script], { cwd, env, encoding: 'utf8' }).split('\0')
}

t.test("the request that serve prints works in a shell that has not the file's variables", async t => {
  for (const line of [`TEST_KEY=${TEST_KEY}`, `export TEST_KEY="${TEST_KEY}" # of the tests`]) {
    const cwd = t.testdir({ 'gateway.yaml': GOOD, "team's.env": `NORTH_KEY=north\n${line}\n` })
    const bin = start(t, ['serve', '--env-file', "team's.env", ...SERVE], { cwd })
    const [command] = await bin.until(/^curl [\s\S]*?-d '.*'$/m)
    t.ok(words(command, cwd).includes(`authorization: Bearer ${TEST_KEY}`), command)
    await bin.until(/key local: from TEST_KEY in team's\.env/)
  }
  const cwd = t.testdir({ 'gateway.yaml': GOOD, '.env': 'TEST_KEY=another\n' })
  const bin = start(t, ['serve', '--env-file', '.env', ...SERVE], { cwd, env: { TEST_KEY } })
  const [command] = await bin.until(/^curl [\s\S]*?-d '.*'$/m)
  t.match(command, 'Bearer $TEST_KEY"', 'what the shell has is named')
})

t.test('serve reads standard input once, and its includes again', async t => {
  // Longer than what is read without a thread.
  const input = `${GOOD}include: [more.yaml]\n${'# a line of words\n'.repeat(1000)}`
  const cwd = t.testdir({ 'more.yaml': 'models: { first: sim }\n' })
  const bin = start(t, ['serve', '-', ...SERVE], { cwd, env: { TEST_KEY }, input })
  const [, origin = ''] = await bin.until(ADDRESS)
  t.same(await models(origin), ['sim-text', 'first'])
  writeFileSync(join(cwd, 'next.yaml'), 'models: { second: sim }\n')
  renameSync(join(cwd, 'next.yaml'), join(cwd, 'more.yaml'))
  await bin.until(/"reloaded"/)
  t.same(await models(origin), ['sim-text', 'second'])
})

t.test('serve of standard input that is not valid says where, and exits 1', async t => {
  const cwd = t.testdir({})
  const { code, stderr } = await run(['serve', '-', ...SERVE], { cwd, input: 'version: 1\nmodles: {}\n' })
  t.equal(code, 1)
  t.match(stderr, /:2:1/)
  t.match(stderr, '- is not valid')
})

t.test('two files are refused', async t => {
  const cwd = t.testdir({ 'a.yaml': GOOD })
  const two = await run(['serve', 'a.yaml', '-f', 'b.yaml'], { cwd })
  t.match(two, { code: 2, stderr: /two files are given: a\.yaml and b\.yaml/ })
})

t.test('tasks finds the file as the other commands do', async t => {
  const cwd = t.testdir({ 'my.yaml': GOOD.replace('./data', './tasks') })
  const input = GOOD.replace('./data', './tasks')
  const results = await Promise.all([
    run(['tasks', 'list', 'my.yaml'], { cwd }),
    run(['tasks', 'list', '-f', 'my.yaml'], { cwd }),
    run(['tasks', 'list', '-'], { cwd, input }),
    run(['tasks', 'show', 'task_0', 'my.yaml'], { cwd }),
  ])
  t.same(
    results.map(one => one.code),
    [0, 0, 0, 1],
  )
  t.match(results[3]?.stderr, 'there is no task task_0')
})
