import t from 'tap'
import { ControlNames } from '../../src/wire/control-names.js'

const names = new ControlNames(['model', 'stream', 'a.b', 'größe'])

function find(key: string): unknown {
  const bytes = Buffer.from(`xx${key}yy`)
  return names.find(bytes, 2, bytes.length - 2)
}

t.test('a name is found as it is written, or with escapes', async t => {
  t.same(find('model'), { name: 'model', exact: true })
  t.same(find('\\u006dodel'), { name: 'model', exact: true })
  t.same(find('a.b'), { name: 'a.b', exact: true })
  t.same(find('größe'), { name: 'größe', exact: true })
})

t.test('a name in another case is told apart', async t => {
  t.same(find('Model'), { name: 'model', exact: false })
  t.same(find('\\u004dODEL'), { name: 'model', exact: false })
  t.same(find('GRÖSSE'), { name: 'größe', exact: false })
})

t.test('another key is none', async t => {
  for (const key of ['', 'mode', 'models', 'xmodel', 'input', '\\\\model', 'modell\\u0000', '模型'])
    t.equal(find(key), undefined, JSON.stringify(key))
})

t.test('a key that is longer than any spelling of a name cannot be one', async t => {
  t.ok(names.mayHave('\\u006d'.length * 'stream'.length))
  t.notOk(names.mayHave(100))
})
