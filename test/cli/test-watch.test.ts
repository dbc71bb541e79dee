import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { start } from './bin.js'

const CONFIG = `version: 1
keys: { team: { secret: { env: TEAM_KEY } } }
upstreams: { sim: { kind: simulator } }
`
const TESTS = 'tests: { it lives: { request: { to: GET /livez }, expect: { status: 200 } } }\n'

t.test('watch runs the tests again when a configuration that was not valid changes', async t => {
  const cwd = t.testdir({
    parts: { 'gateway.yaml': CONFIG.replace('upstreams', 'upstream'), 'a.test.yaml': TESTS },
  })
  const bin = start(t, ['test', 'parts/a.test.yaml', '--watch'], { cwd })
  await bin.until(/gateway\.yaml is not valid\n/)
  writeFileSync(join(cwd, 'parts/gateway.yaml'), `include: [none.yaml]\n${CONFIG}`)
  await bin.until(/none\.yaml[\s\S]*is not valid\n/)
  writeFileSync(join(cwd, 'parts/gateway.yaml'), CONFIG)
  await bin.until(/ok 1 - it lives/)
  bin.child.kill('SIGINT')
  t.equal((await bin.ended).code, 0)
})

t.test('watch does not run for ever over a file that is dated ahead, and ends by a signal', async t => {
  const cwd = t.testdir({ 'gateway.yaml': CONFIG, 'a.test.yaml': TESTS })
  const ahead = new Date(Date.now() + 3_600_000)
  utimesSync(join(cwd, 'gateway.yaml'), ahead, ahead)
  const bin = start(t, ['test', '--watch'], { cwd })
  await bin.until(/ok 1 - it lives[\s\S]*keys call\n/)
  bin.child.kill('SIGINT')
  const { code, stdout } = await bin.ended
  t.equal(code, 0)
  t.ok(stdout.split('it lives').length <= 4, stdout)
})
