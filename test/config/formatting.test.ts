import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { formatYaml } from '../../src/config/formatting/format.js'
import { packageRoot } from '../../src/core/package-root.js'
import { fc } from '../helpers/property.js'

function formatted(text: string): string {
  const result = formatYaml('/x.yaml', text)
  if ('problems' in result) throw new Error(`${JSON.stringify(result.problems)}\n${text}`)
  return result.text
}

t.test('two spaces a level, lists inside their mapping, one space between words, one blank line', async t => {
  const text =
    "models:\n- a:    1   \n  # of b\n  b: {c: 1,d: [ x,y ]}   # why\n\n\n\nkeys:\n      k:   'text'   \n# the end\n"
  const wanted = 'models:\n  - a: 1\n    # of b\n    b: { c: 1, d: [x, y] } # why\n\nkeys:\n  k: "text"\n# the end\n'
  t.equal(formatted(text), wanted)
})

t.test('a comment keeps the indentation of its entry', async t => {
  const text = 'a:\n    # first\n    b: 1\n    # last of a\n# of c\nc: # of the value\n    - 1\n    # in c\n'
  t.equal(formatted(text), 'a:\n  # first\n  b: 1\n  # last of a\n# of c\nc: # of the value\n  - 1\n  # in c\n')
})

t.test('brackets are one line where they fit; lines that are meant stay', async t => {
  t.equal(formatted('a: [ 1,\n  2, ]\n'), 'a: [1, 2]\n')
  t.equal(formatted('a: [\n 1,\n    2 # two\n ]\n'), 'a: [\n    1,\n    2 # two\n  ]\n')
  t.equal(formatted('a: {  }\nb: [ ]\n'), 'a: {}\nb: []\n')
  const long = `a: [${'"a long name of a model",\n  '.repeat(8)}]\n`
  t.ok(formatted(long).split('\n').length > 8)
})

t.test('texts of several lines, anchors, tags and quotes keep what they say', async t => {
  const text =
    "a: |+\n     one\n       two\n\nb: >-\n    folded\n    text\nc: \"two\n        lines\"\nd: plain\n     words\ne: &x\n    f: 1\ng: *x\nh: 'it''s'\ni: !!str 5\nj: |2\n    deep\n"
  const result = formatted(text)
  t.strictSame(parse(result), parse(text))
  t.equal(formatted(result), result)
})

t.test('line ends of Windows become plain ones, and the last line ends', async t => {
  t.equal(formatted('a: 1\r\nb:\r\n    c: 2'), 'a: 1\nb:\n  c: 2\n')
})

t.test('broken YAML is reported with its place', async t => {
  const result = formatYaml('/x.yaml', 'a: [1\nb: 2\n')
  t.match(result, { problems: [{ rule: 'syntax', position: { file: '/x.yaml', line: 1, column: 4 } }] })
})

const scalar = fc.oneof(
  fc.constantFrom(
    '1',
    'true',
    'null',
    '~',
    'plain',
    'two words',
    '"a \\"b\\" # c"',
    "'single'",
    "'it''s'",
    '"*"',
    '0x1F',
    "''",
  ),
  fc.constantFrom('&anchor x', '!!str 5', '"*/v1: {x}"'),
)

interface Node {
  readonly lines: (indent: number) => readonly string[]
}

/** YAML as untidy people write it: any indentation, comments anywhere, blank lines, brackets over lines. */
const { node } = fc.letrec<{ node: Node; flow: string }>(tie => ({
  flow: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    scalar.map(text => text.replace(/^&anchor /, '')),
    fc.array(tie('flow'), { maxLength: 3 }).map(items => `[ ${items.join('  ,')}]`),
    fc
      .tuple(fc.array(tie('flow'), { maxLength: 3 }), fc.constantFrom(' ', '\n                  '))
      .map(([items, gap]) => `{${gap}${items.map((item, at) => `k${at}:   ${item}`).join(`,${gap}`)}${gap}}`),
  ),
  node: fc.oneof(
    { maxDepth: 4 },
    fc.tuple(scalar, fc.constantFrom('', '   # note')).map(([text, note]) => inline(text + note)),
    tie('flow').map(inline),
    fc.constantFrom('|', '>-', '|+').map(head => ({
      lines: (indent: number) => [head, `${' '.repeat(indent + 3)}some`, '', `${' '.repeat(indent + 5)}# text`],
    })),
    fc
      .record({ step: fc.integer({ min: 1, max: 6 }), items: entries(tie('node')), isList: fc.boolean() })
      .map(collection),
  ),
}))

function entries(inner: fc.Arbitrary<Node>) {
  const before = fc.constantFrom('none' as const, 'comment' as const, 'blank' as const, 'outer' as const)
  return fc.array(fc.record({ inner, before, gap: fc.integer({ min: 1, max: 4 }) }), { minLength: 1, maxLength: 4 })
}

function inline(text: string): Node {
  return { lines: () => [text] }
}

type Entry = { inner: Node; before: 'none' | 'comment' | 'blank' | 'outer'; gap: number }

function collection({ step, items, isList }: { step: number; items: readonly Entry[]; isList: boolean }): Node {
  return {
    lines: indent => {
      const at = indent + step
      const pad = ' '.repeat(at)
      const body = items.flatMap(({ inner, before, gap }, index) => {
        const above = {
          none: [],
          comment: [`${pad}# c${index}`],
          blank: ['', '', ''],
          outer: [`${' '.repeat(indent)}#o`],
        }
        const [first = '', ...rest] = inner.lines(at)
        const mark = isList ? '-' : `key${index}:`
        return [...above[before], first === '' ? pad + mark : pad + mark + ' '.repeat(gap) + first, ...rest]
      })
      return ['', ...body]
    },
  }
}

t.test('property: the value and the comments stay, and a second run changes nothing', async t => {
  let count = 0
  fc.assert(
    fc.property(fc.array(node, { minLength: 1, maxLength: 4 }), nodes => {
      const text = nodes.map((one, at) => `top${at}: ${one.lines(0).join('\n')}\n`).join('')
      const result = formatYaml('/x.yaml', text)
      if ('problems' in result && result.problems.some(({ rule }) => rule !== 'unformattable')) return
      const once = formatted(text)
      t.strictSame(parse(once, { logLevel: 'error' }), parse(text, { logLevel: 'error' }))
      count++
      if (formatted(once) !== once) throw new Error(`not stable:\n${once}\n${formatted(once)}`)
    }),
    { numRuns: 400 },
  )
  t.ok(count > 300, `${count} files`)
})

t.test('the shipped files are in that style', async t => {
  const root = packageRoot()
  const routes = readdirSync(join(root, 'routes'), { recursive: true, encoding: 'utf8' })
  for (const name of [
    'gateway.yaml',
    ...routes.filter(name => name.endsWith('.yaml')).map(name => join('routes', name)),
  ]) {
    const text = readFileSync(join(root, name), 'utf8')
    t.equal(formatted(text), text, name)
  }
})
