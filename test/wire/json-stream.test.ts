import t from 'tap'
import { JsonStreamDecoder } from '../../src/wire/json-stream.js'
import { WireLimitError } from '../../src/wire/sse.js'
import { fc } from '../helpers/property.js'
import { cut, cutEverywhere, cutsInTwo, places } from './cuts.js'

interface Decoded {
  readonly documents: readonly string[]
  readonly end: 'whole' | 'cut' | 'over'
}

/** What a decoder makes of a stream, and how that ended. */
function decode(chunks: readonly Uint8Array[], event = 1e6): Decoded {
  const decoder = new JsonStreamDecoder({ event })
  const documents: string[] = []
  try {
    for (const chunk of chunks) documents.push(...decoder.push(chunk))
    return { documents, end: decoder.end() }
  } catch (error) {
    if (!(error instanceof WireLimitError) || error.limit !== 'event') throw error
    return { documents, end: 'over' }
  }
}

function whole(text: string): Decoded {
  return decode([Buffer.from(text)])
}

t.test('newline-delimited documents come one by one', async t => {
  t.same(whole('{"a":1}\n{"b":[2]}\n'), { documents: ['{"a":1}', '{"b":[2]}'], end: 'whole' })
  t.same(whole('{"a":1}\r\n\r\n{"b":2}'), { documents: ['{"a":1}', '{"b":2}'], end: 'whole' })
})

t.test('the elements of one array come one by one', async t => {
  const pretty = '[{\n  "a": 1\n}\n,\r\n{\n  "b": [\n    2\n  ]\n}\n]\n'
  t.same(whole(pretty), { documents: ['{\n  "a": 1\n}', '{\n  "b": [\n    2\n  ]\n}'], end: 'whole' })
  t.same(whole('[1,"a"\n,[2],null]'), { documents: ['1', '"a"', '[2]', 'null'], end: 'whole' })
  t.same(whole('[]'), { documents: [], end: 'whole' })
})

t.test('the first byte that is not space says which of the two it is', async t => {
  t.same(whole('\uFEFF \r\n [ {} ] '), { documents: ['{}'], end: 'whole' })
  t.same(whole('\n\t{}\n[1,2]\n'), { documents: ['{}', '[1,2]'], end: 'whole' })
})

t.test('a document may be on several lines', async t => {
  t.same(whole('{\n "a": {\n "b": "x" }\n}\n{}'), { documents: ['{\n "a": {\n "b": "x" }\n}', '{}'], end: 'whole' })
})

t.test('braces, brackets and escaped quotes in strings are text', async t => {
  const document = JSON.stringify({ a: '}]{["\\', 'b"]': '\\"' })
  t.same(whole(`[${document},${document}]`).documents, [document, document])
  t.same(whole(`${document}\n${document}\n`).documents, [document, document])
})

t.test('a document comes out before the stream ends', async t => {
  const decoder = new JsonStreamDecoder({ event: 100 })
  t.same(decoder.push(Buffer.from('[{"a":1}')), ['{"a":1}'])
  t.same(decoder.push(Buffer.from('\n,\r\n{"a":2}')), ['{"a":2}'])
  t.equal(decoder.end(), 'cut')
})

t.test('a stream that ends in a document or in the array was cut', async t => {
  for (const text of ['{"a":', '{"a":1}\n{"b', '[', '[{}', '[{},', '[{"a":"]', '[1'])
    t.equal(whole(text).end, 'cut', text)
  for (const text of ['', ' \n', '{}', '[{}]', '[{}]\n']) t.equal(whole(text).end, 'whole', text)
})

t.test('what is not JSON comes out as it is', async t => {
  t.same(whole('<html>\n{"a":1}\n').documents, ['<html>', '{"a":1}'])
  t.same(whole('{"a": "broken\n{"b":1}\n').documents, ['{"a": "broken', '{"b":1}'])
  t.same(whole('[}{},nonsense]'), { documents: ['}{}', 'nonsense'], end: 'whole' })
  t.same(whole('[{}] x\n'), { documents: ['{}', 'x'], end: 'whole' })
})

t.test('a document over its limit is an error, behind the documents before it', async t => {
  const decoder = new JsonStreamDecoder({ event: 10 })
  t.same(decoder.push(Buffer.from(`{"a":1}\n{"b":"${'x'.repeat(20)}"}\n{"c":1}\n`)), ['{"a":1}'])
  t.throws(() => decoder.push(Buffer.from('{}')), WireLimitError)
  t.throws(() => decoder.end(), WireLimitError)
})

t.test('space between documents is not held', async t => {
  t.same(decode([Buffer.from(`[${' '.repeat(1000)}{"a":1}${'\n'.repeat(1000)}]`)], 10).documents, ['{"a":1}'])
})

t.test('a stream that is cut in two, at every byte', async t => {
  const documents = [{ text: 'Grüße "𝔘"', n: [1, { a: '\\' }] }, { text: ']}' }, {}]
  for (const indent of [0, 2]) {
    const texts = documents.map(document => JSON.stringify(document, undefined, indent))
    for (const stream of [`${texts.join('\n')}\n`, `[${texts.join('\n,\r\n')}\n]`]) {
      const expected = { documents: texts, end: 'whole' }
      for (const chunks of cutsInTwo(Buffer.from(stream))) t.same(decode(chunks), expected)
    }
  }
})

const PIECES = [
  ...['[', ']', '{', '}', ',', '"', '\\', '\n', '\r\n', ' ', '1', 'x', 'é', '\uFEFF', '{"a":"é]"}', '{"b":[{}]}'],
  ...['{\n"c": "\\""\n}', '\n,\r\n', '"s"', '"open\n'],
]

t.test('where the stream is cut makes no difference', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...PIECES), { maxLength: 20 }),
      places,
      fc.constantFrom(1, 3, 8, 1000),
      (pieces, at, limit) => {
        const bytes = Buffer.from(pieces.join(''))
        const expected = JSON.stringify(decode([bytes], limit))
        for (const chunks of [cut(bytes, at), cutEverywhere(bytes), ...cutsInTwo(bytes)]) {
          if (JSON.stringify(decode(chunks, limit)) !== expected) throw new Error(`cut as ${chunks.join('|')}`)
        }
      },
    ),
  )
})

t.test('any JSON documents come back, in either framing', async () => {
  const join: Record<string, (documents: readonly string[]) => string> = {
    lines: documents => documents.map(document => `${document}\n`).join(''),
    array: documents => `[${documents.join('\n,\r\n')}\n]`,
  }
  const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 5 })
  fc.assert(
    fc.property(
      objects,
      fc.constantFrom('lines', 'array'),
      fc.constantFrom(0, 2),
      places,
      (values, how, indent, at) => {
        const documents = values.map(value => JSON.stringify(value, undefined, indent))
        const read = decode(cut(Buffer.from(join[how]?.(documents) ?? ''), at))
        if (JSON.stringify(read) !== JSON.stringify({ documents, end: 'whole' })) throw new Error(JSON.stringify(read))
      },
    ),
  )
})
