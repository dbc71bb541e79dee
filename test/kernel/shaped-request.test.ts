import { deepEqual, equal } from 'node:assert/strict'
import t from 'tap'
import { Response } from 'undici'
import type { VerbConfig } from '../../src/core/config.js'
import { GatewayError } from '../../src/core/errors.js'
import type { Exchange } from '../../src/core/plan.js'
import type { BodyFormat } from '../../src/core/shape.js'
import type { Call } from '../../src/kernel/call.js'
import { shapedJson, withTaken } from '../../src/kernel/shaped-request.js'
import { shapeOf } from '../../src/plan/shape.js'
import { fc } from '../helpers/property.js'
import * as model from '../wire/json-model.js'

// Values that move between the body and the other places of a request, and bodies in other formats, held against the same change made
// on the parsed document, and against other readers of these formats.

const RUNS = { numRuns: 500 }
const NAMES = ['a', 'b', 'c', 'é', 'x y'] as const
const DATA_URL = 'data:image/png;base64,iVBORw0KGgo='

type Document = Record<string, unknown>

const scalar = fc.constantFrom<unknown>(
  ...[1, -7, 1.5, 'x', 'é', 'a b', '', '.', '..', '/', 'a\r\nb', 'x'.repeat(2049), null, true, false],
  ...[DATA_URL, 'iVBORw0KGgo='],
)
const { document } = fc.letrec<{ value: unknown; document: Document }>(tie => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, tie('document'), fc.array(tie('value'), { maxLength: 3 })),
  document: fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 4 }),
}))
const path = fc.array(fc.constantFrom(...NAMES, '0'), { minLength: 1, maxLength: 2 }).map(names => names.join('.'))
const place = fc.constantFrom('path.one', 'path.two', 'query.one', 'query.two', 'header.X-One', 'header.x-two')

/** A request whose values have been moved, or the member for whose value it is refused. */
type Shaped =
  | { readonly refused: string }
  | {
      readonly rest: string
      readonly params: Readonly<Record<string, string>>
      readonly query: readonly (readonly [string, string])[]
      readonly headers: readonly string[]
    }

function shaped(doc: Document, sends: readonly (readonly [string, string])[]): Shaped {
  const verbs = sends.map(([from, to]): VerbConfig => ({ send: { [from]: to } }))
  const shape = shapeOf(verbs, undefined)
  if (shape === undefined) throw new Error('no shape')
  const request = { method: 'POST', path: '', headers: ['x-kept', '1', 'x-one', 'old'], body: text(doc) }
  try {
    const { placed, body, headers } = shapedJson(shape, request)
    const rest = model.canonical(JSON.parse(String(body)))
    return { rest, params: placed.params, query: [...placed.query], headers }
  } catch (cause) {
    if (cause instanceof GatewayError && cause.code === 'invalid_parameter')
      return { refused: cause.details.param ?? '' }
    throw cause
  }
}

/** The same for the parsed document. */
function expected(doc: Document, sends: readonly (readonly [string, string])[]): Shaped {
  let rest: unknown = doc
  const params: Record<string, string> = {}
  const query: [string, string][] = []
  const headers: [string, string][] = []
  for (const [from, to] of sends) {
    const value = model.find(rest, from.split('.'))
    rest = model.remove(rest, from.split('.'))
    const [where = '', name = ''] = to.split('.')
    const isNothing = value === undefined || value === null || value === ''
    if (isNothing && where !== 'path') continue
    const said = typeof value === 'object' ? '' : String(value)
    const isShort = !isNothing && typeof value !== 'object' && said.length <= 2048
    const isPlain = { path: said !== '.' && said !== '..', query: true, header: /^[ -~]+$/.test(said) }[where]
    if (!isShort || isPlain !== true) return { refused: from }
    if (where === 'path') params[name] = said
    else if (where === 'query') query.push([name, said])
    else headers.push([name.toLowerCase(), said])
  }
  const kept = headers.some(([name]) => name === 'x-one') ? ['x-kept', '1'] : ['x-kept', '1', 'x-one', 'old']
  return { rest: model.canonical(rest), params, query, headers: [...kept, ...headers.flat()] }
}

function text(doc: Document): Buffer {
  return Buffer.from(JSON.stringify(doc))
}

t.test('send: what leaves the body, and what stays, is that of the parsed document', async () => {
  fc.assert(
    fc.property(document, fc.array(fc.tuple(path, place), { minLength: 1, maxLength: 3 }), (doc, sends) => {
      deepEqual(shaped(doc, sends), expected(doc, sends))
    }),
    { numRuns: 2000 },
  )
})

t.test('take: what comes from the other places is there as if it had been set', async () => {
  const beside = fc.record({
    params: fc.dictionary(fc.constantFrom('one', 'two'), fc.string()),
    query: fc.dictionary(fc.constantFrom('one', 'two'), fc.string()),
    headers: fc.dictionary(fc.constantFrom('x-one', 'x-two'), fc.string()),
  })
  fc.assert(
    fc.property(
      document,
      beside,
      fc.array(fc.tuple(place, path), { minLength: 1, maxLength: 3 }),
      (doc, { params, query, headers }, takes) => {
        const shape = shapeOf(
          takes.map(([from, to]): VerbConfig => ({ take: { [from]: to } })),
          undefined,
        )
        const call = { params, query: new URLSearchParams(query), request: { headers } } as unknown as Call
        const exchange = { model: 'unused' } as unknown as Exchange
        const made = shape === undefined ? text(doc) : withTaken(shape, call, exchange, text(doc))
        const wanted = takes.reduce<unknown>((value, [from, to]) => {
          const [where = '', name = ''] = from.split('.')
          const found = { path: params, query, header: headers }[where]?.[name.toLowerCase()]
          return found === undefined ? value : model.set(value, to.split('.'), found, 'always')
        }, doc)
        equal(model.canonical(JSON.parse(String(made))), model.canonical(wanted))
      },
    ),
    RUNS,
  )
})

/** The body in another format, with its media type. */
function formatted(doc: Document, format: BodyFormat): { readonly type: string; readonly body: Buffer } {
  const shape = shapeOf([], format)
  if (shape === undefined) throw new Error('no shape')
  const { headers, body } = shapedJson(shape, { method: 'POST', path: '', headers: [], body: text(doc) })
  return { type: headers[headers.indexOf('content-type') + 1] ?? '', body: Buffer.from(body as Uint8Array) }
}

/** What the document says in the fields of a form: lists one by one, nothing of null. */
function fieldsOf(doc: Document): readonly (readonly [string, unknown])[] {
  return Object.entries(doc).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).filter(one => one !== null).map(one => [name, one] as const),
  )
}

const said = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

t.test('sends: form has the fields of the parsed document, as another reader of forms finds them', async () => {
  await fc.assert(
    fc.asyncProperty(document, async doc => {
      const { type, body } = formatted(doc, 'form')
      const form = await new Response(body, { headers: { 'content-type': type } }).formData()
      const found = await Promise.all(
        Array.from(form, async ([name, value]) => {
          if (typeof value === 'string') return [name, value]
          return [name, value.type, Buffer.from(await value.arrayBuffer()).toString('base64')]
        }),
      )
      const wanted = fieldsOf(doc).map(([name, value]) =>
        value === DATA_URL ? [name, 'image/png', 'iVBORw0KGgo='] : [name, said(value)],
      )
      deepEqual(found, wanted)
    }),
    RUNS,
  )
})

t.test('sends: urlencoded has the same fields', async () => {
  fc.assert(
    fc.property(document, doc => {
      const { type, body } = formatted(doc, 'urlencoded')
      equal(type, 'application/x-www-form-urlencoded')
      deepEqual(
        [...new URLSearchParams(String(body))],
        fieldsOf(doc).map(([name, value]) => [name, said(value)]),
      )
    }),
    RUNS,
  )
})

t.test('sends: bytes has what the member holds, and a request without base64 in it is refused', async () => {
  fc.assert(
    fc.property(document, doc => {
      const value = doc.a
      // Of the texts here, these are base64, too: without padding, or as a data URL.
      const isThere = typeof value === 'string' && [DATA_URL, 'iVBORw0KGgo='].includes(value)
      try {
        const { type, body } = formatted(doc, { bytes: 'a' })
        const [media, base64] = value === DATA_URL ? ['image/png', 'iVBORw0KGgo='] : ['application/octet-stream', value]
        deepEqual([type, body], [media, Buffer.from(String(base64), 'base64')])
        equal(isThere, true)
      } catch (cause) {
        if (!(cause instanceof GatewayError) || isThere) throw cause
      }
    }),
    RUNS,
  )
})
