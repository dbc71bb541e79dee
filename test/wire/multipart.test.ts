import t from 'tap'
import { MultipartError } from '../../src/wire/multipart-problems.js'
import { fc } from '../helpers/property.js'
import { cut, cutEverywhere, cutsInTwo, places } from './cuts.js'
import { bytesOf, CASES } from './multipart-cases.js'
import { emitted, newForm, newReader, read, summary } from './multipart-reading.js'

t.ok(CASES.length >= 40, `${CASES.length} hand-made bodies`)

for (const each of CASES)
  t.test(`F-M1 ${each.name}`, async t => {
    const bytes = bytesOf(each)
    const form = newForm()
    const { events, error } = read(form, [bytes])
    t.equal(error?.rule, each.rule)
    if (each.message !== undefined) t.match(error?.message, each.message)
    if (each.parts !== undefined) {
      const inOrder = [...form.fields, ...form.files].sort((one, other) => one.start - other.start)
      t.same(
        inOrder.map(part => [part.name, 'value' in part ? part.value : `<${part.head.filename ?? ''}>`]),
        each.parts,
      )
      t.ok(emitted(events).equals(bytes), 'and comes out again as it is')
    }
  })

t.test('F-M1 where a body is cut makes no difference', async t => {
  for (const each of CASES) {
    const bytes = bytesOf(each)
    for (const open of [newReader, newForm]) {
      const whole = read(open(), [bytes])
      // What a form throws at once is before the events of its chunk: only the error is the same.
      const say = open === newForm && whole.error !== undefined ? errorOf : summary
      const expected = say(whole)
      const cuts = bytes.length > 1500 ? [cut(bytes, [3, 700, 1400, 2100])] : cutsInTwo(bytes)
      for (const chunks of [cutEverywhere(bytes), ...cuts])
        if (say(read(open(), chunks)) !== expected) t.equal(say(read(open(), chunks)), expected, each.name)
    }
  }
})

function errorOf({ error }: ReturnType<typeof read>): string {
  return `${error?.rule}: ${error?.message}`
}

t.test('an error says where, and holds nothing of the body', async t => {
  const secret = 'hush-hush'
  for (const body of [
    `--B\r\nX: ${secret}\n\r\n`,
    `--B\r\n${secret}\r\n\r\n`,
    `--B\r\nContent-Disposition: form-data; name="${secret}\r\n\r\n`,
    `--B${secret}`,
    `--B\r\nContent-Disposition: form-data; name=a; ${secret}\r\n\r\n`,
    `--B\r\nContent-Disposition: form-data; name="model"; filename="${secret}"\r\n\r\n`,
  ]) {
    const { error } = read(newForm(), [Buffer.from(body)])
    t.ok(error !== undefined, body)
    t.notMatch(`${error?.message}${error?.field}`, secret)
  }
})

t.test('a part tells its head and where its content is', async t => {
  const body =
    'pre\r\n--B\r\nContent-Disposition: form-data; name="f"; filename="C:\\\\a b.png"; filename*=UTF-8\'\'%e2%82%ac\r\n' +
    'Content-Type: Image/PNG; charset="UTF-8"\r\nContent-Transfer-Encoding: Binary\r\nX-Other: \t some \r\n\r\n' +
    'content\r\n--B--'
  const { events } = read(newReader(), [Buffer.from(body)])
  t.same(
    events.map(({ type }) => type),
    ['preamble', 'part', 'data', 'part-end', 'close'],
  )
  const [, part, , end] = events
  if (part?.type !== 'part' || end?.type !== 'part-end') throw new Error('unreachable')
  const { head } = part
  t.match(head, {
    disposition: 'form-data',
    name: 'f',
    filename: 'C:\\a b.png',
    extendedFilename: "UTF-8''%e2%82%ac",
    contentType: 'Image/PNG; charset="UTF-8"',
    type: 'image/png',
    charset: 'utf-8',
    encoding: 'binary',
  })
  t.equal(body.slice(part.start, end.end), 'content')
  for (const { start, end, value } of head.headers) t.equal(body.slice(start, end), value)
  t.same(
    head.headers.map(({ name }) => name),
    ['content-disposition', 'content-type', 'content-transfer-encoding', 'x-other'],
  )
})

t.test('parts of other kinds of multipart need no disposition', async t => {
  const { events, error } = read(newReader(), [
    Buffer.from('--B\r\n\r\n{}\r\n--B\r\nContent-Type: a/b\r\n\r\nx\r\n--B--'),
  ])
  t.equal(error, undefined)
  t.same(
    events.flatMap(event => (event.type === 'part' ? [[event.head.name, event.head.type]] : [])),
    [
      [undefined, undefined],
      [undefined, 'a/b'],
    ],
  )
})

t.test('content comes out as it arrives, but for what may be a boundary', async t => {
  const reader = newReader()
  reader.push(Buffer.from('--B\r\nX: y\r\n\r\n'))
  t.equal(emitted(reader.push(Buffer.from('abc\r'))).toString(), 'abc')
  t.equal(emitted(reader.push(Buffer.from('\n--'))).toString(), '')
  t.equal(emitted(reader.push(Buffer.from('A'))).toString(), '\r\n--A')
})

t.test('the events before an error come out, and every later call throws it', async t => {
  const reader = newReader()
  const events = reader.push(Buffer.from('--B\r\nX: y\r\n\r\nabc\r\n--Bx'))
  t.same(
    events.map(({ type }) => type),
    ['part', 'data', 'part-end'],
  )
  for (let i = 0; i < 2; i++) t.throws(() => reader.push(Buffer.from('x')), MultipartError)
  t.throws(() => reader.end(), MultipartError)
  const form = newForm()
  for (let i = 0; i < 2; i++) t.throws(() => form.push(Buffer.from('--BX')), MultipartError)
})

const content = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.from(bytes)),
  fc
    .array(fc.constantFrom('\r', '\n', '-', '--', 'B', '\r\n', '\r\n-', '--A', 'x', '\0', 'é'), { maxLength: 25 })
    .map(pieces => Buffer.from(pieces.join(''))),
)

interface RandomPart {
  readonly name: string
  readonly filename: string | undefined
  readonly content: Buffer
}

const parts: fc.Arbitrary<RandomPart[]> = fc.array(
  fc.record({
    name: fc.string({ unit: fc.constantFrom('a', 'b', '"', ';', '\\', ' ', 'é', '=', '-') }).map(name => `f${name}`),
    filename: fc.option(fc.string({ unit: fc.constantFrom('a', '.', '"', ';', '/', 'é') }), { nil: undefined }),
    content,
  }),
  { maxLength: 6 },
)

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function write(parts: readonly RandomPart[], boundary: string): Buffer {
  const pieces = parts.flatMap(({ name, filename, content }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(name)}${
        filename === undefined ? '' : `; filename=${quoted(filename)}`
      }\r\n\r\n`,
    ),
    content,
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)])
}

t.test('any parts come back, and the body byte for byte, however it is cut', async () => {
  fc.assert(
    fc.property(parts, fc.constantFrom('Bound', '----a', '-', "'()+_,-./:=?"), places, (parts, boundary, at) => {
      fc.pre(parts.every(({ content }) => !`\n${content.toString('latin1')}`.includes(`\n--${boundary}`)))
      const bytes = write(parts, boundary)
      const { events, error } = read(newReader(boundary), cut(bytes, at))
      if (error !== undefined) throw error
      if (!emitted(events).equals(bytes)) throw new Error('not the same bytes')
      const heads = events.flatMap(event => (event.type === 'part' ? [event.head] : []))
      const starts = events.flatMap(event => (event.type === 'part' ? [event.start] : []))
      const ends = events.flatMap(event => (event.type === 'part-end' ? [event.end] : []))
      const found = heads.map(({ name, filename }, i) => [
        name,
        filename,
        bytes.subarray(starts[i], ends[i]).toString('hex'),
      ])
      const wanted = parts.map(({ name, filename, content }) => [name, filename, content.toString('hex')])
      if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`read ${JSON.stringify(found)}`)
    }),
    { numRuns: 500 },
  )
})

t.test(
  'F-M1 fuzz: a mutated body is read or refused, the same however it is cut, and what is read comes out whole',
  async () => {
    const seeds = CASES.filter(({ body }) => body.length < 1000).map(bytesOf)
    const splices = [
      '',
      '\r',
      '\n',
      '\r\n',
      '--B',
      '--B--',
      '"',
      '\\',
      ';',
      ':',
      ' ',
      '\0',
      '\xff',
      'name="model"',
      '\r\n\r\n',
      '-',
    ]
    const mutation = fc.record({ at: fc.nat(1000), cut: fc.nat(12), put: fc.constantFrom(...splices) })
    fc.assert(
      fc.property(fc.constantFrom(...seeds), fc.array(mutation, { maxLength: 5 }), places, (seed, mutations, at) => {
        let bytes = seed
        for (const { at, cut, put } of mutations) {
          const start = at % (bytes.length + 1)
          bytes = Buffer.concat([bytes.subarray(0, start), Buffer.from(put, 'latin1'), bytes.subarray(start + cut)])
        }
        const whole = read(newReader(), [bytes])
        const expected = summary(whole)
        for (const chunks of [cut(bytes, at), cutEverywhere(bytes)])
          if (summary(read(newReader(), chunks)) !== expected) throw new Error('cut differently, read differently')
        const passed = emitted(whole.events)
        if (!passed.equals(bytes.subarray(0, passed.length))) throw new Error('not the bytes of the body')
        if (whole.error === undefined && passed.length !== bytes.length) throw new Error('not the whole body')
        const [one, other] = [read(newForm(), [bytes]), read(newForm(), cutEverywhere(bytes))]
        if (errorOf(one) !== errorOf(other)) throw new Error('a form that is cut differently is read differently')
        if (whole.error !== undefined && one.error === undefined)
          throw new Error('a form takes what the reader refuses')
      }),
      { numRuns: 3000 },
    )
  },
)

t.test('F-M1 fuzz: random bytes are read or refused', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      read(newForm('\r'), [bytes])
      read(newForm(), [Buffer.from('--B\r\n'), bytes])
    }),
  )
})
