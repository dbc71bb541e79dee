import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join, posix, win32 } from 'node:path'
import t from 'tap'
import { globRoot } from '../../src/config/glob-files.js'
import { isAddress } from '../../src/core/config-place.js'
import { packageRoot } from '../../src/core/package-root.js'
import { endSignals, reloadSignals, settingsFolder, whoListens, withSlashes } from '../../src/core/platform.js'
import { generatedKey, keyFile } from '../../src/runtime/generated-keys.js'
import { start } from '../cli/bin.js'
import { command } from '../cli/in-process.js'
import { pretends } from '../helpers/platform.js'

/** Windows and macOS, which CI does not have: the platform is faked. */

const FILE = `version: 1
listen: { port: 0 }
store: { type: memory }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
`

t.test('signals: Windows ends by those of its console and reloads by none', async t => {
  t.same([endSignals(), reloadSignals()], [['SIGINT', 'SIGTERM'], ['SIGHUP']])
  await t.test('macOS is as Linux', async t => {
    pretends(t, 'darwin')
    t.same([endSignals(), reloadSignals()], [['SIGINT', 'SIGTERM'], ['SIGHUP']])
  })
  pretends(t, 'win32')
  t.same([endSignals(), reloadSignals()], [['SIGINT', 'SIGBREAK', 'SIGHUP'], []])
})

t.test('a gateway on Windows drains when its console is closed, and does not reload', async t => {
  const cwd = t.testdir({ 'gateway.yaml': FILE })
  const flags = ['--import', join(packageRoot(), 'test/fixtures/windows.mjs')]
  const bin = start(t, ['serve'], { cwd, flags, bare: true })
  await bin.until(/^listening/m)
  bin.child.kill('SIGHUP')
  const { code, stdout } = await bin.ended
  t.equal(code, 0)
  t.match(stdout, /SIGHUP: draining/)
  t.notMatch(stdout, 'reload')
})

t.test('paths: drive letters, shares and backslashes', async t => {
  const windows = {
    'C:\\gateway\\conf.d\\*.yaml': 'C:\\gateway\\conf.d',
    'C:\\gateway\\**\\keys.yaml': 'C:\\gateway',
    'C:\\*.yaml': 'C:\\',
    '\\\\server\\share\\conf.d\\*.yaml': '\\\\server\\share\\conf.d',
    '\\\\server\\share\\*.yaml': '\\\\server\\share\\',
    '\\\\?\\C:\\gateway\\*.yaml': '\\\\?\\C:\\gateway',
  }
  for (const [pattern, root] of Object.entries(windows)) t.equal(globRoot(pattern, win32), root, pattern)
  t.equal(globRoot('/etc/gateway/*.yaml', posix), '/etc/gateway')
  t.equal(globRoot('/*.yaml', posix), '/')
  for (const path of ['C:\\gateway.yaml', 'c:/gateway.yaml', '\\\\server\\share\\gateway.yaml'])
    t.notOk(isAddress(path), `${path} is a file`)
  t.equal(withSlashes('conf.d\\north\\keys.yaml', '\\'), 'conf.d/north/keys.yaml')
  const file = win32.resolve('C:\\gateway', 'data/receipts')
  t.equal(file, 'C:\\gateway\\data\\receipts', 'what a file writes with slashes is a path there, too')
})

t.test('settings of other programs: %APPDATA% on Windows, ~/.config elsewhere', async t => {
  t.equal(settingsFolder('tool', { HOME: '/home/me', APPDATA: 'C:\\unused' }), '/home/me/.config/tool')
  pretends(t, 'win32')
  t.equal(
    settingsFolder('tool', { HOME: 'C:\\Users\\me', APPDATA: 'C:\\Users\\me\\AppData\\Roaming' }),
    'C:\\Users\\me\\AppData\\Roaming\\tool',
  )
  t.equal(settingsFolder('tool', { HOME: '/c/Users/me' }), '/c/Users/me/.config/tool', 'a POSIX shell without APPDATA')
})

t.test('a user without a name has a home folder all the same', async t => {
  // That user may not be able to read this folder.
  const module = readFileSync(join(packageRoot(), 'dist/core/platform.js'), 'utf8')
  const code = `${module}\nconsole.log(homeFolder({}))`
  const isRoot = process.getuid?.() === 0
  const as = { ...(isRoot ? { uid: 10001, gid: 10001 } : {}), cwd: '/', env: {}, encoding: 'utf8' } as const
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], as)
  t.match(stdout, isRoot ? /^\/\n$/ : /^\//, stderr)
})

t.test('file modes have no meaning on Windows: nothing is changed or reported by them', async t => {
  const cwd = t.testdir({
    'gateway.yaml': `${FILE}keys: { me: { secret: { file: ./me.key }, models: ["*"] } }\n`,
    'me.key': 'gw-a-key-that-everyone-may-read-here',
  })
  for (const name of ['gateway.yaml', 'me.key']) chmodSync(join(cwd, name), 0o666)
  const states = async (): Promise<readonly string[]> => {
    const { stdout } = await command(['doctor', join(cwd, 'gateway.yaml'), '--offline', '--format', 'json'])
    const { results } = JSON.parse(stdout) as { results: { check: string; subject: string; state: string }[] }
    const isFile = ({ check, subject }: { check: string; subject: string }): boolean =>
      check === 'file' || (check === 'secret' && subject.endsWith('me.key'))
    return results.filter(isFile).map(({ state }) => state)
  }
  t.same(await states(), ['warning', 'warning'])
  generatedKey(cwd, 'local', true)
  const kept = keyFile(cwd, 'local')
  chmodSync(kept, 0o666)
  pretends(t, 'win32')
  t.same(await states(), ['ok', 'ok'])
  generatedKey(cwd, 'local', false, line => t.fail(line))
  t.equal(statSync(kept).mode & 0o777, 0o666)
})

t.test('who listens on a port is asked by a command of the system', async t => {
  t.match(whoListens(8080), /^ss /)
  await t.test('macOS', async t => {
    pretends(t, 'darwin')
    t.match(whoListens(8080), /^lsof .*:8080/)
  })
  pretends(t, 'win32')
  t.match(whoListens(8080), /^netstat .*:8080/)
})
