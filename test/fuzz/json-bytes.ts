import fc from 'fast-check'
import { documents, mutants } from '../wire/json-documents.js'

/** Bytes and how often they stand in a row, or a text. */
type Part = string | readonly [hex: string, times: number]

/** What is in strings: text, escapes, control characters, and whatever is not UTF-8. */
const IN_STRINGS = fc.oneof(
  { arbitrary: fc.constantFrom('78', 'c3a9', 'f09f9880', '5c6e', '5c22', '5c5c', '5c7530306139'), weight: 6 },
  { arbitrary: fc.constantFrom('5c75643830', '5c7564383030', '5c7564303030', '5c75', '5c', '5c78'), weight: 1 },
  {
    arbitrary: fc.constantFrom('ff', 'c3', 'e282', 'eda080', 'f09f', 'f05c6e', 'e25c5c', 'c0a2', 'efbbbf', '80'),
    weight: 3,
  },
  { arbitrary: fc.nat(0x20).map(byte => byte.toString(16).padStart(2, '0')), weight: 1 },
)

/** How often: mostly once, else around the sizes at which readers change their ways, in bytes or characters. */
const TIMES = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 3 }), weight: 8 },
  { arbitrary: around(16, 64, 128, 1024), weight: 6 },
  { arbitrary: around(4096), weight: 2 },
)

function around(...sizes: readonly number[]): fc.Arbitrary<number> {
  return fc.tuple(fc.constantFrom(...sizes), fc.integer({ min: -3, max: 3 })).map(([size, more]) => size + more)
}

const string = fc
  .array(fc.tuple(IN_STRINGS, TIMES), { maxLength: 5 })
  .map((parts): readonly Part[] => ['"', ...parts, '"'])

const number = fc
  .tuple(fc.constantFrom('', '-'), fc.constantFrom('31', '30', '2e31', '31653030', '652b31'), TIMES)
  .map(([sign, hex, times]): readonly Part[] => [`${sign}1`, [hex, times]])

const nested = fc
  .tuple(fc.constantFrom('5b', '7b2261223a'), around(8, 64, 2000), fc.integer({ min: -1, max: 1 }))
  .map(([open, depth, more]): readonly Part[] => [[open, depth], '0', [open === '5b' ? '5d' : '7d', depth + more]])

const value = fc.oneof(
  { arbitrary: string, weight: 6 },
  { arbitrary: number, weight: 2 },
  { arbitrary: nested, weight: 1 },
  { arbitrary: fc.oneof(documents, mutants, fc.constantFrom('null', 'true', '[]')).map(text => [text]), weight: 3 },
)

const name = fc.oneof(
  fc
    .constantFrom('"model"', '"stream"', '"a"', '"b"', '"mod\\u0065l"', '"\ufb06ream"', '"m\u200bodel"', '"mod-el"')
    .map((text): readonly Part[] => [text]),
  string,
)

const members = fc
  .array(fc.tuple(name, value), { maxLength: 5 })
  .map(list => ['{', ...list.flatMap(([key, held], index) => [...(index > 0 ? [','] : []), ...key, ':', ...held]), '}'])

/** Documents of all sizes, sound and not, as parts that {@link bytesOf} puts together. */
export const jsonParts: fc.Arbitrary<readonly Part[]> = fc.oneof(
  { arbitrary: members, weight: 6 },
  { arbitrary: fc.oneof(documents, mutants).map(text => [text]), weight: 3 },
  {
    arbitrary: fc.tuple(fc.constantFrom('\uFEFF', ' ', 'x', ''), members).map(([lead, rest]) => [lead, ...rest]),
    weight: 1,
  },
)

export function bytesOf(parts: readonly Part[]): Buffer {
  return Buffer.concat(
    parts.map(part => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part[0].repeat(part[1]), 'hex'))),
  )
}
