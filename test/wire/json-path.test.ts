import t from 'tap'
import { parsePath } from '../../src/wire/json-path.js'

t.test('a path is split at its dots', async t => {
  t.same(parsePath('a'), ['a'])
  t.same(parsePath('a.b.0.c'), ['a', 'b', '0', 'c'])
  t.same(parsePath(''), [])
  t.same(parsePath('a..b.'), ['a', '', 'b', ''])
})

t.test('a backslash takes a dot or backslash literally, and is itself before anything else', async t => {
  t.same(parsePath('a\\.b.c'), ['a.b', 'c'])
  t.same(parsePath('a\\\\.b'), ['a\\', 'b'])
  t.same(parsePath('a\\b\\'), ['a\\b\\'])
  t.same(parsePath('😀.é'), ['😀', 'é'])
})
