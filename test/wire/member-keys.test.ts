import t from 'tap'
import { type MemberRule, memberName } from '../../src/core/members.js'
import { findMembers } from '../../src/wire/find-members.js'
import { JsonScanner } from '../../src/wire/json-scan.js'
import { MemberKeys } from '../../src/wire/member-keys.js'
import { fc } from '../helpers/property.js'

const PATHS = ['models', 'api_base', 'tools.*.model', 'a.b.c', 'plugins.*.allowed_models']
const RULES: readonly MemberRule[] = PATHS.map(path => ({ path: path.split('.').map(memberName), action: 'model' }))
const KEYS = new MemberKeys(RULES)

/** A key in some way in which it may be written: other cases, signs between its letters, escapes. */
const spelled = (name: string): fc.Arbitrary<string> =>
  fc
    .array(fc.constantFrom('plain', 'upper', 'escaped', 'underscore', 'dash'), {
      minLength: name.length,
      maxLength: name.length,
    })
    .map(ways =>
      [...name]
        .map((letter, index) => {
          if (ways[index] === 'upper') return letter.toUpperCase()
          if (ways[index] === 'escaped') return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
          return ways[index] === 'underscore' ? `_${letter}` : ways[index] === 'dash' ? `${letter}-` : letter
        })
        .join(''),
    )

t.test('whatever the walk finds the scan has seen, cut anywhere', async () => {
  const names = ['models', 'apibase', 'tools', 'model', 'a', 'b', 'c', 'plugins', 'allowedmodels', 'x', 'messages']
  const key = fc.constantFrom(...names).chain(spelled)
  const { value } = fc.letrec<{ value: string }>(tie => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('"m"', '1', 'null', '[]'),
      fc.array(tie('value'), { maxLength: 3 }).map(items => `[${items.join(',')}]`),
      fc.array(fc.tuple(key, tie('value')), { maxLength: 3 }).map(objectOf),
    ),
  }))
  const object = fc.array(fc.tuple(key, value), { maxLength: 4 }).map(objectOf)
  fc.assert(
    fc.property(object, fc.nat(), (text, cut) => {
      const bytes = Buffer.from(text)
      const scanner = new JsonScanner({ control: [], depth: 64, members: 100, ruled: KEYS })
      const at = cut % (bytes.length + 1)
      scanner.push(bytes.subarray(0, at))
      scanner.push(bytes.subarray(at))
      return scanner.end() === undefined && (findMembers(bytes, RULES).names.length === 0 || scanner.ruled)
    }),
    { numRuns: 2000 },
  )
})

t.test('documents without such members are not walked through', async t => {
  for (const text of [
    '{"model":"m","messages":[{"models":1}],"tools":[{"function":{"name":"f"}}]}',
    '{"b":{"c":"x"}}',
  ]) {
    const scanner = new JsonScanner({ control: ['model'], depth: 64, members: 100, ruled: KEYS })
    scanner.push(Buffer.from(text))
    t.notOk(scanner.ruled, text)
  }
})

t.test('what is dropped goes with its comma, in every occurrence', async t => {
  const rules: readonly MemberRule[] = [
    { path: ['a'], action: 'drop' },
    { path: ['l', '*', 'x'], action: 'drop' },
  ]
  const doc = Buffer.from('{"a":1, "l":[{"x":1},{"y":2,"X":[3]}], "\\u0061":{}, "b":2}')
  const { removals, dropped } = findMembers(doc, rules)
  t.same(dropped, [['a'], ['l', 0, 'x'], ['l', 1, 'X'], ['a']])
  let text = doc.toString()
  for (const { start, end } of [...removals].sort((one, other) => other.start - one.start)) {
    text = text.slice(0, start) + text.slice(end)
  }
  t.equal(text, '{"l":[{},{"y":2}], "b":2}')
})

function objectOf(members: readonly (readonly [string, string])[]): string {
  return `{${members.map(([name, json]) => `"${name}":${json}`).join(',')}}`
}
