import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { start } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'
import { command } from './in-process.js'

t.test('a folder is its *.yaml files in the order of their names, as if the first included the others', async t => {
  const folder = t.testdir({
    'conf.d': {
      '10-main.yaml': GOOD.replace('version: 1', 'version: 1\nlog: { level: warn }'),
      '20-models.yaml': 'models: { more: sim }\n',
      '30-twice.yaml': 'keys: {}\nmodels:\n  sim-text: sim\n',
      '.hidden.yaml': 'nonsense\n',
      'notes.txt': 'nonsense\n',
    },
    empty: {},
  })
  const at = (name: string): string => join(folder, name)
  const env = { TEST_KEY }
  const twice = await command(['validate', at('conf.d')], { env })
  t.equal(twice.code, 1)
  t.match(twice.stdout, /30-twice\.yaml:3:3 .*"sim-text" is defined twice; the first is at .*10-main\.yaml:\d+:3/)
  rmSync(at('conf.d/30-twice.yaml'))
  t.match(await command(['validate', at('conf.d')], { env }), {
    code: 0,
    stdout: /conf\.d is valid: 2 upstreams, 3 models/,
  })
  t.match(await command(['explain', at('conf.d')], { env }), { code: 0, stdout: /more/ })
  t.match(await command(['lint', at('conf.d')], { env }), { stdout: /10-main\.yaml:\d+:\d+ / })
  writeFileSync(at('conf.d/20-models.yaml'), 'listen: { port: 1 }\n')
  t.match(await command(['validate', at('conf.d')], { env }), { code: 1, stdout: /20-models\.yaml:1:1 +listen / })
  t.match(await command(['validate', at('empty')], { env }), {
    code: 1,
    stdout: /empty:1:1 {2}this folder has no \*\.yaml file/,
  })
  for (const args of [
    ['fmt', at('conf.d')],
    ['test', at('conf.d')],
  ])
    t.match(await command(args, { env }), { code: 2, stderr: /is a folder; name the file in it/ })
})

t.test('a mounted ConfigMap is followed, as a folder and as a file: its data are swapped by one link', async t => {
  const folder = t.testdir({ mount: { '..1': { 'a.yaml': GOOD, 'b.yaml': 'models: { first: sim }\n' } } })
  const mount = join(folder, 'mount')
  const link = (data: string, name: string): void => {
    symlinkSync(data, join(mount, '..data_tmp'))
    renameSync(join(mount, '..data_tmp'), join(mount, name))
  }
  link('..1', '..data')
  for (const name of ['a.yaml', 'b.yaml']) symlinkSync(join('..data', name), join(mount, name))
  const cwd = folder
  const gateways = ['mount', join('mount', 'a.yaml')].map(source =>
    start(t, ['serve', source, '--port', '0'], { cwd, env: { TEST_KEY } }),
  )
  for (const gateway of gateways) await gateway.until(/^listening on /m)
  mkdirSync(join(mount, '..2'))
  writeFileSync(join(mount, '..2', 'a.yaml'), GOOD.replace('sim-text', 'swapped'))
  writeFileSync(join(mount, '..2', 'b.yaml'), 'models: { second: sim }\n')
  link('..2', '..data')
  rmSync(join(mount, '..1'), { recursive: true })
  const [whole, file] = gateways
  await whole?.until(/"reloaded".*"models":\{"added":\["swapped","second"\],"removed":\["sim-text","first"\]/)
  await file?.until(/"reloaded".*"models":\{"added":\["swapped"\],"removed":\["sim-text"\]/)
  // A further file of the folder.
  writeFileSync(join(mount, '..2', 'c.yaml'), 'models: { third: sim }\n')
  symlinkSync(join('..data', 'c.yaml'), join(mount, 'c.yaml'))
  await whole?.until(/"reloaded".*"models":\{"added":\["third"\]/)
})
