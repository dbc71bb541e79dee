import t from 'tap'
import type { VerbConfig } from '../../src/core/config.js'
import { startCounting } from './work.js'

const counter = await startCounting('/src/wire/', '/src/plan/')
t.teardown(() => counter.stop())

const { changeValues, keepMembers, removeMember, removeWhere, renameMember, setValue, within, wrapValue } =
  await import('../../src/wire/json-edit.js')
const { bytesOf, multipartOf, urlencodedOf } = await import('../../src/wire/form-of-json.js')
const { compileVerbs } = await import('../../src/plan/verbs.js')
const { JsonScanner } = await import('../../src/wire/json-scan.js')
const { JsonStreamDecoder } = await import('../../src/wire/json-stream.js')
const { MultipartForm } = await import('../../src/wire/multipart-form.js')
const { MultipartEdit } = await import('../../src/wire/multipart-edit.js')
const { SseDecoder } = await import('../../src/wire/sse.js')
const { SseRelay } = await import('../../src/wire/sse-relay.js')
const { PlacedValues } = await import('../../src/wire/placed-values.js')
const { EventUsage } = await import('../../src/wire/event-usage.js')
const { Tail } = await import('../../src/wire/tail.js')

const SMALL = 300
const LARGE = 3000
/** How much more a byte of a large input may cost than one of a small input. */
const SLACK = 1.3

type Reader = (chunks: readonly Buffer[]) => void

/** Every shape repeats `n` times something that a careless reader might look at more than once. */
const JSON_SHAPES: Record<string, (n: number) => string> = {
  'one long string': n => `{"a":"${'x'.repeat(10 * n)}"}`,
  'a string full of escapes': n => `{"a":"${'\\"\\\\\\n\\u0041'.repeat(n)}"}`,
  'a string with rare escapes': n => `{"a":"${`${'x'.repeat(1100)}\\n`.repeat(n / 60)}"}`,
  'long strings without escapes': n => `{"a":[${`"${'x'.repeat(1200)}",`.repeat(n / 60)}0]}`,
  'control characters in a string': n => `{"a":"${'x'.repeat(1100)}${'\n'.repeat(10 * n)}"}`,
  'an unfinished string': n => `{"a":"${'\\\\'.repeat(n)}`,
  'many numbers': n => `{"a":[${'123456,'.repeat(n)}0]}`,
  'one long number': n => `{"a":1${'0'.repeat(n)}.${'0'.repeat(n)}e${'0'.repeat(n)}}`,
  'deep nesting': n => `{"a":${'[{"b":'.repeat(n)}0${'}]'.repeat(n)}}`,
  'many members': n => `{${Array.from({ length: n }, (_, i) => `"k${i}":${i}`).join(',')}}`,
  'one name, many times': n => `{${'"a":1,'.repeat(n)}"b":1}`,
  'almost a control name': n => `{${`"${'\\u006d'.repeat(5)}x":1,`.repeat(n)}"b":1}`,
  'a long key': n => `{"${'m'.repeat(10 * n)}":1}`,
  'a lot of space': n => `{${' \n\t'.repeat(n)}}`,
}

const SSE_SHAPES: Record<string, (n: number) => string> = {
  'many events': n => 'data: {"a":1}\n\n'.repeat(n),
  'one long line': n => `data: {"a":"${'x'.repeat(10 * n)}"}\n\n`,
  'a line that never ends': n => `data: {"a":"${'x'.repeat(10 * n)}`,
  'one event of many lines': n => `${'data: 1,\n'.repeat(n)}data: ]\n\n`,
  'a comment flood': n => ': c\n'.repeat(n),
  'a flood of comments that are events': n => ':\n\n'.repeat(n),
  'blank lines': n => '\n\r\r\n'.repeat(n),
  'LF only, then CR only': n => `${'data: {}\n\n'.repeat(n)}${'data: {}\r\r'.repeat(n)}`,
  'a type far behind': n => `data: {${'"a":"end",'.repeat(n)}"type":"x"}\n\n`.repeat(2),
}

/** Streams of documents: one a line, over several lines, and in one array. */
const JSON_STREAM_SHAPES: Record<string, (n: number) => string> = {
  ...JSON_SHAPES,
  'many documents': n => '{"a":1}\n'.repeat(n),
  'documents without a line between them': n => '{"a":1}'.repeat(n),
  'documents over several lines': n => '{\n"a":\n1\n}\n'.repeat(n),
  'bare values': n => '1\n"a"\nnull\n'.repeat(n),
  'lines that are not JSON': n => 'data: x\n'.repeat(n),
  'an array of documents': n => `[${'{"a":1}\n,\r\n'.repeat(n)}]`,
  'an array of bare values': n => `[${'1,"a",'.repeat(n)}]`,
  'an array of commas': n => `[${','.repeat(n)}`,
  'an array and much behind it': n => `[]${'\n{}'.repeat(n)}`,
  'one document that never ends': n => `{"a":[${'1,'.repeat(n)}`,
  'strings that never end, a line each': n => '{"a\n'.repeat(n),
  'byte order marks': n => '\ufeff'.repeat(n),
}

const PART = '--B\r\nContent-Disposition: form-data; name="a'

/** Bodies of multipart forms, whose boundary is `B`. */
const FORM_SHAPES: Record<string, (n: number) => string> = {
  'one large file': n => `${PART}"; filename="b"\r\n\r\n${'x'.repeat(10 * n)}\r\n--B--`,
  'one large field': n => `${PART}"\r\n\r\n${'x'.repeat(10 * n)}\r\n--B--`,
  'a file of line breaks': n => `${PART}"; filename="b"\r\n\r\n${'\r\n'.repeat(10 * n)}`,
  'a file of CRs': n => `${PART}"; filename="b"\r\n\r\n${'\r'.repeat(10 * n)}`,
  'a file of LFs': n => `${PART}"; filename="b"\r\n\r\n${'\n'.repeat(10 * n)}`,
  'a file of dashes': n => `${PART}"; filename="b"\r\n\r\n${'-'.repeat(10 * n)}`,
  'almost boundaries': n => `${PART}"; filename="b"\r\n\r\n${'\r\n--A\r\n-\n--'.repeat(n)}`,
  'boundaries within lines': n => `${PART}"; filename="b"\r\n\r\n${'x--B'.repeat(n)}`,
  'many parts': n => `${`${PART}"\r\n\r\nx\r\n`.repeat(n)}--B--`,
  'many empty files': n => `${`${PART}"; filename=""\r\n\r\n\r\n`.repeat(n)}--B--`,
  'one long header': n => `${PART}${'x'.repeat(20 * n)}"\r\n\r\n\r\n--B--`,
  'one long header without end': n => `--B\r\nX: ${'y'.repeat(20 * n)}`,
  'a name of escapes': n => `${PART}${'\\"'.repeat(10 * n)}"\r\n\r\n\r\n--B--`,
  'a name of percent signs': n => `${PART}${'%41'.repeat(10 * n)}"\r\n\r\n\r\n--B--`,
  'a name of brackets and spaces': n => `${PART}${' '.repeat(5 * n)}${'['.repeat(5 * n)}"\r\n\r\n\r\n--B--`,
  'a disposition of semicolons': n => `${PART}"${'; '.repeat(10 * n)}\r\n\r\n\r\n--B--`,
  'a disposition of parameters': n =>
    `${PART}"${Array.from({ length: n }, (_, i) => `; p${i}=${i}`).join('')}\r\n\r\n\r\n--B--`,
  'a disposition of open quotes': n => `${PART}${'"=";'.repeat(10 * n)}\r\n\r\n`,
  'many headers': n => `--B\r\n${'X: y\r\n'.repeat(10 * n)}Content-Disposition: form-data; name=a\r\n\r\nx\r\n--B--`,
  'a header of spaces': n => `--B\r\nX:${' '.repeat(10 * n)}\r\n\r\nx\r\n--B--`,
  'a lot of padding': n => `--B${' \t'.repeat(5 * n)}\r\nX: y\r\n\r\n`,
  'a long preamble': n => `${'x\r\n--'.repeat(5 * n)}\r\n--B--`,
  'a long epilogue': n => `--B--\r\n${'x\r\n--'.repeat(5 * n)}`,
}

/** Verbs, on values that the shapes have; each has the whole document. */
const VERBS: Record<string, VerbConfig[]> = {
  'verbs of texts': [
    ...[{ template: { b: '{a}-{a}' } }, { split: { a: { at: 'x', into: ['b', 'c'] } } }],
    ...[{ base64: { a: 'encode' } }, { base64: { a: 'decode' } }],
  ],
  'verbs of lists': [{ append: { a: 'x' } }, { insert: { 'a.0': 1 } }, { list: ['a', 'b'] }, { join: { a: ' ' } }],
  'verbs of values': [
    ...[{ cast: { 'a.*': 'string' } }, { map: { 'a.*': { '123456': 1 } } }, { only: { 'a.*': [0] } }],
    { when: { if: { a: 1, b: 1 }, do: [{ remove: ['b'] }], else: [{ set: { c: 1 } }] } },
  ],
}

const JSON_READERS: Record<string, Reader> = {
  'declared places': chunks => {
    const values = new PlacedValues([['a'], ['b', '*', 'c']])
    for (const chunk of chunks) values.push(chunk)
  },
  'scan and skeleton': chunks => {
    const scanner = new JsonScanner({ control: ['model', 'stream'], depth: 1e6, members: 1e6 })
    for (const chunk of chunks) scanner.push(chunk)
    if (scanner.end() === undefined) scanner.skeleton()
  },
  edits: chunks =>
    onDocument(chunks, doc => {
      setValue(doc, ['new', 'path'], '1', 'always')
      removeMember(doc, ['a'])
    }),
}

/** What edits a whole document: one piece is as good as many. */
const DOCUMENT_READERS: Record<string, Reader> = {
  'edits of every value': chunks =>
    onDocument(chunks, doc => {
      changeValues(doc, ['*'], () => '1')
      changeValues(doc, ['a', '*'], () => '1')
      removeWhere(doc, ['a', '*'], () => true)
      within(doc, ['a', '*', 'b'], (part, rest) => removeMember(part, rest))
      renameMember(doc, ['a', '*', 'b'], ['a', '*', 'c'])
      wrapValue(doc, ['a', '*'], 'b')
      keepMembers(doc, [['b'], ['a', '*', 'b'], ['k1']])
    }),
  ...Object.fromEntries(
    Object.entries(VERBS).map(([name, verbs]): [string, Reader] => {
      const changes = verbs.map(verb => compileVerbs([verb]))
      return [name, chunks => onDocument(chunks, doc => changes.map(change => change?.(doc)))]
    }),
  ),
}

const FORM_OF_JSON_READERS: Record<string, Reader> = {
  'a form of JSON': chunks =>
    onDocument(chunks, doc => {
      multipartOf(doc)
      urlencodedOf(doc)
      bytesOf(doc, 'a')
    }),
}

function onDocument(chunks: readonly Buffer[], edit: (doc: Buffer) => unknown): void {
  try {
    edit(Buffer.concat(chunks))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
}

const JSON_STREAM_READERS: Record<string, Reader> = {
  'stream of documents': chunks => {
    const decoder = new JsonStreamDecoder({ event: 1e9 })
    for (const chunk of chunks) decoder.push(chunk)
    decoder.end()
  },
}

const SSE_READERS: Record<string, Reader> = {
  relay: chunks => {
    const stream = new SseRelay({ line: 1e9, event: 1e9, end: { data: '[DONE]', events: ['end'] } })
    for (const chunk of chunks) stream.push(chunk)
  },
  decoder: chunks => {
    const decoder = new SseDecoder({ line: 1e9, event: 1e9 })
    for (const chunk of chunks) decoder.push(chunk)
  },
}

const NO_LIMITS = { parts: 1e9, head: 1e9, headers: 1e9, field: 1e9, fields: 1e9 }

const FORM_READERS: Record<string, Reader> = {
  'multipart form': chunks => {
    const form = new MultipartForm('B', { control: ['model', 'stream'], limits: NO_LIMITS })
    try {
      for (const chunk of chunks) form.push(chunk)
      form.end()
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'MultipartError') throw error
    }
  },
}

const EDIT_READERS: Record<string, Reader> = {
  'multipart edit': chunks => {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0)
    const bytes = Buffer.from('x')
    const edit = new MultipartEdit(
      Array.from({ length: length / 100 }, (_, i) => ({ start: 100 * i, end: 100 * i + 2, bytes })),
    )
    for (const chunk of chunks) edit.push(chunk)
  },
}

/** Ways in which a text may come. */
const CHUNKS: Record<string, number> = {
  'in one piece': Number.POSITIVE_INFINITY,
  'in pieces of 100': 100,
  'byte by byte': 1,
}

function pieces(text: string, size: number): Buffer[] {
  const bytes = Buffer.from(text)
  const result: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size) result.push(bytes.subarray(at, Math.min(at + size, bytes.length)))
  return result
}

/** Steps for a byte of a text of this shape. */
async function stepsPerByte(read: Reader, text: string, size: number): Promise<number> {
  const chunks = pieces(text, size)
  return (await counter.count(() => read(chunks))) / Buffer.byteLength(text)
}

/** Without the depth that requests cannot have: values within parts are written by `JSON.stringify`. */
const { 'deep nesting': _deep, ...FLAT_SHAPES } = JSON_SHAPES

const WHOLE = { 'in one piece': Number.POSITIVE_INFINITY }

for (const [readers, shapes, cuts] of [
  [JSON_READERS, JSON_SHAPES, CHUNKS],
  [DOCUMENT_READERS, JSON_SHAPES, WHOLE],
  [FORM_OF_JSON_READERS, FLAT_SHAPES, WHOLE],
  [JSON_STREAM_READERS, JSON_STREAM_SHAPES, CHUNKS],
  [SSE_READERS, SSE_SHAPES, CHUNKS],
  [FORM_READERS, FORM_SHAPES, CHUNKS],
  [EDIT_READERS, { 'any body': (n: number) => 'x'.repeat(10 * n) }, CHUNKS],
] as const)
  for (const [name, read] of Object.entries(readers))
    t.test(`F-C12 ${name}: a byte takes no more steps in a large input than in a small one`, async t => {
      for (const [shapeName, shape] of Object.entries(shapes))
        for (const [cutName, size] of Object.entries(cuts)) {
          const small = await stepsPerByte(read, shape(SMALL), size)
          const large = await stepsPerByte(read, shape(LARGE), size)
          t.ok(large < small * SLACK, `${shapeName}, ${cutName}: ${small.toFixed(2)} and ${large.toFixed(2)}`)
        }
    })

t.test('F-C12 usage: the end of a stream takes a bounded number of steps, with anything in it', async t => {
  const paths = { input: [['a', 'b']], output: [['b', 'c']] }
  const shapes = {
    ...JSON_SHAPES,
    nested: (n: number) => '{"a":'.repeat(n),
    listed: (n: number) => '"a":1x,'.repeat(n),
    'events of one name': (n: number) => 'data: {"a":{"x":"b"}}\n\n'.repeat(n),
    'lines of one name': (n: number) => 'data: "a"\n'.repeat(n),
  }
  for (const [shapeName, shape] of Object.entries(shapes)) {
    const tail = new Tail()
    tail.push(Buffer.from(shape(LARGE)).subarray(0, 16 * 1024))
    const steps = await counter.count(() => new EventUsage(paths).usage(tail, undefined))
    t.ok(steps < 16 * 1024 * 50, `${shapeName}: ${steps}`)
  }
})
