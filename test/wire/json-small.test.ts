import t from 'tap'
import { JsonScanner } from '../../src/wire/json-scan.js'
import { parseSmall } from '../../src/wire/json-small.js'
import { fc } from '../helpers/property.js'

const WATCHED = { bare: [Buffer.from('file_id')], quoted: ['"file_id"'] }
const OPTIONS = { control: ['model', 'stream'], depth: 8, members: 20, watched: WATCHED }

function scan(text: string): { problem: unknown; model: unknown; stream: unknown } {
  const scanner = new JsonScanner(OPTIONS)
  scanner.push(Buffer.from(text))
  const problem = scanner.end()
  return { problem, model: scanner.found('model')?.value, stream: scanner.found('stream')?.value }
}

t.test('what it takes, the scanner takes too, and reads the same control values', async t => {
  const names = fc.constantFrom(
    'model',
    'stream',
    'Model',
    'STREAM',
    '\u017ftream',
    'messages',
    'a',
    '__proto__',
    'mod\\u0065l',
    '\ufb06ream',
    'mod_el',
    '\uff4dODEL',
  )
  const values = fc.oneof(fc.constantFrom('"m"', '"n"', 'true', 'false', 'null', '1', '"model"', '{"model":1}', '[]'))
  const deep = fc.nat({ max: 12 }).map(depth => '['.repeat(depth) + ']'.repeat(depth))
  const member = fc.tuple(names, fc.oneof(values, deep)).map(([name, value]) => `"${name}":${value}`)
  const documents = fc.array(member, { maxLength: 24 }).map(members => `{${members.join(',')}}`)
  const mutated = fc.tuple(documents, fc.nat(), fc.constantFrom('', '"', '{', '\\', 'é')).map(([text, at, put]) => {
    const place = at % (text.length + 1)
    return text.slice(0, place) + put + text.slice(place)
  })
  let taken = 0
  fc.assert(
    fc.property(fc.oneof(documents, mutated), text => {
      const document = parseSmall(Buffer.from(text), OPTIONS)?.document
      if (document === undefined) return true
      taken++
      const { problem, model, stream } = scan(text)
      const scalar = (value: unknown): unknown => (typeof value === 'object' && value !== null ? undefined : value)
      return problem === undefined && scalar(document.model) === model && scalar(document.stream) === stream
    }),
    { numRuns: 5000 },
  )
  t.ok(taken > 100, `${taken} documents were taken`)
})

t.test('a plain small request is taken', async t => {
  t.strictSame(parseSmall(Buffer.from('{"model":"m","n":1}'), OPTIONS)?.document, { model: 'm', n: 1 })
})

for (const [what, text] of Object.entries({
  'a control name that occurs twice': '{"model":"m","model":"n"}',
  'a control name in another case': '{"Model":"m"}',
  'an escape that could hide a control name': '{"mod\\u0065l":"m"}',
  'a control name in a letter that some parsers fold': '{"\u017ftream":true}',
  'a control name in a letter that stands for two': '{"\ufb06ream":true}',
  'a control name in wide letters': '{"\uff4dodel":"m"}',
  'a control name with a dash': '{"mod-el":"m"}',
  'a control name with a character that is not seen': '{"mo\u200bdel":"m"}',
  'too many levels': `{"model":"m","x":${'['.repeat(9)}${']'.repeat(9)}}`,
  'too many levels in a member that a later one replaces': `{"x":${'['.repeat(9)}${']'.repeat(9)},"x":0}`,
  'too many members': `{${Array.from({ length: 21 }, (_, i) => `"k${i}":1`).join(',')}}`,
  'a list': '[1]',
  'half an object': '{"model":"m"',
  'a large body': `{"model":"m","x":"${'x'.repeat(5000)}"}`,
  'a watched key': '{"model":"m","x":[{"file_id":"f"}]}',
  'a watched key that a later member of its name replaces': '{"model":"m","x":{"file_id":"f"},"x":{}}',
})) {
  t.test(`${what} is left to the scanner`, async t => {
    t.equal(parseSmall(Buffer.from(text), OPTIONS), undefined)
  })
}
