import { deepStrictEqual } from 'node:assert/strict'
import t from 'tap'
import { JsonScanner, type ScanOptions } from '../../src/wire/json-scan.js'
import { fc } from '../helpers/property.js'
import { cut, cutEverywhere, places } from './cuts.js'
import { MALFORMED, OBJECTS, OTHER_VALUES } from './json-cases.js'
import { documents, mutants, parseObject } from './json-documents.js'

type Found = NonNullable<ReturnType<JsonScanner['found']>>
type ScanProblem = NonNullable<ReturnType<JsonScanner['end']>>

const ANY: ScanOptions = { control: [], depth: 64, members: 10_000 }
const CONTROL: ScanOptions = { ...ANY, control: ['model', 'stream'] }

interface Outcome {
  readonly problem: ScanProblem | undefined
  readonly model: Found | undefined
  readonly stream: Found | undefined
  readonly skeleton: string | undefined
}

function scan(chunks: readonly Uint8Array[], options: ScanOptions = CONTROL): Outcome {
  const scanner = new JsonScanner(options)
  for (const chunk of chunks) scanner.push(chunk)
  const problem = scanner.end()
  return {
    problem,
    model: scanner.found('model'),
    stream: scanner.found('stream'),
    skeleton: problem === undefined ? scanner.skeleton() : undefined,
  }
}

function problemOf(text: string, options: ScanOptions = CONTROL): ScanProblem | undefined {
  return scan([Buffer.from(text)], options).problem
}

t.afterEach(() => {
  t.notOk('polluted' in {}, 'no prototype has changed')
})

t.test('every JSON object is accepted', async t => {
  for (const text of OBJECTS) {
    t.ok(parseObject(text), `${name(text)} is one`)
    t.equal(problemOf(text, ANY), undefined, name(text))
  }
})

t.test('JSON that is not an object is refused as such', async t => {
  for (const text of OTHER_VALUES) {
    JSON.parse(text)
    t.match(problemOf(text), { rule: 'not-object', at: text.search(/\S/) }, name(text))
  }
})

t.test('what is not JSON is refused', async t => {
  for (const text of MALFORMED) {
    t.throws(() => JSON.parse(text), SyntaxError, `${name(text)} is not JSON`)
    t.match(problemOf(text), { rule: /syntax|not-object/ }, name(text))
  }
})

t.test('a syntax problem is where the text stops to be JSON', async t => {
  const cases: [string, number][] = [
    ['', 0],
    ['  ', 2],
    ['{"a":01}', 6],
    ['{"a":1,}', 7],
    ['{"a":tru}', 8],
    ['{"a":"\\x"}', 7],
    ['{"é":1]', 7],
    ['{} x', 3],
    ['{"a":1', 6],
    ['\uFEFF{}', 0],
  ]
  for (const [text, at] of cases) t.same(problemOf(text), { rule: 'syntax', at }, name(text))
})

t.test('every case has one outcome, cut after every byte or not', async t => {
  for (const text of [...OBJECTS, ...OTHER_VALUES, ...MALFORMED]) {
    const bytes = Buffer.from(text)
    t.same(scan(cutEverywhere(bytes)), scan([bytes]), name(text))
  }
})

t.test('any cut of any document has the same outcome', async () => {
  fc.assert(
    fc.property(fc.oneof(documents, mutants), places, (text, at) => {
      const bytes = Buffer.from(text)
      const whole = scan([bytes])
      deepStrictEqual(scan(cut(bytes, at)), whole)
      deepStrictEqual(scan(cutEverywhere(bytes)), whole)
    }),
  )
})

t.test('what is accepted is what JSON.parse accepts', async () => {
  fc.assert(
    fc.property(
      fc.oneof(documents, mutants),
      text => (problemOf(text, ANY) === undefined) === (parseObject(text) !== undefined),
    ),
    { numRuns: 2000 },
  )
})

t.test('random bytes are accepted where JSON.parse accepts them', async () => {
  const bytes = fc.array(fc.constantFrom(...Buffer.from('{}[]",:\\u0e1-.+ntrf\n ')), { maxLength: 12 })
  fc.assert(
    fc.property(bytes, inner => {
      const text = `{"a":${Buffer.from(inner)}}`
      return (problemOf(text, ANY) === undefined) === (parseObject(text) !== undefined)
    }),
    { numRuns: 3000 },
  )
})

t.test('control characters are found in strings of any length, at any place', async t => {
  for (const size of [1, 20, 63, 64, 65, 127, 128, 129, 143, 144, 145, 1023, 1024, 1025, 5000, 70_000]) {
    for (const control of ['\n', '\u0000', '\u001f']) {
      const text = `{"a":"${'x'.repeat(size)}${control}${'x'.repeat(100)}"}`
      const [bytes, problem] = [Buffer.from(text), { rule: 'syntax', at: 6 + size }]
      t.same(scan([bytes]).problem, problem, `behind ${size}`)
      t.same(scan([bytes.subarray(0, 9), bytes.subarray(9)]).problem, problem, `behind ${size}, cut`)
    }
  }
  t.match(problemOf(`{"model":"${'x'.repeat(2000)}\n"}`), { rule: 'syntax' }, 'in control values')
  t.match(problemOf(`{"${'x'.repeat(2000)}\n":1}`), { rule: 'syntax' }, 'in keys')
  t.equal(problemOf(`{"a":"${'x'.repeat(2000)} \u007f\u0080é${'x'.repeat(2000)}"}`), undefined, 'and others are none')
})

t.test('bytes that are not UTF-8 pass', async t => {
  const bytes = Buffer.from('7b2261223a22ff80c322 7d'.replace(' ', ''), 'hex')
  t.equal(scan([bytes]).problem, undefined)
})

t.test('control values are found, with their places', async t => {
  const text = '{ "stream" : true,"messages":[{"model":"no"}], "model": "gpt\\u002dé" }'
  const { model, stream } = scan([Buffer.from(text)])
  t.same(stream, { value: true, start: 13, end: 17 })
  t.equal(model?.value, 'gpt-é')
  t.equal(Buffer.from(text).subarray(model?.start, model?.end).toString(), '"gpt\\u002dé"')
})

t.test('a control value of every type is found', async t => {
  const cases: [string, Found['value']][] = [
    ['"a"', 'a'],
    ['""', ''],
    ['"\\ud800"', '\ud800'],
    ['true', true],
    ['false', false],
    ['null', null],
    ['-1.5e3', -1500],
    ['{"model":[1]}', undefined],
    ['[{"model":"x"},[]]', undefined],
  ]
  for (const [value, expected] of cases) {
    const bytes = Buffer.from(`{"x":[1],"model": ${value} ,"y":{}}`)
    for (const chunks of [[bytes], cutEverywhere(bytes)]) {
      t.same(scan(chunks).model, { value: expected, start: 18, end: 18 + value.length }, value)
    }
  }
})

t.test('a control value over 64 KiB is found, but not decoded', async t => {
  for (const value of [`"${'x'.repeat(70_000)}"`, '9'.repeat(70_000)]) {
    const { model } = scan([Buffer.from(`{"model":${value}}`)])
    t.same(model, { value: undefined, start: 9, end: 9 + value.length })
  }
})

t.test('a control value is known before the document ends', async t => {
  const scanner = new JsonScanner(CONTROL)
  scanner.push(Buffer.from('{"model":"a","messages":['))
  t.equal(scanner.found('model')?.value, 'a')
  t.equal(scanner.found('stream'), undefined)
})

t.test('found values are those of JSON.parse', async () => {
  fc.assert(
    fc.property(documents, text => {
      const bytes = Buffer.from(text)
      const { problem, model } = scan([bytes])
      fc.pre(problem === undefined && model !== undefined)
      const value = parseObject(text)?.model
      deepStrictEqual(JSON.parse(bytes.toString('utf8', model?.start, model?.end)), value)
      if (typeof value !== 'object' || value === null) deepStrictEqual(model?.value, value)
    }),
  )
})

t.test('F-C11 a control name that occurs twice is refused', async t => {
  t.same(problemOf('{"model":"a","model":"a"}'), { rule: 'duplicate', at: 13, name: 'model' })
  t.same(problemOf('{"model":{},"x":1,"stream":1,"stream":2}'), { rule: 'duplicate', at: 29, name: 'stream' })
  t.equal(problemOf('{"x":1,"x":2,"messages":[{"model":1,"model":2}]}'), undefined, 'other names may')
})

t.test('F-C11 a key that some parser takes for a control name is refused', async t => {
  for (const key of ['Model', 'MODEL', 'mOdel', '\\u004dodel', 'ſtream', '\\u017ftream', 'STREAM', 'ﬆream']) {
    const wanted = key.toLowerCase().includes('odel') ? 'model' : 'stream'
    t.same(problemOf(`{"a":1,"${key}":1}`), { rule: 'variant', at: 7, name: wanted }, key)
    t.same(scan(cutEverywhere(Buffer.from(`{"a":1,"${key}":1}`))).problem, { rule: 'variant', at: 7, name: wanted })
  }
  t.match(problemOf('{"token":1,"toKen":1}', { ...ANY, control: ['token'] }), { name: 'token' }, 'Kelvin sign')
  for (const key of ['models', 'mode', 'model ', 'strea', 'ströam', 'm', '', 'modeł']) {
    t.equal(problemOf(`{"${key}":1}`), undefined, key)
  }
})

t.test('F-C11 an escaped control name is that name', async t => {
  const escaped = '{"mod\\u0065l":"a"}'
  t.equal(scan([Buffer.from(escaped)]).model?.value, 'a')
  t.same(problemOf('{"model":1,"\\u006d\\u006f\\u0064\\u0065\\u006c":2}'), { rule: 'duplicate', at: 11, name: 'model' })
})

t.test('F-C11 nesting is bounded, and a million levels are not dangers', async t => {
  const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
  t.equal(problemOf(nested(64)), undefined)
  t.same(problemOf(nested(65)), { rule: 'depth', at: 68 })
  t.match(problemOf(`{"a":${'['.repeat(1e6)}`), { rule: 'depth', at: 68 })
  t.match(problemOf('{"a":'.repeat(1e6)), { rule: 'depth', at: 320 })
  const deep = nested(1e6)
  t.equal(problemOf(deep, { ...ANY, depth: 1e6 }), undefined, 'even where so many are allowed')
})

t.test('F-C11 the members of one object are bounded, those of all are not', async t => {
  const wide = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"${i}":{"x":0}`).join(',')}}`
  t.equal(problemOf(wide(100), { ...ANY, members: 100 }), undefined)
  t.match(problemOf(wide(101), { ...ANY, members: 100 }), { rule: 'members' })
  t.match(problemOf(`{"a":[${wide(3)}]}`, { ...ANY, members: 2 }), { rule: 'members' })
  t.equal(problemOf(`{"a":[${'0,'.repeat(500)}0]}`, { ...ANY, members: 2 }), undefined, 'nor are elements')
})

t.test('F-C11 a huge number is text like any other', async t => {
  t.equal(problemOf(`{"a":${'9'.repeat(1e6)}}`), undefined)
  t.equal(problemOf(`{"a":1e${'9'.repeat(1e6)}}`), undefined)
})

t.test('the first problem is reported, with anything after it', async t => {
  const scanner = new JsonScanner(CONTROL)
  scanner.push(Buffer.from('{"model":1,"model":2'))
  scanner.push(Buffer.from('}}}}'))
  t.same(scanner.end(), { rule: 'duplicate', at: 11, name: 'model' })
})

t.test('a watched key is seen at any depth, cut anywhere, and where an escape could hide it', async t => {
  const options = { ...ANY, watched: { bare: [Buffer.from('file_id'), Buffer.from('id')], quoted: [] } }
  const sees = (text: string): boolean => {
    const seen = [[Buffer.from(text)], cutEverywhere(Buffer.from(text))].map(chunks => {
      const scanner = new JsonScanner(options)
      for (const chunk of chunks) scanner.push(chunk)
      t.equal(scanner.end(), undefined)
      return scanner.seen
    })
    t.equal(seen[0], seen[1])
    return seen[0] === true
  }
  t.ok(sees('{"file_id":1}'))
  t.ok(sees('{"a":[{"b":{"id":1}}]}'))
  t.ok(sees('{"a":{"fil\\u0065_id":1}}'))
  t.notOk(sees('{"a":"file_id","b":["id","fil\\u0065_id"],"file_ids":{"FILE_ID":1}}'), 'values and other keys are not')
  t.notOk(sees('{}'))
})

/** A text as the name of an assertion: printable ASCII only. */
function name(text: string): string {
  const shown = JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}...` : text)
  return shown.replace(/[^ -~]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
