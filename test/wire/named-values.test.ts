import t from 'tap'
import { NamedValues } from '../../src/wire/named-values.js'
import { fc } from '../helpers/property.js'
import { cut, places } from './cuts.js'

const PATHS = [['session', 'model'], ['model']]

/** The values that are found, regardless of the cuts; the first one that is not allowed is the last. */
function find(text: string, cuts: readonly number[] = [], bad?: string): { found: string[]; passed: boolean } {
  const found: string[] = []
  const reader = new NamedValues(PATHS, value => {
    found.push(value)
    return value !== bad
  })
  reader.begin()
  for (const piece of cut(Buffer.from(text), cuts)) {
    if (!reader.push(piece, 0, piece.length)) return { found, passed: false }
  }
  return { found, passed: true }
}

t.test('values are found at their places, and nowhere else', async t => {
  const cases: [string, string[]][] = [
    ['{"type":"session.update","session":{"model":"a"}}', ['a']],
    ['{"session":{"audio":{"model":"no"},"model":"a"},"x":1}', ['a']],
    ['{"session":{"model":"a","model":"b"},"model":"c"}', ['a', 'b', 'c']],
    ['{"session":{"model":{"model":"no"}}}', []],
    ['{"x":{"session":{"model":"no"}},"y":[{"model":"no"},["no"]]}', []],
    ['{"session":[{"model":"a"},{"x":["no"]},[[{"model":"b"}]]],"model":"c"}', ['a', 'b', 'c']],
    ['[{"session":{"model":"a"}},"no",[{"model":"b"}],{"x":1}] {"model":"c"}', ['a', 'b', 'c']],
    ['{"model":["a",["b",1,{"no":"no"},"c"]],"session":["no",{"model":["d"]}]}', ['a', 'b', 'c', 'd']],
    ['{"session":"model","x":["model","no"],"y":"\\"model\\":\\"no\\""}', []],
    ['{"\\u0073ession":{"mod\\u0065l":"\\u0061"}}', ['a']],
    ['{"SESSION":{"Model":"a"}}', ['a']],
    ['{ "ſession" : { "model" : "a" } }', ['a']],
    ['{"n":NaN,"session":{"model":"a"}} trailing', ['a']],
    ['{"session":{"x":"\\\\","model":"a"}}', ['a']],
    ['{"session":{"x":"\\\\\\"","model":"a\\"b"}}', ['a"b']],
    [`{"x":"${'y'.repeat(200)}\\\\\\"${'z'.repeat(100)}","model":"a"}`, ['a']],
    ['not json at all: model "a"', []],
  ]
  for (const [text, expected] of cases) {
    t.same(find(text).found, expected, text)
    const all = Array.from({ length: Buffer.byteLength(text) }, (_, at) => at)
    t.same(find(text, all).found, expected, `byte by byte: ${text}`)
  }
})

t.test('a value that is not allowed stops it at once, and so does one that is too long', async t => {
  t.same(find('{"model":"bad","session":{"model":"x"}}', [], 'bad'), { found: ['bad'], passed: false })
  const long = `{"model":"${'x'.repeat(5000)}"}`
  t.equal(find(long).passed, false)
  t.equal(find(long, [100, 1000, 2000, 3000, 4000]).passed, false)
})

t.test('whatever the document and the cuts, the values are those that JSON.parse finds', async () => {
  const tree = fc.letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('a', 'b', 'model', 'session', 'x"y\\', '\u2028é', 1, null, true),
      fc.dictionary(fc.constantFrom('session', 'model', 'audio', 'x'), tie('value'), { maxKeys: 4 }),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  })).value
  fc.assert(
    fc.property(tree, places, fc.boolean(), (value, cuts, spaced) => {
      const text = JSON.stringify(value, undefined, spaced ? 2 : undefined) ?? 'null'
      return JSON.stringify(find(text, cuts).found) === JSON.stringify(expected(value))
    }),
    { numRuns: 1000 },
  )
})

/** In the order of the text; a list is as good as what it is instead of. */
function expected(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(expected)
  return membersOf(value).flatMap(([name, member]) => {
    if (name === 'model') return strings(member)
    return name === 'session' ? elements(member).flatMap(inSession) : []
  })
}

function inSession(session: unknown): string[] {
  return membersOf(session).flatMap(([name, member]) => (name === 'model' ? strings(member) : []))
}

function membersOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
}

function elements(value: unknown): unknown[] {
  return Array.isArray(value) ? value.flatMap(elements) : [value]
}

function strings(value: unknown): string[] {
  return elements(value).filter(one => typeof one === 'string')
}
