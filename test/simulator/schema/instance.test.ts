import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import type { Json, JsonObject } from '../../../simulator/src/json.js'
import { instanceOf } from '../../../simulator/src/schema/instance.js'
import { Seed } from '../../../simulator/src/seed.js'
import { fc } from '../../helpers/property.js'

/** Formats as strictly as the tests need them; Ajv itself brings none. */
const FORMATS = {
  date: /^\d{4}-\d\d-\d\d$/,
  time: /^\d\d:\d\d:\d\dZ$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  duration: /^PT\d+M$/,
  email: /^\S+@\S+\.\S+$/,
  hostname: /^[\w.-]+$/,
  ipv4: /^(\d{1,3}\.){3}\d{1,3}$/,
  ipv6: /^[0-9a-f:]+$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  uri: /^https:\/\/\S+$/,
  'uri-reference': /^\/\S*$/,
  'json-pointer': /^\/\w+$/,
  byte: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
}

/** Says what is wrong with a value, if anything. */
function checker(schema: Json): (value: unknown) => string | undefined {
  const validate = new Ajv2020({ strict: false, formats: FORMATS }).compile(schema as object)
  return value => (validate(value) ? undefined : `${JSON.stringify(value)}: ${JSON.stringify(validate.errors)}`)
}

const NODE = {
  type: 'object',
  properties: { value: { type: 'integer' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
  required: ['value', 'next'],
  additionalProperties: false,
}

const SCHEMAS: Readonly<Record<string, Json>> = {
  anything: {},
  true: true,
  'types in a list': { type: ['null', 'integer'] },
  null: { type: 'null' },
  const: { const: { a: [1] } },
  'const null': { const: null },
  enum: { type: 'string', enum: ['one', 'two'] },
  'enum that holds null': { enum: [null, 1] },
  'integer bounds': { type: 'integer', minimum: 3, maximum: 4 },
  'integer, exclusive': { type: 'integer', exclusiveMinimum: 3, exclusiveMaximum: 5 },
  'integer, below zero': { type: 'integer', maximum: -10 },
  multiples: { type: 'number', multipleOf: 0.25, minimum: 0.3, maximum: 0.8 },
  'number between': { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.001 },
  'number, one value': { type: 'number', minimum: 2.5, maximum: 2.5 },
  'long string': { type: 'string', minLength: 300, maxLength: 301 },
  'short string': { type: 'string', maxLength: 1 },
  'empty string': { type: 'string', maxLength: 0 },
  'array bounds': { type: 'array', items: { type: 'number' }, minItems: 3, maxItems: 3 },
  'no items': { type: 'array', items: { type: 'number' }, maxItems: 0 },
  'unique items': { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
  tuple: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false, minItems: 2 },
  'required without a definition': { type: 'object', required: ['a', 'b'] },
  'required, additional': { type: 'object', required: ['a'], additionalProperties: { type: 'integer' } },
  'at most one property': { type: 'object', properties: { a: {}, b: {} }, required: ['b'], maxProperties: 1 },
  'type unsaid': { properties: { a: { items: { minimum: 3 } } }, required: ['a'] },
  allOf: { allOf: [{ type: 'object', required: ['a'] }, { properties: { a: { type: 'integer' } } }], required: ['b'] },
  'allOf, bounds': {
    allOf: [
      { type: 'integer', minimum: 3, maximum: 9 },
      { minimum: 5, maximum: 20 },
    ],
  },
  'anyOf with a base': { type: 'object', required: ['kind'], anyOf: [{ properties: { kind: { const: 'x' } } }] },
  oneOf: { oneOf: [{ type: 'integer' }, { type: 'string' }] },
  'anyOf whose first is impossible': { anyOf: [false, { type: 'integer' }] },
  reference: {
    type: 'object',
    properties: { a: { $ref: '#/definitions/x' } },
    definitions: { x: { type: 'integer' } },
  },
  'escaped reference': { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { type: 'integer' } } },
  'allOf of one reference': { allOf: [{ $ref: '#/$defs/x' }], $defs: { x: { type: 'integer' } } },
  'linked list': { $ref: '#/$defs/node', $defs: { node: NODE } },
  'linked list from its root': { ...NODE, $defs: { node: NODE } },
  tree: {
    type: 'object',
    properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
    required: ['name', 'children'],
    additionalProperties: false,
  },
  'names of Object.prototype': {
    type: 'object',
    properties: JSON.parse('{"__proto__":{"type":"integer"},"constructor":{"type":"string"}}'),
    required: ['__proto__', 'constructor', 'toString'],
  },
  'a map with at least three entries': { type: 'object', minProperties: 3, additionalProperties: { type: 'integer' } },
  'names by a pattern': {
    type: 'object',
    patternProperties: { '^x-[a-z]{4}$': { type: 'integer' } },
    additionalProperties: false,
    minProperties: 2,
  },
  'names with a schema': { type: 'object', propertyNames: { pattern: '^[a-z]{3}$' }, minProperties: 2 },
  'names of a list': { type: 'object', propertyNames: { enum: ['on', 'off'] }, minProperties: 2 },
  'allOf, a property of both': {
    allOf: [
      { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
      { properties: { a: { minimum: 0.5, maximum: 1.5 } } },
    ],
  },
  'pattern with letters of any language': { type: 'string', pattern: '^\\p{Lu}[\\p{L}\\p{N} ]{5}$' },
  pattern: { type: 'string', pattern: '^[A-Z]{2}-\\d{3,5}(?:x|y)?[^a]+$' },
  'pattern with a length': { type: 'string', pattern: '^[a-z]+$', minLength: 12 },
  'pattern, dates': { type: 'string', pattern: '^\\d{4}-\\d{2}$' },
}

for (const [name, schema] of Object.entries(SCHEMAS)) {
  t.test(`an instance is valid: ${name}`, async t => {
    const problem = checker(schema)
    for (let seed = 0; seed < 20; seed += 1) t.equal(problem(wire(instanceOf(schema, new Seed(seed)))), undefined)
  })
}

for (const format of Object.keys(FORMATS)) {
  t.test(`a string has the format ${format}`, async t => {
    const schema = { type: 'string', format }
    t.equal(checker(schema)(instanceOf(schema, new Seed(format))), undefined)
  })
}

t.test('bounds in words at the end of a description are kept if they are numbers', async t => {
  const counted = { type: 'array', items: { type: 'null' }, description: 'Rows.\n\n{minItems: 4, maxItems: 4}' }
  t.same(instanceOf(counted, new Seed('told')), [null, null, null, null])
  const bounded = { type: 'integer', description: '{minimum: 700, maximum: 700, multipleOf: 7}' }
  t.equal(instanceOf(bounded, new Seed('told')), 700)
  const own = { type: 'integer', minimum: 5, maximum: 5, description: '{minimum: 700}' }
  t.equal(instanceOf(own, new Seed('told')), 5, 'the schema itself wins')
  for (const description of ['}', '{{{', '{minimum: 1e999, maximum: --}', 'minimum: 9}'])
    t.type(instanceOf({ type: 'integer', maximum: 3, description }, new Seed('told')), 'number')
})

t.test('every property is filled in, wanted or not', async t => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'object', properties: { c: {} } } },
  }
  t.match(instanceOf(schema, new Seed('x')), { a: Number, b: { c: String } })
})

t.test('a map has an entry', async t => {
  const schema = { type: 'object', additionalProperties: { type: 'integer' } }
  t.match(instanceOf(schema, new Seed('x')), { key_1: Number })
  t.same(instanceOf({ ...schema, maxProperties: 0 }, new Seed('x')), {})
})

t.test('names that cannot differ are not tried for long', async t => {
  const schema = { type: 'object', patternProperties: { '^(?:aa){400}$': true }, minProperties: 200 }
  t.equal(instanceOf(schema, new Seed('x')), null)
})

t.test('a schema that nothing fits, or nothing finite, gives null', async t => {
  t.equal(instanceOf(false, new Seed('x')), null)
  t.equal(instanceOf({ $ref: '#' }, new Seed('x')), null)
  const endless = { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }
  t.equal(instanceOf(endless, new Seed('x')), null)
})

t.test('what a schema asks is bounded in size', async t => {
  const huge = [
    { type: 'array', minItems: 1e9, items: { type: 'string', minLength: 1e9 } },
    { type: 'string', pattern: '((((a{9999}){9999}){9999}){9999})' },
    { type: 'string', pattern: '((()*)*)*', minLength: 1e9 },
    { type: 'object', required: Array.from({ length: 100_000 }, (_, index) => `p${index}`) },
    wide(8),
  ]
  for (const schema of huge) t.ok(JSON.stringify(instanceOf(schema, new Seed('x'))).length < 1_000_000)
})

t.test('a pattern that is not simple is left alone', async t => {
  for (const pattern of ['(?=a)b', '(a)\\1', '\\p{Greek}', '[', '(', 'a**', '\\', '[]', 'x{2', '('.repeat(400)]) {
    t.equal(typeof instanceOf({ type: 'string', pattern }, new Seed('x')), 'string', pattern)
  }
})

t.test('property: no schema, however odd, makes it throw or run away', async t => {
  const keyword = fc.constantFrom(
    'type',
    'properties',
    'items',
    'anyOf',
    'allOf',
    '$ref',
    'required',
    'minItems',
    'pattern',
    'enum',
  )
  const schema = fc.letrec(tie => ({
    schema: fc.dictionary(
      keyword,
      fc.oneof(
        fc.jsonValue({ maxDepth: 2 }),
        fc.constantFrom('#', '#/items', 'object', 'array'),
        tie('schema'),
        fc.array(tie('schema'), { maxLength: 3 }),
      ),
      { maxKeys: 4 },
    ),
  })).schema
  fc.assert(
    fc.property(schema, fc.nat(), (schema, seed) => {
      JSON.stringify(instanceOf(schema as JsonObject, new Seed(seed)))
    }),
  )
  t.pass()
})

t.test('a schema whose references multiply ends at once', async t => {
  const parts = (name: string, count: number): Json =>
    Array.from({ length: count }, () => ({ $ref: `#/$defs/${name}` }))
  const circle = { $ref: '#/$defs/a', $defs: { a: { type: 'object', allOf: parts('a', 8) } } }
  t.equal(instanceOf(circle, new Seed(1)), null)
  const chain: Record<string, Json> = { d16: { properties: { end: { type: 'boolean' } } } }
  for (let at = 0; at < 16; at++) chain[`d${at}`] = { allOf: parts(`d${at + 1}`, 4) }
  t.equal(instanceOf({ type: 'object', allOf: parts('d0', 4), $defs: chain }, new Seed(1)), null)
})

t.test('a long list of values with parts fits its schema to the end', async t => {
  const name = { type: 'string', minLength: 3 }
  const properties = { a: { allOf: [{ $ref: '#/$defs/name' }] }, b: { allOf: [{ $ref: '#/$defs/name' }] } }
  const item = {
    allOf: [
      { type: 'object', properties },
      { type: 'object', required: ['a', 'b'] },
    ],
  }
  const schema = { type: 'array', minItems: 200, items: item, $defs: { name } }
  t.equal(checker(schema)(wire(instanceOf(schema, new Seed(1)))), undefined)
})

t.test('what a value takes from its schema as it is has a bound, too', async t => {
  const long = 'x'.repeat(100_000)
  const chars = (schema: Json): number => JSON.stringify(instanceOf(schema, new Seed(1))).length
  const items = { type: 'array', minItems: 200 }
  t.equal(chars({ type: 'array', minItems: 9, items: { const: long } }), 9 * (long.length + 3) + 1)
  t.ok(chars({ ...items, items: { const: long } }) < 2_000_000)
  t.ok(chars({ ...items, items: { enum: [{ long }] } }) < 2_000_000)
  t.ok(chars({ ...items, items: { properties: { [long]: {} } } }) < 2_000_000)
  t.ok(chars({ ...items, uniqueItems: true, items: { const: long } }) < 2_000_000)
})

function wide(depth: number): Json {
  const properties: Record<string, Json> = {}
  for (let index = 0; index < 8; index += 1) properties[`p${index}`] = depth === 0 ? {} : { $ref: '#' }
  return { type: 'object', properties }
}

function wire(value: Json): unknown {
  return JSON.parse(JSON.stringify(value))
}
