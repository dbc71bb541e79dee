import { deepEqual } from 'node:assert/strict'
import t from 'tap'
import { stringsAt } from '../../src/wire/find-members.js'
import { parsePath } from '../../src/wire/json-path.js'
import { fc } from '../helpers/property.js'

function found(json: string, path: string): readonly string[] {
  const texts: string[] = []
  stringsAt(Buffer.from(json), parsePath(path), text => texts.push(text))
  return texts
}

t.test('a string at a path, and every string of an array there', async t => {
  t.same(found('{"a":{"b":"x"}}', 'a.b'), ['x'])
  t.same(found('{"a":{"b":["x",1,"y",null]}}', 'a.b'), ['x', 'y'])
  t.same(found('{"a":{"b":7},"c":"no"}', 'a.b'), [])
  t.same(found('{"a":"b"}', 'a.b'), [])
})

t.test('a star is every element of an array and every member of an object', async t => {
  t.same(found('{"m":[{"c":[{"f":"1"},{"g":{"f":"no"}}]},{"c":"no"},{"c":[{"f":"2"}]}]}', 'm.*.c.*.f'), ['1', '2'])
  t.same(found('{"v":{"one":{"f":"1"},"two":{"f":"2"}}}', 'v.*.f'), ['1', '2'])
})

t.test('names that occur twice show all their values, at every depth', async t => {
  t.same(found('{"a":{"b":"1"},"a":{"b":"2","b":"3"}}', 'a.b'), ['1', '2', '3'])
})

t.test('escapes in names and texts are read', async t => {
  t.same(found('{"\\u0061":"\\u0078"}', 'a'), ['x'])
})

t.test('what is not JSON object is refused', async t => {
  for (const json of ['', '[]', '"a"', '{"a"', '{"a":1}x']) t.throws(() => found(json, 'a'), SyntaxError)
})

t.test('strings that are long, inside of what has been passed over', async () => {
  const texts = fc.array(fc.string({ maxLength: 400 }), { maxLength: 6 })
  fc.assert(
    fc.property(
      fc.array(fc.record({ before: texts, a: fc.record({ b: texts, c: fc.string({ maxLength: 400 }) }) })),
      list => {
        const found: string[] = []
        stringsAt(Buffer.from(JSON.stringify({ list })), ['list', '*', 'a', 'b'], text => found.push(text))
        deepEqual(
          found,
          list.flatMap(({ a }) => a.b),
        )
      },
    ),
    { numRuns: 500 },
  )
})
