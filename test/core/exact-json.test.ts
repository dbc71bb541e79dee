import t from 'tap'
import { jsonText, parseExact, readExact } from '../../src/core/exact-json.js'
import { ExactNumber, isObject, type Json } from '../../src/core/json.js'

const KEPT = ['1234567890123456789', '-0', '0.0', '1.10', '1e400', '-1E+5', '1e2', '0.1000000000000000055', '0.0000001']
const PLAIN = ['0', '-1', '12', '1.5', '9007199254740991', '0.000001', '1e+21', '123456789012345']

t.test('numbers that a double would not give back keep their digits, anywhere in a document', async t => {
  for (const number of KEPT)
    for (const text of [
      number,
      `[${number}]`,
      `{"a":${number}}`,
      `{"a":[1,${number},{"b":${number}}],"c":"${number}"}`,
      `{"${number}":${number},"x":"${'x'.repeat(5000)}\\\\","y":${number}}`,
    ]) {
      t.equal(jsonText(parseExact(text)), text, text.slice(0, 60))
      t.same(JSON.parse(JSON.stringify(parseExact(text))), JSON.parse(JSON.stringify(JSON.parse(text))))
    }
  t.equal(jsonText(parseExact('{ "a" :\n[ 1.0 , -0 ] }')), '{"a":[1.0,-0]}')
})

t.test('other numbers, and texts that look like one, stay what they are', async t => {
  for (const number of PLAIN) t.equal(parseExact(`[${number}]`)?.toString(), String(Number(number)), number)
  const text = '{"a":"1.10","b":": 1.10,","c":"\\"[1.10]\\\\","1.10":[": -0]"]}'
  t.same(parseExact(text), JSON.parse(text))
  t.equal(jsonText(parseExact(text)), text)
})

t.test('an exact number is not an object, and has a value', async t => {
  const number = parseExact('1.10')
  t.ok(number instanceof ExactNumber)
  t.notOk(isObject(number))
  t.equal(number instanceof ExactNumber && number.value, 1.1)
})

t.test('what is not JSON is not JSON', async t => {
  for (const text of [
    '{1.10:2}',
    '{-0 : 1}',
    '[1.10 2]',
    '[01.10]',
    '[1.]',
    '[.10]',
    '[1.10',
    '-',
    '[1e]',
    '["a"1.10]',
    '[1.10"a"]',
    '[+1.10]',
    '',
  ]) {
    t.throws(() => parseExact(text), SyntaxError, text)
    t.equal(readExact(text), undefined)
  }
})

t.test('a document of any depth', async t => {
  const text = `${'['.repeat(100_000)}1.10${']'.repeat(100_000)}`
  let at: Json | undefined = parseExact(text)
  while (Array.isArray(at)) at = (at as readonly Json[])[0]
  t.equal(at instanceof ExactNumber && at.text, '1.10')
})

t.test('so many numbers of a document keep their digits; the others are doubles', async t => {
  const numbers = (parseExact(`[${'1.10,'.repeat(65_536)}1.10]`) as readonly Json[]).map(
    one => one instanceof ExactNumber,
  )
  t.equal(numbers.filter(Boolean).length, 65_536)
  t.equal(numbers.at(-1), false)
})

t.test('members that share a name with a prototype’s', async t => {
  const text = '{"__proto__":1.10,"constructor":{"__proto__":[-0]}}'
  t.equal(jsonText(parseExact(text)), text)
})
