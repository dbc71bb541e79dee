import { fc } from '../helpers/property.js'

const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/)
const key = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom('model', 'stream', 'a', 'b', '__proto__', 'constructor', 'é', '😀'),
)
const number = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => JSON.stringify(value)),
  fc.constantFrom('0', '-0', '1e5', '1E-5', '12345678901234567890', '1.0', '-0.10e+01'),
)
const string = fc
  .oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.string({ maxLength: 80 }))
  .chain(text => fc.constantFrom(JSON.stringify(text), escaped(text)))

/** A string with every character escaped. */
function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
  return `"${units.map(unit => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`
}

const { object } = fc.letrec<{ value: string; object: string; array: string }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    string,
    fc.constantFrom('true', 'false', 'null'),
    tie('object'),
    tie('array'),
  ),
  array: fc
    .tuple(space, fc.array(fc.tuple(space, tie('value'), space), { maxLength: 5 }))
    .map(([inner, items]) => `[${items.length === 0 ? inner : items.map(item => item.join('')).join(',')}]`),
  object: fc
    .tuple(space, fc.array(fc.tuple(space, key, space, space, tie('value'), space), { maxLength: 6 }))
    .map(([inner, members]) => {
      const texts = members.map(([a, name, b, c, value, d]) => `${a}${JSON.stringify(name)}${b}:${c}${value}${d}`)
      return `{${texts.length === 0 ? inner : texts.join(',')}}`
    }),
}))

/** Texts of JSON objects, with all spellings of space, numbers and strings, and with keys that occur twice. */
export const documents: fc.Arbitrary<string> = fc.tuple(space, object, space).map(parts => parts.join(''))

/** Texts that are a few bytes away from a JSON object. */
export const mutants: fc.Arbitrary<string> = fc
  .tuple(
    documents,
    fc.array(fc.tuple(fc.nat(1000), fc.nat(3), fc.constantFrom(...'{}[]",:\\0123456789-+.eE tfn\n\u0000\u001fux')), {
      minLength: 1,
      maxLength: 3,
    }),
  )
  .map(([text, edits]) =>
    edits.reduce((result, [place, removed, added]) => {
      const at = place % (result.length + 1)
      return result.slice(0, at) + (removed === 3 ? '' : added) + result.slice(at + removed)
    }, text),
  )

/** The object that `JSON.parse` makes of a text; `undefined` where it makes none. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  const value = parseContainer(text)
  return Array.isArray(value) ? undefined : (value as Record<string, unknown> | undefined)
}

/** The object or array that `JSON.parse` makes of a text; `undefined` where it makes neither. */
export function parseContainer(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
