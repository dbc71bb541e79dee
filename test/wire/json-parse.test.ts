import { deepEqual, equal, throws } from 'node:assert/strict'
import t from 'tap'
import type { Json } from '../../src/core/json.js'
import { costOf, heapOf } from '../../src/wire/json-cost.js'
import { parseSteps } from '../../src/wire/json-parse.js'
import { SHAPES } from '../helpers/bombs.js'
import { fc } from '../helpers/property.js'
import { documents, mutants } from './json-documents.js'

const parsed = (text: string, step: number, isKnown?: (name: string) => boolean): Json =>
  last(parseSteps(Buffer.from(text), { isKnown, step }))

function last<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Also the order of members. */
const shown = (value: unknown): string => JSON.stringify(value)

t.test('parsing in steps gives what JSON.parse gives', async () => {
  fc.assert(
    fc.property(documents, fc.constantFrom(1, 2, 7, 40), (text, step) => {
      const whole: unknown = JSON.parse(text)
      const made = parsed(text, step)
      deepEqual(made, whole)
      equal(shown(made), shown(whole))
    }),
    { numRuns: 3000 },
  )
})

t.test('and refuses what JSON.parse refuses', async () => {
  fc.assert(
    fc.property(mutants, fc.constantFrom(1, 3, 1000), (text, step) => {
      const bytes = Buffer.from(text)
      const sent = bytes.toString('utf8')
      try {
        JSON.parse(sent)
      } catch {
        throws(() => parsed(text, step), SyntaxError)
        return
      }
      equal(shown(parsed(text, step)), shown(JSON.parse(sent)))
    }),
    { numRuns: 5000 },
  )
})

t.test('members that no one knows are not made', async t => {
  const known = (name: string): boolean => name === 'a' || name === 'b'
  for (const step of [1, 1000]) {
    t.same(
      parsed('{"m":[1,[2]],"a":[1,{"x":[2]}],"n":{"a":[1]},"b":{"m":[3]},"o":[ ],"p":{ },"q":"s","r":7}', step, known),
      {
        m: [0],
        a: [1, { x: [2] }],
        n: { 0: 0 },
        b: { m: [3] },
        o: [],
        p: {},
        q: 's',
        r: 7,
      },
    )
    t.same(
      parsed('{"a":1,"__proto__":{"a":[1]},"b":[2]}', step, known),
      JSON.parse('{"a":1,"__proto__":{"0":0},"b":[2]}'),
    )
    t.throws(() => parsed('{"m":[1,,2]}', step, known), SyntaxError, 'but checked')
    t.same(parsed('[{"m":[1]}]', step, known), [{ m: [1] }], 'of an object alone')
  }
})

t.test('values are counted', async t => {
  const valuesOf = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 1
      : Object.values(value).reduce((sum: number, one) => sum + valuesOf(one), 1)
  fc.assert(
    fc.property(documents, text => {
      const counted = last(costOf(Buffer.from(text), 1e9)).values
      const kept = valuesOf(JSON.parse(text))
      // Of two members of one name the parsed document has the last.
      equal(counted >= kept, true, `${counted} of ${kept}`)
      if (!/"([^"]*)"\s*:.*"\1"\s*:/s.test(text) && !text.includes('\\')) equal(counted, kept, text)
    }),
    { numRuns: 2000 },
  )
  for (const { name, json } of SHAPES) {
    const text = json(20_000)
    t.equal(last(costOf(Buffer.from(text), 1e9)).values, valuesOf(JSON.parse(text)), name)
  }
  t.ok(last(costOf(Buffer.from(`[${'[],'.repeat(100_000)}0]`), 1000)).values < 1010, 'no further than to the limit')
  t.ok(heapOf(30_000_000, 15_000_000, 15_000_000) > 840_000_000, 'lists in lists')
})
