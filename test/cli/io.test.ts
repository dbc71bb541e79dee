import { PassThrough } from 'node:stream'
import t from 'tap'
import { coloured, paints } from '../../src/cli/io.js'

const terminal = Object.assign(new PassThrough(), { isTTY: true })
const pipe = new PassThrough()

t.test('colours go to a terminal only', async t => {
  t.equal(coloured(terminal, {}), true)
  t.equal(coloured(pipe, {}), false)
  t.equal(coloured(terminal, { TERM: 'dumb' }), false)
})

t.test('NO_COLOR disables colours, unless it is empty', async t => {
  t.equal(coloured(terminal, { NO_COLOR: '1' }), false)
  t.equal(coloured(terminal, { NO_COLOR: '' }), true)
})

t.test('FORCE_COLOR decides over the terminal and over NO_COLOR', async t => {
  t.equal(coloured(pipe, { FORCE_COLOR: '1' }), true)
  t.equal(coloured(pipe, { FORCE_COLOR: '1', NO_COLOR: '1' }), true)
  t.equal(coloured(terminal, { FORCE_COLOR: '0' }), false)
  t.equal(coloured(pipe, { FORCE_COLOR: '' }), false)
})

t.test('paint does nothing without colours', async t => {
  t.equal(paints(false).red('text'), 'text')
  t.equal(paints(true).red('text'), '\u001b[31mtext\u001b[39m')
})
