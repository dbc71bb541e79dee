import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { run, start } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'

t.setTimeout(60_000)

t.test('gateway reload asks the running gateway, and says what became of it', async t => {
  const { line, origin } = await adminLine()
  const file = `${GOOD}${line}\n`
  const cwd = t.testdir({ 'gateway.yaml': file })
  const env = { TEST_KEY, NORTH_KEY: 'north', GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const gateway = start(t, ['serve', '--port', '0', '--no-watch'], { cwd, env })
  await gateway.until(/listening on/)
  t.match(await run(['reload'], { cwd, env }), { code: 0, stdout: 'generation 1 serves\n' })

  const replace = (text: string): void => {
    writeFileSync(join(cwd, 'new'), text)
    renameSync(join(cwd, 'new'), join(cwd, 'gateway.yaml'))
  }
  replace(file.replace('north-text: north', 'north-text: north\n  again: sim'))
  t.match(await run(['reload'], { cwd, env }), { code: 0, stdout: 'generation 2 serves\n' })

  replace(file.replace('north-text: north', 'north-text: nowhere'))
  const refused = await run(['reload'], { cwd, env })
  t.equal(refused.code, 1)
  t.match(refused.stderr, /gateway\.yaml:10:\d+ .*nowhere/s)

  replace(file)
  const foreign = await run(['reload'], { cwd, env: { ...env, GATEWAY_ADMIN_KEY: 'another-key-of-the-admin-0123456' } })
  t.equal(foreign.code, 1)
  t.match(foreign.stderr, /refuses the admin key, which is that of GATEWAY_ADMIN_KEY/)
  const alone = await run(['reload', '--restart', '--admin', origin], { cwd, env })
  t.equal(alone.code, 1)
  t.match(alone.stderr, /without workers/)
  const away = await run(['reload', '--admin', 'http://127.0.0.1:1'], { cwd, env })
  t.equal(away.code, 1)
  t.match(away.stderr, /cannot be reached/)
})

t.test('gateway reload says what to do without an admin API', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const { code, stderr } = await run(['reload'], { cwd, env: { TEST_KEY, NORTH_KEY: 'north' } })
  t.equal(code, 2)
  t.match(stderr, /no admin API: write `admin: \{\}`, or send SIGHUP/)
})
