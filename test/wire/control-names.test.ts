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

t.test('another key is not one', async t => {
  for (const key of ['', 'mode', 'models', 'xmodel', 'input', '\\\\model', 'modell\\u0000', '模型'])
    t.equal(find(key), undefined, JSON.stringify(key))
})

/** What some parser takes for a name, by the folding that it applies. */
const FOLDED: Readonly<Record<string, readonly string[]>> = {
  'simple folding': ['\u017fTREAM', 'ST\\u0052EAM', '\\u017ftream'],
  'full folding': ['\ufb06ream', '\ufb05REAM', '\\ufb06ream'],
  'compatibility (NFKC)': [
    '\uff53\uff54\uff52\uff45\uff41\uff4d',
    '\u24c2odel',
    '\u{1d5ba}.b',
    '\u217fodel',
    'mode\u02e1',
  ],
  'characters that are ignored': [
    'mo\u200bdel',
    'mo\u00addel',
    '\ufeffmodel',
    'mod\u{e0001}el',
    'model\ufe0f',
    '\\u0000model',
  ],
  'dashes and underscores': ['_model', 'mod-el', 'STREAM_', 's_t-r_e-a_m'],
  'halves of surrogate pairs': ['mod\\ud800el', 'model\\udfff'],
  'bytes that are not UTF-8': ['mod\ufffdel'],
  'an end at NUL': ['model\\u0000 and more', 'Model\\u0000'],
}

for (const [folding, keys] of Object.entries(FOLDED)) {
  t.test(`a name is told apart though it needs ${folding}`, async t => {
    for (const key of keys) {
      const found = find(key) as { name: string; exact: boolean } | undefined
      t.ok(found && !found.exact, JSON.stringify(key))
    }
  })
}

t.test('simple lower case has U+0130 for i', async t => {
  t.same(new ControlNames(['input']).keyOf('\u0130nput'), { name: 'input', exact: false })
})

t.test('a key of more than 1 KiB is not one', async t => {
  t.ok(names.mayHave('\\u006d'.length * 'stream'.length))
  t.notOk(names.mayHave(1025))
})
