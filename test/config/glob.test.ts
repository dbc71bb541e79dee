import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { expandGlob, globRoot, matches, overlap } from '../../src/config/glob.js'
import { fc } from '../helpers/property.js'
import { folderWith } from './support.js'

t.test('* stands for any text, also for none', async t => {
  t.ok(matches('swift-*', 'swift-large'))
  t.ok(matches('swift-*', 'swift-'))
  t.ok(matches('*', ''))
  t.ok(matches('*a*b*', 'xxaxxbxx'))
  t.notOk(matches('swift-*', 'swif'))
  t.notOk(matches('*a*b', 'ba'))
})

t.test('? is a character like any other unless asked for', async t => {
  t.notOk(matches('a?', 'ab'))
  t.ok(matches('a?', 'a?'))
  t.ok(matches('a?', 'ab', true))
  t.notOk(matches('a?', 'a', true))
})

t.test('matching agrees with the regular expression that the pattern stands for', async t => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 })
  fc.assert(
    fc.property(letters, fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 12 }), (pattern, text) => {
      t.equal(matches(pattern, text), new RegExp(`^${pattern.replace(/\*+/g, '.*')}$`).test(text))
    }),
  )
})

t.test('F-C12 a pattern of many stars does not slow matching down', async t => {
  t.notOk(matches(`${'a*'.repeat(128)}b`, 'a'.repeat(100_000)))
})

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
  return expandGlob(join(folder, pattern)).map(file => file.slice(folder.length + 1))
}

t.test('* stays within a name and passes over hidden files', async t => {
  t.same(found(t, '*.yaml'), ['a.yaml', 'b.yaml'])
  t.same(found(t, '.*.yaml'), ['.hidden.yaml'])
  t.same(found(t, '?.y*'), ['a.yaml', 'b.yaml', 'c.yml'])
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
  t.same(expandGlob(join(folder, '*.yaml')), [join(folder, 'y.yaml')])
  t.same(expandGlob(join(folder, '**/x.yaml')), [join(folder, 'real/x.yaml')])
})

t.test('a folder that does not exist holds nothing', async t => {
  t.same(expandGlob('/nonexistent/*.yaml'), [])
})

t.test('the root of a glob is the folder before its first star', async t => {
  t.equal(globRoot('/etc/gateway/routes/*.yaml'), '/etc/gateway/routes')
  t.equal(globRoot('/etc/gateway/**/*.yaml'), '/etc/gateway')
  t.equal(globRoot('/*.yaml'), '/')
  t.equal(globRoot('/etc/gateway/a.yaml'), '/etc/gateway')
})

t.test('two globs overlap exactly where a text fits both', async t => {
  for (const [a, b, expected] of [
    ['gpt-*', 'sim-*', false],
    ['sim-*', 'sim-text*', true],
    ['*-mini', 'sim-*', true],
    ['*-mini', '*-large', false],
    ['a*b', 'ab*b', true],
    ['*', 'x*y*z', true],
  ] as const) {
    t.equal(overlap(a, b), expected, `${a} and ${b}`)
    t.equal(overlap(b, a), expected, `${b} and ${a}`)
  }
})
