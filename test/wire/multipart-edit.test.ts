import t from 'tap'
import { MultipartEdit, valueEdits } from '../../src/wire/multipart-edit.js'
import { MultipartError } from '../../src/wire/multipart-problems.js'
import { fc } from '../helpers/property.js'
import { cut, cutEverywhere, places } from './cuts.js'
import { newForm, read } from './multipart-reading.js'

const HEAD = 'Content-Disposition: form-data; name="model"'
const BODY = Buffer.from(
  `pre\r\n--B  \r\nX-Odd:   y \r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nRI\0FF\r\n--B\r\n${HEAD}\r\n` +
    '\r\nalias\r\n--B\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nalias\r\n--B--\r\nepilogue',
)

/** The body with another model, put together from pieces that come in these chunks. */
function edited(body: Buffer, value: string, chunks: readonly Buffer[] = [body]): Buffer {
  const form = newForm()
  read(form, [body])
  const field = form.field('model')
  if (field === undefined) throw new Error('no model')
  const edit = new MultipartEdit(valueEdits(field, value, 'B'))
  const result = Buffer.concat(chunks.flatMap(chunk => edit.push(chunk)))
  if (result.length !== body.length + edit.growth) throw new Error('grew otherwise than said')
  return result
}

t.test('the model alone changes, wherever it is', async t => {
  const [before, after] = BODY.toString('latin1').split(`${HEAD}\r\n\r\nalias`)
  for (const value of ['sim-image', 'x', '', 'größe', 'alias'])
    for (const chunks of [[BODY], cutEverywhere(BODY)])
      t.equal(
        edited(BODY, value, chunks).toString('latin1'),
        `${before}${HEAD}\r\n\r\n${Buffer.from(value).toString('latin1')}${after}`,
      )
})

t.test('the events of a body go through an edit as well as its chunks', async t => {
  const form = newForm()
  const { events } = read(form, cutEverywhere(BODY))
  const edit = new MultipartEdit(valueEdits(form.field('model')!, 'other', 'B'))
  const result = Buffer.concat(events.flatMap(({ bytes }) => edit.push(bytes)))
  t.ok(result.equals(edited(BODY, 'other')))
})

t.test('a part that says its length says the new one', async t => {
  const body = Buffer.from(`--B\r\n${HEAD}\r\nContent-Length:  5\r\n\r\nalias\r\n--B--\r\n`)
  const expected = `--B\r\n${HEAD}\r\nContent-Length:  11\r\n\r\nanother-one\r\n--B--\r\n`
  for (const chunks of [[body], cutEverywhere(body)]) t.equal(edited(body, 'another-one', chunks).toString(), expected)
})

t.test('an empty value can be changed', async t => {
  const body = Buffer.from(`--B\r\n${HEAD}\r\n\r\n\r\n--B--\r\n`)
  t.equal(edited(body, 'm').toString(), `--B\r\n${HEAD}\r\n\r\nm\r\n--B--\r\n`)
})

t.test('nothing to do is nothing done, and no copy', async t => {
  const edit = new MultipartEdit([])
  t.equal(edit.growth, 0)
  const [piece] = edit.push(BODY)
  t.equal(piece?.buffer, BODY.buffer)
})

t.test('F-M1 a value that holds the boundary is refused', async t => {
  for (const value of ['--B', 'x\r\n--B', 'x\n--B--']) t.throws(() => edited(BODY, value), MultipartError)
  t.doesNotThrow(() => edited(BODY, 'x--B'))
})

t.test("a value that the part's charset cannot say is refused", async t => {
  const body = Buffer.from(`--B\r\n${HEAD}\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r\nalias\r\n--B--\r\n`)
  t.throws(() => edited(body, 'größe'), MultipartError)
  t.match(edited(body, 'other').toString(), /other/)
})

t.test('edits at any places, cut anywhere', async () => {
  const range = fc.record({ start: fc.nat(60), length: fc.nat(8), bytes: fc.string({ maxLength: 5 }) })
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 60 }),
      fc.array(range, { maxLength: 5 }),
      places,
      (doc, ranges, at) => {
        const body = Buffer.from(doc)
        let from = 0
        const edits = ranges
          .toSorted((one, other) => one.start - other.start)
          .flatMap(({ start, length, bytes }) => {
            if (start < from || start + length > body.length) return []
            from = start + length + 1
            return [{ start, end: start + length, bytes: Buffer.from(bytes) }]
          })
        let expected = body.toString('latin1')
        for (const { start, end, bytes } of edits.toReversed())
          expected = expected.slice(0, start) + bytes.toString('latin1') + expected.slice(end)
        for (const chunks of [[body], cut(body, at), cutEverywhere(body)]) {
          const edit = new MultipartEdit(edits)
          const result = Buffer.concat(chunks.flatMap(chunk => edit.push(chunk))).toString('latin1')
          if (result !== expected) throw new Error(`made ${JSON.stringify(result)} of ${JSON.stringify(expected)}`)
        }
      },
    ),
    { numRuns: 1000 },
  )
})
