import t from 'tap'
import type { VerbConfig } from '../../src/core/config.js'
import { compileVerbs } from '../../src/plan/verbs.js'

function apply(verbs: readonly VerbConfig[], document: string): string {
  const transform = compileVerbs(verbs)
  if (transform === undefined) throw new Error('no transform')
  return Buffer.from(transform(Buffer.from(document))).toString()
}

const CASES: readonly (readonly [verbs: readonly VerbConfig[], before: string, after: string])[] = [
  [[{ set: { a: 1 } }], '{"a":0,"b":2}', '{"a":1,"b":2}'],
  [[{ set: { 'a.b': { c: [true] } } }], '{"a":{"b":0}}', '{"a":{"b":{"c":[true]}}}'],
  [[{ default: { a: 1 } }], '{"a":0}', '{"a":0}'],
  [[{ default: { a: 1 } }], '{}', '{"a":1}'],
  [[{ rename: { a: 'b' } }], '{"a":{"x":1}}', '{"b":{"x":1}}'],
  [[{ rename: { a: 'b' } }], '{"c":1}', '{"c":1}'],
  [[{ alias: { a: 'b' } }], '{"a":1}', '{"b":1}'],
  [[{ alias: { a: 'b' } }], '{"a":1,"b":2}', '{"b":2}'],
  [[{ alias: { a: 'b' } }], '{"b":2}', '{"b":2}'],
  [[{ alias: { a: 'b' } }], '{"a":1,"b":null}', '{"b":1}'],
  [[{ alias: { a: 'b' } }], '{"b":null,"a":null,"c":2}', '{"b":null,"c":2}'],
  [[{ alias: { a: 'b.c' } }], '{"b":{"c":null},"a":1}', '{"b":{"c":1}}'],
  [[{ alias: { a: 'b' } }], '{"a":null,"b":2}', '{"b":2}'],
  [[{ remove: ['a', 'b'] }], '{"a":1,"b":2,"c":3}', '{"c":3}'],
  [[{ keep: ['a', 'c'] }], '{"a":1,"b":2,"c":3}', '{"a":1,"c":3}'],
  [[{ only: { a: ['x', 1] } }], '{"a":"x","b":2}', '{"a":"x","b":2}'],
  [[{ only: { a: ['x', 1] } }], '{"a":"y","b":2}', '{"b":2}'],
  [[{ only: { 'a.*.b': [1] } }], '{"a":[{"b":1},{"b":[1]},{"b":null},{}]}', '{"a":[{"b":1},{},{},{}]}'],
  [[{ wrap: 'input' }], '{"a":1}', '{"input":{"a":1}}'],
  [[{ wrap: { a: 'inner' } }], '{"a":1}', '{"a":{"inner":1}}'],
  [[{ set: { a: 1 } }, { rename: { a: 'b' } }, { remove: ['c'] }], '{"c":0}', '{"b":1}'],
  [[{ rename: { a: 'b', b: 'c' } }], '{"a":1}', '{"c":1}'],
  [[{ template: { size: '{w}x{h.0}' } }], '{"w":16,"h":["9"]}', '{"w":16,"h":["9"],"size":"16x9"}'],
  [[{ template: { a: '{a}s' } }], '{"a": 1.50 }', '{"a": "1.50s" }'],
  [[{ template: { a: '{{b}}' } }], '{}', '{"a":"{b}"}'],
  [[{ template: { a: '{b}' } }], '{"b":null}', '{"b":null}'],
  [[{ append: { stop: 'x' } }], '{"stop":["a"]}', '{"stop":["a","x"]}'],
  [[{ append: { stop: 'x' } }], '{"stop":[ ]}', '{"stop":["x" ]}'],
  [[{ append: { stop: 'x' } }], '{}', '{"stop":["x"]}'],
  [[{ append: { prompt: ' "now"' } }], '{"prompt":"\\u00fc"}', '{"prompt":"\\u00fc \\"now\\""}'],
  [[{ append: { a: 1 } }], '{"a":true}', '{"a":true}'],
  [[{ insert: { 'm.0': { r: 1 } } }], '{"m":[ 2, 3]}', '{"m":[ {"r":1},2, 3]}'],
  [[{ insert: { 'm.9': 1 } }], '{"m":[2]}', '{"m":[2,1]}'],
  [[{ insert: { 'm.0': 1 } }], '{"m":[]}', '{"m":[1]}'],
  [[{ insert: { 'm.0': 1 } }], '{"m":2}', '{"m":2}'],
  [[{ list: ['a', 'b'] }], '{"a":1,"b":[1]}', '{"a":[1],"b":[1]}'],
  [[{ join: { a: ', ' } }], '{"a":["x", 1.50]}', '{"a":"x, 1.50"}'],
  [[{ join: { a: ', ' } }], '{"a":["x", null]}', '{"a":["x", null]}'],
  [[{ base64: { a: 'encode' } }], '{"a":"ü"}', '{"a":"w7w="}'],
  [[{ base64: { a: 'decode' } }], '{"a":"w7w="}', '{"a":"ü"}'],
  [[{ base64: { a: 'decode' } }], '{"a":"/w=="}', '{"a":"/w=="}'],
  [[{ base64: { a: 'decode' } }], '{"a":"="}', '{"a":"="}'],
  [[{ base64: { a: 'decode' } }], '{"a":"abcde"}', '{"a":"abcde"}'],
  [[{ when: { if: { a: { present: true } }, do: [{ remove: ['b'] }] } }], '{"a":1,"b":2}', '{"a":1}'],
  [[{ when: { if: { a: { present: true } }, do: [{ remove: ['b'] }] } }], '{"a":null,"b":2}', '{"a":null,"b":2}'],
  [[{ when: { if: { a: ['x', 1] }, do: [{ set: { b: 1 } }], else: [{ set: { b: 0 } }] } }], '{"a":1}', '{"a":1,"b":1}'],
  [[{ when: { if: { a: 'x' }, do: [{ set: { b: 1 } }], else: [{ set: { b: 0 } }] } }], '{"a":1}', '{"a":1,"b":0}'],
  [
    [{ when: { if: { a: { larger_than: 4 }, b: 1 }, do: [{ set: { c: 1 } }] } }],
    '{"a":5,"b":1}',
    '{"a":5,"b":1,"c":1}',
  ],
]

for (const [verbs, before, after] of CASES) {
  t.test(`${JSON.stringify(verbs)} makes ${before} ${after}`, async t => t.equal(apply(verbs, before), after))
}

t.test('no verbs, no transform', async t => t.equal(compileVerbs([]), undefined))

t.test('reasoning models: max_tokens becomes max_completion_tokens and temperature goes, all else stays', async t => {
  const verbs = [{ rename: { max_tokens: 'max_completion_tokens' } }, { remove: ['temperature', 'top_p'] }]
  const before = '{ "model": "o", "max_tokens":  100, "temperature": 0.70, "messages": [ {"role":"user"} ] }'
  t.equal(apply(verbs, before), '{ "model": "o", "max_completion_tokens":  100, "messages": [ {"role":"user"} ] }')
})

t.test('what the verbs do not name stays byte for byte', async t => {
  const odd = '{"big":12345678901234567890.10e+2 ,"text":"\\u00fc \\ud83d\\ude00","a":1,\n"dup":1,"dup":2}'
  t.equal(apply([{ set: { a: 2 } }], odd), odd.replace('"a":1', '"a":2'))
})

t.test('a document that is not an object is refused', async t => {
  for (const document of ['[1]', '1', 'null', '']) {
    t.throws(() => apply([{ set: { a: 1 } }], document), SyntaxError, document)
  }
})

t.test('an unknown verb, or arguments of the wrong form, never get here: the schema refuses them', async t => {
  for (const verb of [{ drop: ['a'] }, { set: 1 }, { remove: 'a' }, { rename: { a: 1 } }] as VerbConfig[]) {
    t.throws(() => compileVerbs([verb]), TypeError)
  }
})

t.test('cast writes numbers as texts and texts as numbers, where they are such', async t => {
  t.equal(
    apply([{ cast: { a: 'string', b: 'integer', c: 'number' } }], '{"a":4,"b":"6","c":"1.5"}'),
    '{"a":"4","b":6,"c":1.5}',
  )
  t.equal(apply([{ cast: { a: 'integer', b: 'string' } }], '{"a":"long","b":"4"}'), '{"a":"long","b":"4"}')
  t.equal(apply([{ cast: { 'a.b': 'integer' } }], '{"a":{"b":"4"}}'), '{"a":{"b":4}}')
  t.equal(apply([{ cast: { a: 'string' } }], '{"a":9007199254740993}'), '{"a":"9007199254740993"}', 'no digit is lost')
})

t.test('map puts values in the place of texts that it knows', async t => {
  const verbs = [{ map: { size: { '1280x720': '16:9' } } }]
  t.equal(apply(verbs, '{"size":"1280x720"}'), '{"size":"16:9"}')
  t.equal(apply(verbs, '{"size":"1x1"}'), '{"size":"1x1"}')
  t.equal(apply([{ map: { n: { 7: [1] } } }], '{"n":7}'), '{"n":[1]}')
})

t.test('split puts the parts of a text at places of their own', async t => {
  const verbs = [{ split: { size: { at: 'x', into: ['width', 'frame.height'] } } }]
  t.equal(apply(verbs, '{"size":"1280x720"}'), '{"width":"1280","frame":{"height":"720"}}')
  t.equal(apply(verbs, '{"size":"1x2x3"}'), '{"size":"1x2x3"}')
  const long = 'A'.repeat(100_000)
  t.equal(apply([{ split: { a: { at: ',', into: ['b', 'c'] } } }], `{"a":"x,${long}"}`), `{"b":"x","c":"${long}"}`)
})
