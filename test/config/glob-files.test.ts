import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { expandGlob, globRoot } from '../../src/config/glob-files.js'
import { load } from '../../src/config/load.js'
import { BASE, folderWith, SHIPPED, tryLoad } from './support.js'

const FILES = {
  'a.yaml': '',
  'b.yaml': '',
  'c.yml': '',
  '.hidden.yaml': '',
  'd/e.yaml': '',
  'd/f/g.yaml': '',
  'd/.h/i.yaml': '',
}

function found(t: Test, pattern: string): readonly string[] {
  const folder = folderWith(t, FILES)
  return expandGlob(join(folder, pattern)).files.map(file => file.slice(folder.length + 1))
}

t.test('* stays within a name and passes over hidden files', async t => {
  t.same(found(t, '*.yaml'), ['a.yaml', 'b.yaml'])
  t.same(found(t, '.*.yaml'), ['.hidden.yaml'])
  t.same(found(t, '?.y*'), ['a.yaml', 'b.yaml', 'c.yml'])
  t.same(found(t, '??.y*'), [])
})

t.test('a folder may be a pattern too', async t => {
  t.same(found(t, '*/e.yaml'), ['d/e.yaml'])
})

t.test('** goes through any folders, none included, but not through hidden ones', async t => {
  t.same(found(t, '**/*.yaml'), ['a.yaml', 'b.yaml', 'd/e.yaml', 'd/f/g.yaml'])
  t.same(found(t, 'd/**/g.yaml'), ['d/f/g.yaml'])
})

t.test('symbolic links to files count, links that lead nowhere or in a circle do not', async t => {
  const folder = folderWith(t, { 'real/x.yaml': '' })
  symlinkSync(join(folder, 'real/x.yaml'), join(folder, 'y.yaml'))
  symlinkSync(join(folder, 'nowhere'), join(folder, 'z.yaml'))
  symlinkSync(folder, join(folder, 'real/up'))
  t.same(expandGlob(join(folder, '*.yaml')).files, [join(folder, 'y.yaml')])
  t.same(expandGlob(join(folder, '**/x.yaml')).files, [join(folder, 'real/x.yaml')])
})

t.test('a folder that does not exist holds nothing', async t => {
  t.same(expandGlob('/nonexistent/*.yaml'), { files: [] })
})

t.test('the root of a glob is the folder before its first star', async t => {
  t.equal(globRoot('/etc/gateway/routes/*.yaml'), '/etc/gateway/routes')
  t.equal(globRoot('/etc/gateway/**/*.yaml'), '/etc/gateway')
  t.equal(globRoot('/*.yaml'), '/')
  t.equal(globRoot('/etc/gateway/a.yaml'), '/etc/gateway')
})

t.test('what a bound cuts off is said', async t => {
  const deep = folderWith(t, { [`${'d/'.repeat(17)}a.yaml`]: '', 'b.yaml': '' })
  t.same(expandGlob(join(deep, '**/*.yaml')), { files: [join(deep, 'b.yaml')], cut: 'folders' })
  t.same(expandGlob(join(deep, '*.yaml')), { files: [join(deep, 'b.yaml')] })
  const { config, reported } = await tryLoad(t, {
    'gateway.yaml': `${BASE}include: ["conf.d/**/*.yaml"]\n`,
    [`conf.d/${'d/'.repeat(17)}a.yaml`]: '',
    'conf.d/b.yaml': 'models: { more: sim }\n',
  })
  t.same(reported, ['too-many-folders 8:11'])
  t.ok(config?.models.more)
})

t.test('a configuration of too many files is an error, and none of them is left out', async t => {
  const many = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`conf.d/${n}.yaml`, `models: { m${n}: sim }\n`]))
  const main = `${BASE}include: [conf.d/*.yaml]\n`
  const whole = await tryLoad(t, { 'gateway.yaml': main, ...many(999) })
  t.equal(Object.keys(whole.config?.models ?? {}).length, 1000, whole.text)
  const cut = await tryLoad(t, { 'gateway.yaml': main, ...many(1000) })
  t.same(cut.reported, ['too-many-files 8:11'])
  t.equal(cut.config, undefined)
  const folder = folderWith(t, { 'a.yaml': BASE, ...many(1100) })
  const { problems } = await load({ file: join(folder, 'conf.d'), env: {}, shipped: SHIPPED })
  t.ok(problems.some(({ rule }) => rule === 'too-many-files'))
})
