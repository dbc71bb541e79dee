import t, { type Test } from 'tap'
import { jsonSchema } from '../../../src/codecs/generate/schema-dialect.js'
import type { JsonObject } from '../../../src/core/json.js'

function same(t: Test, dialect: JsonObject, expected: JsonObject): void {
  t.equal(JSON.stringify(jsonSchema(dialect, 'schema')), JSON.stringify(expected))
}

t.test('types are written small, at every depth', async t => {
  same(
    t,
    { type: 'OBJECT', properties: { a: { type: 'ARRAY', items: { type: 'NUMBER' } } }, anyOf: [{ type: 'STRING' }] },
    { type: 'object', properties: { a: { type: 'array', items: { type: 'number' } } }, anyOf: [{ type: 'string' }] },
  )
})

t.test('nullable is one more type', async t => {
  same(t, { type: 'STRING', nullable: true }, { type: ['string', 'null'] })
  same(t, { type: 'STRING', enum: ['a'], nullable: true }, { type: ['string', 'null'], enum: ['a', null] })
  same(t, { anyOf: [{ type: 'STRING' }], nullable: true }, { anyOf: [{ type: 'string' }, { type: 'null' }] })
  same(t, { type: 'STRING', nullable: false }, { type: 'string' })
})

t.test('64-bit numbers are numbers', async t => {
  same(
    t,
    { maxItems: '3', min_length: '0', maxLength: 5, minimum: 1 },
    { maxItems: 3, minLength: 0, maxLength: 5, minimum: 1 },
  )
})

t.test('the order of properties is the order in which they are', async t => {
  same(
    t,
    { properties: { a: {}, b: {}, c: {} }, property_ordering: ['c', 'a', 'none'] },
    { properties: { c: {}, a: {}, b: {} } },
  )
})

t.test('example, formats of enumerations, types that are none', async t => {
  same(t, { type: 'TYPE_UNSPECIFIED', format: 'enum', example: 1 }, { examples: [1] })
  same(t, { type: 'STRING', format: 'date-time' }, { type: 'string', format: 'date-time' })
})

t.test('types by their numbers', async t => {
  const properties = {
    a: { type: 1 },
    b: { type: 5, items: { type: 3 } },
    c: { type: 2 },
    d: { type: 4 },
    e: { type: 0 },
  }
  same(
    t,
    { type: 6, properties, nullable: true },
    {
      type: ['object', 'null'],
      properties: {
        a: { type: 'string' },
        b: { type: 'array', items: { type: 'integer' } },
        c: { type: 'number' },
        d: { type: 'boolean' },
        e: {},
      },
    },
  )
})

t.test('JSON Schema stays as it is', async t => {
  const schema = {
    $defs: { a_b: { type: ['string', 'null'] } },
    type: 'object',
    properties: { snake_case: { $ref: '#/$defs/a_b' }, any_of: { const: 'OBJECT' } },
    additionalProperties: false,
    required: ['snake_case'],
    oneOf: [{ not: {} }],
  }
  same(t, schema, schema)
})

t.test('members of prototypes are names like others', async t => {
  const schema = JSON.parse(
    '{"properties":{"__proto__":{"type":"STRING"},"constructor":{"type":"STRING"}}}',
  ) as JsonObject
  const read = jsonSchema(schema, 'schema')
  t.equal(Object.getPrototypeOf(read.properties), Object.prototype)
  t.same((read.properties as JsonObject).constructor, { type: 'string' })
})

t.test('a schema that is nested without end is an error', async t => {
  const schema = JSON.parse(`${'{"items":'.repeat(200)}{}${'}'.repeat(200)}`) as JsonObject
  t.throws(() => jsonSchema(schema, 'schema'), /too deep/)
})
