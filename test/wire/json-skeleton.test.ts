import { deepStrictEqual, ok } from 'node:assert/strict'
import t from 'tap'
import { JsonScanner } from '../../src/wire/json-scan.js'
import { fc } from '../helpers/property.js'
import { cut, cutEverywhere, places } from './cuts.js'
import { documents, parseObject } from './json-documents.js'

const KIB = 1024
const MIB = 1024 * KIB

function skeleton(chunks: readonly Uint8Array[]): string {
  const scanner = new JsonScanner({ control: [], depth: 64, members: 100_000 })
  for (const chunk of chunks) scanner.push(chunk)
  t.equal(scanner.end(), undefined)
  return scanner.skeleton()
}

function skeletonOf(text: string): string {
  return skeleton([Buffer.from(text)])
}

/** What one string value becomes. */
function shortened(json: string): unknown {
  return JSON.parse(skeletonOf(`{"a":${json},"b":1}`)).a
}

t.test('a small document is its own skeleton, byte for byte', async t => {
  const text = ' {"a" : [1.0, "é\\u00e9", {}],\n"a":2} '
  t.equal(skeletonOf(text), text)
  t.equal(skeleton(cutEverywhere(Buffer.from(text))), text)
})

t.test('the skeleton of a document without long values parses to the same', async () => {
  fc.assert(
    fc.property(documents, places, (text, at) => {
      deepStrictEqual(JSON.parse(skeleton(cut(Buffer.from(text), at))), parseObject(text))
    }),
  )
})

t.test('a string over 1 KiB keeps at most its first 64 bytes', async t => {
  t.equal(shortened(JSON.stringify('x'.repeat(KIB))), 'x'.repeat(KIB), 'not one of 1 KiB')
  t.equal(shortened(JSON.stringify('x'.repeat(KIB + 1))), 'x'.repeat(64))
})

t.test('a string is cut between characters and between escapes', async t => {
  for (const unit of ['é', '漢', '😀', '\\n', '\\\\', '\\"', '\\u00e9', '\\ud83d\\ude00']) {
    for (const lead of ['', 'x', 'xx', 'xxx', 'xxxx', 'xxxxx']) {
      const json = `"${lead}${unit.repeat(1000)}"`
      const value = String(shortened(json))
      const whole = String(JSON.parse(json))
      t.ok(whole.startsWith(value) && value.length >= 9, `${lead} ${JSON.stringify(unit)}`)
    }
  }
})

t.test('bytes that are not UTF-8 take no escape apart', async t => {
  for (const lead of ['f0', 'e2', 'c3', 'f09f', 'ff']) {
    for (let before = 50; before < 66; before++) {
      const bytes = Buffer.concat([
        Buffer.from(`{"a":"${'x'.repeat(before)}`),
        Buffer.from(lead, 'hex'),
        Buffer.from(`${'\\\\'.repeat(1000)}"}`),
      ])
      t.type(JSON.parse(skeleton([bytes])).a, 'string', `${lead} behind ${before}`)
    }
  }
})

t.test('a long number keeps its sign and first digit, a long key its beginning', async t => {
  const nines = '9'.repeat(5000)
  t.equal(shortened(nines), 9)
  t.equal(shortened(`-${nines}`), -9)
  t.equal(shortened(`0.${nines}e-${nines}`), 0)
  t.same(Object.keys(JSON.parse(skeletonOf(`{"${'k'.repeat(5000)}":1}`))), ['k'.repeat(64)])
})

t.test('past 512 KiB every array adds at most 16 elements', async t => {
  const messages = Array.from({ length: 20_000 }, (_, i) => ({ role: 'user', content: `message ${i}` }))
  const text = JSON.stringify({ messages, tools: messages.slice(0, 100), model: 'm' })
  const result = JSON.parse(skeletonOf(text))
  t.ok(JSON.stringify(result).length < 512 * KIB + 2 * KIB)
  t.same(result.messages, messages.slice(0, result.messages.length))
  t.same(result.tools, messages.slice(0, 17))
  t.equal(result.model, 'm')
})

t.test('however a large document is made, its skeleton is at most about 1 MiB of valid JSON', async t => {
  const many = 100_000
  const shapes = {
    'one long string': { a: 'x'.repeat(8 * MIB), model: 'm' },
    'many strings just short enough': { a: Array.from({ length: 8000 }, () => 'y'.repeat(1000)), model: 'm' },
    'long strings in a tail': {
      a: ['z'.repeat(900), 'z'.repeat(2000)].flatMap(each => Array(1000).fill(each)),
      model: 'm',
    },
    'many tokens': { input: Array.from({ length: 200 }, () => Array.from({ length: 2000 }, (_, i) => i)), model: 'm' },
    'many members': { a: Object.fromEntries(Array.from({ length: many }, (_, i) => [`member ${i}`, i])), model: 'm' },
    'arrays in arrays': { a: Array.from({ length: 3000 }, () => [[['z'.repeat(300)], ['z'.repeat(300)]]]), model: 'm' },
    'members in elements': { a: Array.from({ length: 3000 }, () => ({ b: { c: 'z'.repeat(600) } })), model: 'm' },
  }
  for (const [name, shape] of Object.entries(shapes)) {
    const bytes = Buffer.from(JSON.stringify(shape))
    const text = skeletonOf(bytes.toString())
    t.ok(text.length < MIB + 4 * KIB, `${name}: ${text.length}`)
    t.equal(JSON.parse(text).model, 'm', `${name}: what follows is still there`)
    t.equal(skeleton(cut(bytes, [1, 1000, 70_000, 600_000, 600_001])), text, `${name}: also in pieces`)
  }
})

t.test('past 1 MiB the document itself loses its tail', async t => {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`m${i}`, 'v'.repeat(40)])))
  const result = skeletonOf(text)
  t.ok(result.length < MIB + 4 * KIB)
  t.ok(Object.keys(JSON.parse(result)).length > 10_000)
})

t.test('the skeleton of long strings of any make is valid', async () => {
  const long = fc.array(fc.string({ unit: 'binary', minLength: 20, maxLength: 40 }), { minLength: 60, maxLength: 90 })
  fc.assert(
    fc.property(long, places, (parts, at) => {
      const value = parts.join('')
      const text = JSON.stringify({ a: value, b: [value, 1] })
      const result = JSON.parse(skeleton(cut(Buffer.from(text), at)))
      ok(result.a.length <= 64 && result.b[1] === 1)
      // A pair of escapes may be cut in its middle: half of it is left then.
      ok(value.startsWith(result.a) || value.startsWith(result.a.slice(0, -1)))
    }),
  )
})
