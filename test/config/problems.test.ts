import { join } from 'node:path'
import t from 'tap'
import { formatProblems, shownFile } from '../../src/config/problems.js'
import type { Problem } from '../../src/core/problems.js'

function problem(changes: Partial<Problem> & { readonly column?: number } = {}): Problem {
  const { column = 5, ...rest } = changes
  const position = { file: '/etc/gateway.yaml', line: 12, column }
  return {
    severity: 'error',
    rule: 'unknown-key',
    path: 'upstreams.north.bsae',
    message: 'unknown key "bsae"',
    position,
    length: 4,
    ...rest,
  }
}

/** The column of the first caret, as a terminal draws it, and the carets. */
function caretOf(text: string): { readonly before: string; readonly carets: string } {
  const line = text.split('\n').find(candidate => candidate.includes('^')) ?? ''
  const after = line.slice(line.indexOf('| ') + 2)
  return { before: after.slice(0, after.indexOf('^')), carets: after.slice(after.indexOf('^')) }
}

t.test('a problem tells its place, path and message, the line with a caret, and what was probably meant', async t => {
  const text = formatProblems([problem({ excerpt: '    bsae: https://north.example', suggestion: 'base' })], {
    color: false,
  })
  t.equal(
    text,
    [
      '/etc/gateway.yaml:12:5  upstreams.north.bsae  unknown key "bsae"',
      '  12 |     bsae: https://north.example',
      '     |     ^^^^',
      '       did you mean "base"?',
      '',
    ].join('\n'),
  )
})

t.test('a blank line separates problems, and none gives nothing', async t => {
  t.match(formatProblems([problem(), problem()], { color: false }), /"bsae"\n\n\/etc/)
  t.equal(formatProblems([], { color: false }), '')
})

t.test('a warning says that it is one', async t => {
  t.match(formatProblems([problem({ severity: 'warning' })], { color: false }), 'warning: unknown key')
})

t.test('a problem of a whole file has no path', async t => {
  t.match(
    formatProblems([problem({ path: '', message: 'too large' })], { color: false }),
    /^\/etc\/gateway\.yaml:12:5 {2}too large\n$/,
  )
})

t.test('a line that is not to be shown leaves no line number either', async t => {
  t.notMatch(formatProblems([problem()], { color: false }), '|')
})

t.test('colours come only where they are asked for', async t => {
  const excerpt = '    bsae: x'
  t.notMatch(formatProblems([problem({ excerpt })], { color: false }), '\u001b')
  const coloured = formatProblems([problem({ excerpt })], { color: true })
  t.match(coloured, '\u001b[1m/etc/gateway.yaml:12:5\u001b[0m')
  t.match(coloured, '\u001b[31munknown key')
  t.match(formatProblems([problem({ severity: 'warning', excerpt })], { color: true }), '\u001b[33mwarning')
})

t.test('tabs before the fault stay tabs below it, so that the caret is right at any tab width', async t => {
  t.same(caretOf(formatProblems([problem({ excerpt: '\ta:\tbsae', column: 5 })], { color: false })), {
    before: '\t  \t',
    carets: '^^^^',
  })
})

t.test('characters that a terminal draws wide take two columns, combining ones none', async t => {
  t.same(caretOf(formatProblems([problem({ excerpt: '模型: bsae', column: 5 })], { color: false })), {
    before: '      ',
    carets: '^^^^',
  })
  t.same(caretOf(formatProblems([problem({ excerpt: '🚀: bsae', column: 4 })], { color: false })), {
    before: '    ',
    carets: '^^^^',
  })
  t.same(caretOf(formatProblems([problem({ excerpt: 'e\u0301: bsae', column: 5 })], { color: false })), {
    before: '   ',
    carets: '^^^^',
  })
  t.same(caretOf(formatProblems([problem({ excerpt: 'a 名前', column: 3, length: 2 })], { color: false })), {
    before: '  ',
    carets: '^^^^',
  })
})

t.test('a file cannot steer the terminal of anyone who reads its problems', async t => {
  const text = formatProblems([problem({ excerpt: 'a\u001b[2Jb\u202ec', message: 'no \u0007', path: 'x\u009b' })], {
    color: false,
  })
  for (const mark of ['\u0007', '\u001b', '\u009b', '\u202e']) t.notMatch(text, mark)
})

t.test('files below the working directory are shown relative to it, others in full', async t => {
  t.equal(shownFile(join(process.cwd(), 'routes/a.yaml')), join('routes', 'a.yaml'))
  t.equal(shownFile('/etc/gateway.yaml'), '/etc/gateway.yaml')
  t.equal(shownFile(process.cwd()), process.cwd())
})

t.test('after two hundred problems the rest is counted', async t => {
  const text = formatProblems(
    Array.from({ length: 203 }, () => problem()),
    { color: false },
  )
  t.equal(text.match(/unknown key/g)?.length, 200)
  t.match(text, /\n… and 3 more\n$/)
})
