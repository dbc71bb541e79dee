import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SchemaError } from '../../src/config/schema-faults.js'
import { compileSchema, shippedSchema } from '../../src/config/schemas.js'
import type { JsonObject } from '../../src/core/json.js'
import { packageRoot } from '../../src/core/package-root.js'

const SCHEMA: JsonObject = {
  type: 'object',
  required: ['model', 'messages'],
  additionalProperties: false,
  properties: {
    model: { type: 'string', minLength: 1, maxLength: 8 },
    temperature: { type: ['number', 'null'], minimum: 0, maximum: 2 },
    top_p: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
    n: { type: 'integer', minimum: 1 },
    stream: { type: 'boolean' },
    stop: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, maxItems: 4 }] },
    voice: { pattern: '^[a-z]+$' },
    kind: { const: 'x' },
    messages: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['role'],
        properties: {
          role: { enum: ['system', 'user', 'assistant'] },
          content: { anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/definitions/part' } }] },
        },
      },
    },
  },
  definitions: {
    part: {
      type: 'object',
      required: ['type'],
      properties: { type: { type: 'string' } },
      if: { properties: { type: { const: 'text' } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of schemas
      then: { required: ['text'] },
    },
  },
}

const check = compileSchema(SCHEMA)
const GOOD = { model: 'm', messages: [{ role: 'user' }] }

const CASES: readonly (readonly [string, unknown, string, string, string])[] = [
  ['a missing field', { messages: GOOD.messages }, 'model', 'required', "Missing required parameter: 'model'."],
  [
    'a missing field further down',
    { ...GOOD, messages: [{ role: 'user' }, {}] },
    'messages[1].role',
    'required',
    "Missing required parameter: 'messages[1].role'.",
  ],
  [
    'a wrong type',
    { ...GOOD, temperature: '1' },
    'temperature',
    'type',
    "Invalid type for 'temperature': expected a number, but got a string instead.",
  ],
  [
    'a decimal for an integer',
    { ...GOOD, n: 1.5 },
    'n',
    'type',
    "Invalid type for 'n': expected an integer, but got a number instead.",
  ],
  [
    'null',
    { ...GOOD, stream: null },
    'stream',
    'type',
    "Invalid type for 'stream': expected a boolean, but got null instead.",
  ],
  [
    'a body of a wrong type',
    [],
    '',
    'type',
    'Invalid type for the request: expected an object, but got an array instead.',
  ],
  [
    'none of several types',
    { ...GOOD, stop: 1 },
    'stop',
    'type',
    "Invalid type for 'stop': expected one of a string or an array, but got an integer instead.",
  ],
  [
    'a value that is not among those allowed',
    { ...GOOD, messages: [{ role: 'usr' }] },
    'messages[0].role',
    'enum',
    "Invalid value: 'usr'. Supported values are: 'system', 'user', and 'assistant'.",
  ],
  [
    'a value that is not the one allowed',
    { ...GOOD, kind: 'y' },
    'kind',
    'enum',
    "Invalid value: 'y'. Supported values are: 'x'.",
  ],
  ['an unknown field', { ...GOOD, quality: 'x' }, 'quality', 'unknown', "Unknown parameter: 'quality'."],
  [
    'a number too small',
    { ...GOOD, temperature: -1 },
    'temperature',
    'range',
    "Invalid 'temperature': integer below minimum value. Expected a value >= 0, but got -1 instead.",
  ],
  [
    'a number too large',
    { ...GOOD, temperature: 2.5 },
    'temperature',
    'range',
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
  ],
  [
    'a number at an open bound',
    { ...GOOD, top_p: 0 },
    'top_p',
    'range',
    "Invalid 'top_p': Expected a value > 0, but got 0 instead.",
  ],
  [
    'a number at the other open bound',
    { ...GOOD, top_p: 1 },
    'top_p',
    'range',
    "Invalid 'top_p': Expected a value < 1, but got 1 instead.",
  ],
  [
    'an empty list',
    { ...GOOD, messages: [] },
    'messages',
    'length',
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
  ],
  [
    'a list too long',
    { ...GOOD, stop: ['a', 'b', 'c', 'd', 'e'] },
    'stop',
    'length',
    "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead.",
  ],
  [
    'an empty text',
    { ...GOOD, model: '' },
    'model',
    'length',
    "Invalid 'model': empty string. Expected a string with minimum length 1, but got an empty string instead.",
  ],
  [
    'a text too long',
    { ...GOOD, model: '123456789' },
    'model',
    'length',
    "Invalid 'model': string too long. Expected a string with maximum length 8, but got a string with length 9 instead.",
  ],
  [
    'a text that fits no pattern',
    { ...GOOD, voice: 'A' },
    'voice',
    'other',
    "Invalid 'voice': string does not match pattern. Expected a string that matches the pattern '^[a-z]+$'.",
  ],
  [
    'the deepest of several branches',
    { ...GOOD, messages: [{ role: 'user', content: [{ type: 'text' }] }] },
    'messages[0].content[0].text',
    'required',
    "Missing required parameter: 'messages[0].content[0].text'.",
  ],
]

for (const [title, document, param, rule, message] of CASES) {
  t.test(`errors say ${title} in the words of clients`, async t => {
    t.same(check(document)[0], { param, message, rule })
  })
}

t.test('a document that fits has no violations', async t => {
  t.same(check(GOOD), [])
})

t.test('names of Object.prototype are fields like any others', async t => {
  t.match(check(JSON.parse('{"model":"m","messages":[{"role":"user"}],"__proto__":1}')), [
    { param: '__proto__', rule: 'unknown' },
  ])
  t.match(check(JSON.parse('{"constructor":1}')), [{ rule: 'required' }])
})

t.test('a long value is not repeated in full', async t => {
  const [violation] = check({ ...GOOD, kind: 'y'.repeat(1000) })
  t.ok((violation?.message.length ?? 0) < 200)
})

t.test('a name with other characters is in brackets and quotes', async t => {
  t.equal(check({ ...GOOD, 'a b': 1 })[0]?.param, '["a b"]')
})

t.test('a schema is compiled once', async t => {
  t.equal(compileSchema(SCHEMA), check)
})

const UNUSABLE: readonly (readonly [string, JsonObject, RegExp])[] = [
  ['an unknown keyword', { type: 'object', requird: ['a'] }, /unknown keyword "requird"/],
  ['a reference that leads nowhere', { $ref: '#/definitions/a' }, /leads nowhere/],
  ['another draft', { $schema: 'https://json-schema.org/draft/2020-12/schema' }, /only draft-07/],
  ['an asynchronous schema', { $async: true }, /\$async/],
  ['a keyword with a wrong value', { type: 'objekt' }, /expected array, .* but found "objekt"/],
  ['a pattern that is no regular expression', { pattern: '(' }, /not a regular expression: unterminated group/],
]

for (const [title, schema, message] of UNUSABLE) {
  t.test(`a schema with ${title} is refused when it is loaded`, async t => {
    t.throws(() => compileSchema(schema), { name: 'SchemaError', message })
    t.throws(() => compileSchema(schema), SchemaError)
  })
}

t.test('format is not checked', async t => {
  t.same(compileSchema({ type: 'string', format: 'uri' })('not a uri'), [])
})

for (const name of [
  'chat.request',
  'embeddings.request',
  'completions.request',
  'moderations.request',
  'images.generations.request',
  'speech.request',
  'rerank.request',
  'rerank.v2.request',
  'responses.request',
]) {
  t.test(`the shipped schema ${name} gives the same violations compiled ahead of time and compiled now`, async t => {
    const shipped = shippedSchema(packageRoot(), name)
    if (shipped === undefined) return t.fail(`${name} is not shipped`)
    const fresh = compileSchema(JSON.parse(readFileSync(join(packageRoot(), 'schemas', `${name}.json`), 'utf8')))
    const ahead = compileSchema(shipped)
    t.not(ahead, fresh)
    for (const document of [
      {},
      [],
      { model: 1, input: 1, messages: 1 },
      { model: 'm', messages: [{ role: 1 }], input: [], prompt: {} },
    ]) {
      t.same(ahead(document), fresh(document))
    }
  })
}

t.test('a schema that is not shipped is not found', async t => {
  t.equal(shippedSchema(packageRoot(), 'nothing.request'), undefined)
})
