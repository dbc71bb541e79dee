import { mkdirSync, realpathSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fingerprint, WatchPoint, watchPoints } from '../../src/runtime/watch-points.js'

function folder(t: Test, content: Parameters<Test['testdir']>[0] = {}): string {
  return realpathSync(t.testdir(content))
}

async function points(...sources: readonly string[]): Promise<Record<string, readonly string[]>> {
  const { folders } = await watchPoints(sources, [])
  return Object.fromEntries([...folders].map(([path, point]) => [path, [...point.names]]))
}

t.test('a file is watched through its folder', async t => {
  const here = folder(t, { 'a.yaml': '', 'b.yaml': '' })
  t.strictSame(await points(join(here, 'a.yaml'), join(here, 'b.yaml')), { [here]: ['a.yaml', 'b.yaml'] })
})

t.test('every link on the way is watched in its own folder, and the file in its real one', async t => {
  const here = folder(t, { real: { 'a.yaml': '' }, links: {} })
  symlinkSync('real', join(here, 'current'))
  symlinkSync('../current/a.yaml', join(here, 'links', 'b.yaml'))
  t.strictSame(await points(join(here, 'links', 'b.yaml')), {
    [join(here, 'links')]: ['b.yaml'],
    [here]: ['current'],
    [join(here, 'real')]: ['a.yaml'],
  })
})

t.test('missing files are watched in the nearest folder that exists', async t => {
  const here = folder(t, { 'a.yaml': '' })
  t.strictSame(await points(join(here, 'run', 'secrets', 'key')), { [here]: ['run'] })
  t.strictSame(
    await points(join(here, 'a.yaml', 'below', 'a', 'file')),
    { [here]: ['a.yaml'] },
    'as are names below a file',
  )
})

t.test('a circle of links ends', async t => {
  const here = folder(t)
  symlinkSync('b', join(here, 'a'))
  symlinkSync('a', join(here, 'b'))
  t.strictSame(await points(join(here, 'a')), { [here]: ['a', 'b'] })
})

t.test('folders of includes are watched for added and removed entries', async t => {
  const here = folder(t, { routes: {} })
  const { folders } = await watchPoints([], [join(here, 'routes')])
  const point = folders.get(join(here, 'routes'))
  t.equal(point?.concernedBy('rename', 'new.yaml'), true)
  t.equal(point?.concernedBy('change', 'requests.log'), false)
})

t.test('the identity changes when a folder is replaced under its name, and only then', async t => {
  const here = folder(t, { conf: { 'a.yaml': '' } })
  const file = join(here, 'conf', 'a.yaml')
  const before = (await watchPoints([file], [])).identity
  writeFileSync(file, 'edited')
  t.equal((await watchPoints([file], [])).identity, before)
  renameSync(join(here, 'conf'), join(here, 'old'))
  mkdirSync(join(here, 'conf'))
  writeFileSync(file, 'edited')
  t.not((await watchPoints([file], [])).identity, before)
})

t.test('the removal of a watched folder, reported under its own name, concerns it', async t => {
  const point = new WatchPoint('/some/conf')
  t.equal(point.isItself('conf'), true)
  t.equal(point.concernedBy('rename', 'conf'), true)
  t.equal(point.concernedBy('rename', 'other'), false)
  t.equal(point.concernedBy('rename', null), true, 'and by events without a name')
})

t.test('the fingerprint distinguishes contents, and existing files from missing ones', async t => {
  const here = folder(t, { 'a.yaml': 'one' })
  const file = join(here, 'a.yaml')
  const before = await fingerprint([file])
  t.equal(await fingerprint([file]), before)
  writeFileSync(file, 'three')
  t.not(await fingerprint([file]), before)
  t.match(await fingerprint([join(here, 'none')]), 'not readable')
})
