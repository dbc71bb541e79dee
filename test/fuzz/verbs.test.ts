import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import type { VerbConfig } from '../../src/core/config.js'
import type { Json } from '../../src/core/json.js'
import { compileVerbs } from '../../src/plan/verbs.js'
import * as model from '../wire/json-model.js'
import { readDoubled, readings } from './doubled-json.js'
import { fuzz } from './run.js'
import { applied } from './verbs-model.js'

/** Few names, so that they meet: written plainly and with escapes, and often twice in one object. */
const NAMES = ['a', 'b', 'c', '0', '1', '__proto__', 'é'] as const
const key = fc
  .tuple(fc.constantFrom(...NAMES), fc.boolean())
  .map(([name, escaped]) =>
    escaped ? `"\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}"` : `"${name}"`,
  )
/** Among them what other types can be made of, base64 and things alike, and texts that can be cut. */
const scalar = fc.constantFrom(
  ...['1', '-7', '"x"', '"y"', '"\\u0078"', 'null', 'true', '1.5'],
  ...['"12"', '"-0.5"', '"1.5x"', '""', '"eA=="', '"\\u0065Hk"', '"w6k="', '"/w=="', '"eA==="', '"="'],
  ...['"x,y"', '"x,,y"', '",\\u002c"', '"{a}"'],
)

const { object } = fc.letrec<{ value: string; object: string; array: string }>(tie => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, scalar, tie('object'), tie('array')),
  array: fc.array(tie('value'), { maxLength: 4 }).map(items => `[${items.join(', ')}]`),
  object: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 5 })
    .map(members => `{ ${members.map(member => member.join(' :')).join(',')}}`),
}))

const plain = fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 })
const starred = fc.array(fc.constantFrom(...NAMES, '*', '*', '*'), { minLength: 1, maxLength: 4 })
const path = starred.map(segments => segments.join('.'))
const value = fc.constantFrom<Json>(1, 'new', null, { n: [1] }, [])

/** Two paths that are alike up to the last `*`, as they have to be. */
const moves = fc.tuple(starred, plain, plain).map(([begin, from, to]) => {
  const stars = begin.slice(0, begin.lastIndexOf('*') + 1)
  return { [[...stars, ...from].join('.')]: [...stars, ...to].join('.') }
})

/** A text cut at a mark, its parts put beside it or further in. */
const cuts = fc
  .tuple(starred, plain, fc.constantFrom(',', ',,', '='), fc.array(plain, { minLength: 1, maxLength: 3 }))
  .map(([begin, from, at, into]) => {
    const stars = begin.slice(0, begin.lastIndexOf('*') + 1)
    const parts = into.map(rest => [...stars, ...rest].join('.'))
    return { split: { [[...stars, ...from].join('.')]: { at, into: parts } } } as VerbConfig
  })

const one = plain.map(segments => segments.join('.'))
const simple: fc.Arbitrary<VerbConfig> = fc.oneof(
  fc.tuple(fc.constantFrom('set', 'default'), path, value).map(([name, at, to]) => ({ [name]: { [at]: to } })),
  fc.tuple(fc.constantFrom('rename', 'alias'), moves).map(([name, to]) => ({ [name]: to })),
  fc
    .tuple(fc.constantFrom('remove', 'keep'), fc.array(path, { minLength: 1, maxLength: 2 }))
    .map(([name, list]) => ({ [name]: list })),
  path.map(at => ({ wrap: { [at]: 'w' } })),
  fc
    .tuple(path, fc.constantFrom('string', 'number', 'integer'))
    .map(([at, type]) => ({ cast: { [at]: type } }) as VerbConfig),
  path.map(at => ({ map: { [at]: { x: 'mapped', 1: 2 } } })),
  path.map(at => ({ only: { [at]: ['x', 1] } })),
  fc.tuple(one, one, one).map(([to, a, b]) => ({ template: { [to]: `{{<{${a}}-{${b}}>}}` } })),
  cuts,
  fc.tuple(one, value).map(([at, added]) => ({ append: { [at]: added } })),
  fc.tuple(one, fc.nat({ max: 4 }), value).map(([at, index, added]) => ({ insert: { [`${at}.${index}`]: added } })),
  fc.array(path, { minLength: 1, maxLength: 2 }).map(list => ({ list })),
  path.map(at => ({ join: { [at]: ', ' } })),
  fc
    .tuple(path, fc.constantFrom('encode', 'decode'))
    .map(([at, direction]) => ({ base64: { [at]: direction } }) as VerbConfig),
)

const test = fc.oneof(
  fc.boolean().map(present => ({ present })),
  fc.constantFrom('x', 1, true),
  fc.constant(['x', 'y', 1]),
  fc.constantFrom(-7, 0, 1.5, 12).map(larger_than => ({ larger_than })),
  fc.constantFrom(-7, 0, 1.5, 12).map(smaller_than => ({ smaller_than, present: true })),
  fc.constantFrom('*', 'x*', '*y', '1*').map(pattern => ({ matches: [pattern, 'none'] })),
  fc.constant({ in: ['x', 'y', 12], matches: ['x'] }),
)
const verb: fc.Arbitrary<VerbConfig> = fc.oneof(
  { weight: 4, arbitrary: simple },
  {
    weight: 1,
    arbitrary: fc
      .tuple(one, test, fc.array(simple, { minLength: 1, maxLength: 2 }), fc.array(simple, { maxLength: 2 }))
      .map(([at, wanted, yes, no]) => ({ when: { if: { [at]: wanted }, do: yes, else: no } }) as VerbConfig),
  },
)

function transformed(text: string, verbs: readonly VerbConfig[]): string {
  return Buffer.from(compileVerbs(verbs)?.(Buffer.from(text)) ?? text).toString()
}

fuzz('verbs mean for the bytes what they mean for the parsed document', {
  inputs: fc.tuple(object, fc.array(verb, { minLength: 1, maxLength: 3 })),
  check([text, verbs]) {
    equal(model.canonical(JSON.parse(transformed(text, verbs))), model.canonical(applied(JSON.parse(text), verbs)))
  },
})

t.test('every verb of the language is tried', async t => {
  const schema = JSON.parse(readFileSync('schemas/gateway.schema.json', 'utf8')) as {
    definitions: { verb: { properties: Readonly<Record<string, unknown>> } }
  }
  // These have files of their own: two are about a request, not about a document, and the text of a mask is an image
  // (test/wire/png-mask.test.ts).
  const elsewhere = ['send', 'take', 'mask']
  const known = Object.keys(schema.definitions.verb.properties).filter(name => !elsewhere.includes(name))
  const drawn = fc.sample(verb, { numRuns: 3000, seed: 1 }).flatMap(Object.keys)
  t.same([...new Set(drawn)].sort(), known.sort())
})

fuzz('what is removed no reader finds, whichever of several members of one name it takes', {
  inputs: fc.tuple(object, path),
  check([text, removed]) {
    const after = readDoubled(transformed(text, [{ remove: [removed] }]))
    const segments = removed.split('.')
    // The followers of an element that is removed move up to its place.
    const isElement = /^\d+$/.test(segments.at(-1) ?? '')
    if (!isElement) deepEqual(readings(after, segments), [])
  },
})

fuzz('what is set is all that any reader finds there', {
  inputs: fc.tuple(object, path),
  check([text, set]) {
    const after = readDoubled(transformed(text, [{ set: { [set]: 'new' } }]))
    for (const found of readings(after, set.split('.'))) equal(found, 'new')
  },
})
