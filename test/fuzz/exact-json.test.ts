import { deepEqual, equal } from 'node:assert/strict'
import fc from 'fast-check'
import { jsonText, readExact } from '../../src/core/exact-json.js'
import { ExactNumber } from '../../src/core/json.js'
import { documents, mutants } from '../wire/json-documents.js'
import { fuzz } from './run.js'

/** The tokens of a JSON text, without the space between them, strings as `JSON.stringify` writes them. */
function compact(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|[\t\n\r ]+/g, token =>
    token.startsWith('"') ? JSON.stringify(JSON.parse(token)) : '',
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The value with doubles in place of exact numbers. */
function rounded(value: unknown): unknown {
  if (value instanceof ExactNumber) return value.value
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, rounded(one)]))
}

/** Short texts are searched, long ones walked through. */
const long = fc
  .tuple(fc.oneof(documents, mutants), fc.boolean())
  .map(([text, isLong]) => (isLong ? `${text}${' '.repeat(3000)}` : text))

fuzz('exact JSON is the JSON that JSON.parse reads', {
  inputs: long,
  check(text) {
    const value = readExact(text)
    const plain = parsed(text)
    equal(value === undefined, plain === undefined)
    if (plain !== undefined) deepEqual(rounded(value), rounded(plain))
  },
})

const number = fc.oneof(
  fc.stringMatching(/^-?(?:0|[1-9][0-9]{0,25})(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?$/),
  fc.constantFrom('-0', '1.10', '1e400', '1234567890123456789', '0.0000001', '9007199254740993'),
)
const { value } = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    fc.string({ maxLength: 40 }).map(text => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 4 }).map(items => `[${items.join(', ')}]`),
    fc
      .uniqueArray(fc.stringMatching(/^[a-z_"\\]{1,4}$/), { maxLength: 4 })
      .chain(names =>
        fc.tuple(fc.constant(names), fc.array(tie('value'), { minLength: names.length, maxLength: names.length })),
      )
      .map(([names, values]) => `{${names.map((name, i) => `${JSON.stringify(name)} :${values[i]}`).join(',')}}`),
  ),
}))

fuzz('every number is written as it was read', {
  inputs: fc.tuple(value, fc.boolean()).map(([text, isLong]) => (isLong ? `["${'x'.repeat(3000)}",${text}]` : text)),
  check(text) {
    const read = readExact(text)
    equal(read === undefined ? undefined : jsonText(read), compact(text))
  },
})
