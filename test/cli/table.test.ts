import t from 'tap'
import { table } from '../../src/cli/table.js'

const plain = (text: string): string => text

t.test('columns line up, headings are in capitals, lines carry no trailing spaces', async t => {
  const rows = [
    ['a', 'long cell', ''],
    ['long name', 'b', 'c'],
  ]
  t.equal(
    table({ head: ['name', 'value', 'more'], rows, paint: plain }),
    ['NAME       VALUE      MORE', 'a          long cell', 'long name  b          c'].join('\n'),
  )
})

t.test('wide characters take two columns', async t => {
  const rows = [
    ['模型', 'x'],
    ['abcd', 'y'],
  ]
  t.equal(table({ head: ['m', 'n'], rows, paint: plain }), ['M     N', '模型  x', 'abcd  y'].join('\n'))
})

t.test('rows beyond the most are counted', async t => {
  const rows = Array.from({ length: 5 }, (_, index) => [String(index)])
  t.equal(table({ head: ['n'], rows, paint: plain, maxRows: 2 }), ['N', '0', '1', '… and 3 more'].join('\n'))
})

t.test('nothing in a cell steers the terminal', async t => {
  const text = table({ head: ['n'], rows: [['\u001b[31mred\nline\u202e']], paint: plain })
  t.equal(text, 'N\n\ufffd[31mred\ufffdline\ufffd')
})
