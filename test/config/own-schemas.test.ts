import t, { type Test } from 'tap'
import { BASE, tryLoad } from './support.js'

// Faults of an operator's own request schemas: all of them, each in our words and with its place.

const ROUTE = 'routes: { POST /own: { protocol: chat, model: body.model, schema: own } }\n'

/** `file:line:column message → suggestion` of each problem. */
async function faultsOf(t: Test, schema: string, name = 'own.json'): Promise<readonly string[]> {
  const { problems } = await tryLoad(t, {
    'gateway.yaml': `${BASE}schemas: { own: ./${name} }\n${ROUTE}`,
    [name]: schema,
  })
  return problems.map(({ rule, position, message, suggestion }) => {
    t.equal(rule, 'bad-schema')
    t.ok(position.file.endsWith(name))
    const said = message.replace('this schema cannot be used: ', '')
    return `${position.line}:${position.column} ${said}${suggestion === undefined ? '' : ` → ${suggestion}`}`
  })
}

t.test('every fault of a schema is reported', async t => {
  const schema = `{
  "type": "objekt",
  "requird": ["model"],
  "properties": {
    "model": { "type": "strng" },
    "n": { "minimum": "1" },
    "stop": { "items": { "$ref": "#/definitions/none" } },
    "user": { "pattern": "(" },
    "mode": { "type": ["string", "nul"] },
    "tools": { "type": "array", "prefixItems": [] }
  }
}
`
  t.strictSame(await faultsOf(t, schema), [
    '2:11 expected array, boolean, integer, null, number, object or string, but found "objekt" → object',
    '3:3 unknown keyword "requird"; draft-07 does not have it → required',
    '5:24 expected array, boolean, integer, null, number, object or string, but found "strng" → string',
    '6:23 expected a number, but found a text',
    '7:34 this $ref leads nowhere: there is no #/definitions/none in this schema',
    '8:26 this is not a regular expression: unterminated group',
    '9:34 expected array, boolean, integer, null, number, object or string, but found "nul" → null',
    '10:33 unknown keyword "prefixItems"; draft-07 does not have it → items',
  ])
})

t.test('so it is in YAML, and inside the configuration itself', async t => {
  const yaml = 'type: object\nproperties:\n  a: { type: strng }\n  b: { maxmum: 1 }\n'
  t.match(await faultsOf(t, yaml, 'own.yaml'), [/^3:14 expected .* → string$/, /^4:8 unknown keyword .* → maximum$/])
  const { reported } = await tryLoad(
    t,
    `${BASE}schemas:\n  own: { type: objekt, properties: { a: { maxmum: 1 } } }\n${ROUTE}`,
  )
  t.strictSame(reported, ['bad-schema 9:16', 'bad-schema 9:43'])
})

/** Schemas with one fault each, of which the compiler says nothing by which it could be found. */
const SINGLE: readonly (readonly [schema: object, fault: RegExp])[] = [
  [{ not: { $ref: 'other.json#/a' } }, /^1:16 this \$ref leads nowhere: a schema can refer only to parts of itself/],
  [{ $ref: '#anchor' }, /^1:9 this \$ref leads nowhere/],
  [{ id: 'http://own.example' }, /^1:2 unknown keyword "id".* → \$id$/],
  [{ $id: 5 }, /^1:8 \$id has to be a string$/],
  [{ $id: 'a', properties: { x: { $id: 'a' } } }, /^1:37 another schema has the same \$id$/],
  [{ not: { additionalItems: false } }, /^1:9 "additionalItems" has no effect unless items is a list/],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of schemas
  [{ then: {} }, /^1:2 "then" has no effect without "if"$/],
  [{ if: {} }, /^1:2 "if" has no effect without/],
  [{ nullable: true }, /^1:2 "nullable" has no effect without "type"$/],
  [{ $schema: 'https://json-schema.org/draft/2020-12/schema', $defs: 5 }, /^1:12 only draft-07 is supported/],
  [{ $schema: 5 }, /^1:12 only draft-07 is supported/],
  [{ items: [{ type: 'q' }] }, /^1:19 expected array, boolean/],
  [{ properties: { 'a%b/c~d': { type: 'strng' } } }, /^1:34 expected array, boolean/],
  [{ dependencies: { a: ['b', 1] } }, /^1:27 expected a text/],
]

for (const [schema, fault] of SINGLE) {
  t.test(`${JSON.stringify(schema)} has one fault, at its place`, async t => {
    const found = await faultsOf(t, JSON.stringify(schema))
    t.equal(found.length, 1, found.join('\n'))
    t.match(found[0], fault)
  })
}

t.test('of very many faults twenty are reported, and their number', async t => {
  const properties = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`p${index}`, { typ: 'string' }]))
  const found = await faultsOf(t, JSON.stringify({ properties }))
  t.equal(found.length, 21)
  t.match(found[0], '1:1 it has 5000 faults; 20 are reported')
})
