import { deepEqual } from 'node:assert/strict'
import t from 'tap'
import type { VerbConfig } from '../../src/core/config.js'
import type { Exchange } from '../../src/core/plan.js'
import type { FormBody } from '../../src/kernel/body.js'
import type { Call } from '../../src/kernel/call.js'
import { formFor } from '../../src/kernel/form.js'
import { withTaken } from '../../src/kernel/shaped-request.js'
import { compileFormVerbs } from '../../src/plan/form-verbs.js'
import { shapeOf } from '../../src/plan/shape.js'
import { compileVerbs } from '../../src/plan/verbs.js'
import type { ReadForm } from '../../src/wire/multipart-changes.js'
import { MultipartEdit } from '../../src/wire/multipart-edit.js'
import { MultipartForm } from '../../src/wire/multipart-form.js'
import { formOf } from '../helpers/forms.js'
import { pngOf } from '../helpers/png.js'
import { fc } from '../helpers/property.js'
import { LIMITS } from '../wire/multipart-cases.js'

// Each verb on a form, held against the same verb on the JSON document that has its fields as members.

type Field = readonly [name: string, value: string]
type Document = Readonly<Record<string, string | readonly string[]>>

/** Of two pixels, one of them transparent. */
const MASK = pngOf([
  [
    [9, 9, 9, 0],
    [9, 9, 9, 255],
  ],
]).toString('base64')

const NAMES = ['a', 'b', 'c', 'x.y'] as const
const VALUES = ['', 'x', '4', '10', 'ü', 'eA==', '1x2', 'axb', 'two\r\nlines', 'y'.repeat(5000), MASK] as const

const name = fc.constantFrom(...NAMES)
/** As verbs write it. */
const path = name.map(one => one.replace('.', '\\.'))
const value = fc.constantFrom(...VALUES)
const scalar = fc.constantFrom<string | number | boolean>('x', 'ü', 7, true)
const condition = fc.oneof(
  value,
  fc.constantFrom({ present: true }, { present: false }, { larger_than: 5 }, { matches: ['*x*'] }, { in: ['x', '4'] }),
)
const simple: fc.Arbitrary<VerbConfig> = fc.oneof(
  fc.dictionary(path, scalar, { minKeys: 1, maxKeys: 2 }).map(set => ({ set })),
  fc.dictionary(path, scalar, { minKeys: 1, maxKeys: 2 }).map(one => ({ default: one })),
  fc.tuple(path, path).map(([from, to]) => ({ rename: { [from]: to } })),
  fc
    .tuple(path, path)
    .filter(([from, to]) => from !== to)
    .map(([from, to]) => ({ alias: { [from]: to } })),
  fc.array(path, { minLength: 1, maxLength: 2 }).map(remove => ({ remove })),
  fc.array(path, { minLength: 1, maxLength: 2 }).map(keep => ({ keep })),
  fc.tuple(path, value).map(([to, text]) => ({ append: { [to]: text } })),
  fc
    .tuple(path, fc.constantFrom('{a}-{b}', '{{{c}}}', '{x\\.y}', 'fixed'))
    .map(([to, text]) => ({ template: { [to]: text } })),
  fc.tuple(path, fc.nat(3), value).map(([to, index, text]) => ({ insert: { [`${to}.${index}`]: text } })),
  fc.array(path, { minLength: 1, maxLength: 2 }).map(list => ({ list })),
  fc.tuple(path, fc.constantFrom('black', 'white')).map(([to, colour]) => ({ mask: { [to]: colour } })),
  path.map(from => ({ join: { [from]: ', ' } })),
  fc.tuple(path, fc.constantFrom('encode', 'decode')).map(([from, way]) => ({ base64: { [from]: way } })),
  fc.tuple(path, scalar).map(([from, to]) => ({ map: { [from]: { x: to, 4: 'four' } } })),
  path.map(from => ({ only: { [from]: ['x', '10'] } })),
  fc.tuple(path, path, path).map(([from, one, two]) => ({ split: { [from]: { at: 'x', into: [one, two] } } })),
)
const place = fc.constantFrom('path.one', 'query.one', 'query.two', 'header.X-One')
const verb = fc.oneof(
  { weight: 1, arbitrary: fc.tuple(place, path).map(([from, to]): VerbConfig => ({ take: { [from]: to } })) },
  { weight: 4, arbitrary: simple },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.dictionary(path, condition, { minKeys: 1, maxKeys: 2 }), simple, simple)
      .map(([tests, yes, no]): VerbConfig => ({ when: { if: tests, do: [yes], else: [no] } as never })),
  },
)

const newForm = (): MultipartForm =>
  new MultipartForm('B', { control: [], limits: { ...LIMITS, field: 1_000_000, fields: 1_000_000 } })

/** A form, and where its parts are. */
function readForm(bytes: Buffer, bare: boolean): ReadForm {
  const form = newForm()
  const from: number[] = []
  let at = 0
  let close = 0
  for (const event of [...form.push(bytes), ...form.end()]) {
    if (event.type === 'part') from.push(at)
    else if (event.type === 'close') close = at
    at += event.bytes.length
  }
  const parts = form.fields.map((field, index) => ({ part: field, field, from: from[index] ?? 0 }))
  return { boundary: 'B', parts, close, bare }
}

/** What a request says beside its body. */
function callOf(one: string): Call {
  const beside = {
    params: { one },
    query: new URLSearchParams({ one: `${one}!` }),
    request: { headers: { 'x-one': 'x' } },
  }
  return { ...beside, get: () => undefined } as unknown as Call
}

/** The fields of the form that is sent, as the same reader finds them. */
function changed(fields: readonly Field[], verbs: readonly VerbConfig[], bare: boolean, call: Call): Document {
  const bytes = Buffer.concat([Buffer.from(bare ? '' : '\r\n'), formOf(...fields)])
  const exchange = { form: compileFormVerbs(verbs), shape: shapeOf(verbs, undefined) } as Exchange
  const changes = formFor({ form: readForm(bytes, bare) } as FormBody, call, exchange)
  const sent = newForm()
  sent.push(Buffer.concat([...new MultipartEdit(changes.edits()).push(bytes)]))
  sent.end()
  return documentOf(sent.fields.map(field => [field.name, field.value ?? '']))
}

function documentOf(fields: readonly Field[]): Document {
  const document: Record<string, string | readonly string[]> = {}
  for (const [name, text] of fields) {
    const before = document[name]
    document[name] = before === undefined ? text : [before, text].flat()
  }
  return document
}

/** In a form each value is a text. */
function asTexts(document: Readonly<Record<string, unknown>>): Document {
  return Object.fromEntries(
    Object.entries(document).map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]),
  )
}

/** In the form that is sent, a list of one is a field that occurs once. */
function asFields(document: Document): Document {
  return documentOf(
    Object.entries(document).flatMap(([name, value]) => [value].flat().map((one): Field => [name, one])),
  )
}

t.test('each verb makes of a form what it makes of the document with the same members', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(name, value), { maxLength: 6 }),
      fc.array(verb, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      value,
      (fields, verbs, bare, beside) => {
        const [call, shape] = [callOf(beside), shapeOf(verbs, undefined)]
        const json = Buffer.from(JSON.stringify(documentOf(fields)))
        const taken = shape === undefined ? json : withTaken(shape, call, {} as Exchange, json)
        const wanted = verbs.reduce<Document>(
          (document, one) => {
            const before = Buffer.from(JSON.stringify(document))
            return asTexts(JSON.parse(Buffer.from(compileVerbs([one])?.(before) ?? before).toString()))
          },
          JSON.parse(Buffer.from(taken).toString()),
        )
        deepEqual(changed(fields, verbs, bare, call), asFields(wanted))
      },
    ),
    { numRuns: 3000 },
  )
})
