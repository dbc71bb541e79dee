import t from 'tap'
import type { MultipartEvent } from '../../src/wire/multipart.js'
import { MultipartForm } from '../../src/wire/multipart-form.js'
import { LIMITS } from './multipart-cases.js'
import { newForm, read } from './multipart-reading.js'

const FILE = '--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
const MODEL = '--B\r\nContent-Disposition: form-data; name="model"\r\n\r\nsim\r\n'

function field(head: string, content: string | Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`--B\r\nContent-Disposition: form-data; name="prompt"${head}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n--B--'),
  ])
}

t.test('a field is known as soon as the boundary behind it has come', async t => {
  const form = newForm()
  form.push(Buffer.from(MODEL))
  t.equal(form.field('model'), undefined)
  form.push(Buffer.from('--B'))
  t.equal(form.field('model')?.value, 'sim')
  t.equal(form.fields.length, 1)
})

t.test('fields and files tell where their contents are', async t => {
  const body = `${FILE}RIFF\r\n${MODEL}--B--`
  const form = newForm()
  read(form, [Buffer.from(body)])
  for (const [part, content] of [
    [form.files[0], 'RIFF'],
    [form.field('model'), 'sim'],
  ] as const)
    t.equal(body.slice(part?.start, part?.end), content)
})

t.test('F-M1 a file passes without being held, and without a copy', async t => {
  const form = newForm()
  form.push(Buffer.from(FILE))
  const chunk = Buffer.alloc(1024 * 1024)
  for (let i = 0; i < 50; i++) {
    const events: readonly MultipartEvent[] = form.push(chunk)
    t.equal(events.length, 1)
    t.equal(events[0]?.bytes.buffer, chunk.buffer)
  }
  form.push(Buffer.from(`\r\n${MODEL}--B--`))
  form.end()
  t.equal(form.field('model')?.value, 'sim')
  t.equal(form.files[0]!.end - form.files[0]!.start, 50 * chunk.length)
})

t.test('a field may be as long as its bound', async t => {
  const form = newForm()
  const { error } = read(form, [field('', 'x'.repeat(LIMITS.field))])
  t.equal(error, undefined)
  t.equal(form.field('prompt')?.value?.length, LIMITS.field)
})

t.test('F-M1 what is over a bound is refused at once, with the name of the bound', async t => {
  const over = Buffer.from(`--B\r\nContent-Disposition: form-data; name="prompt"\r\n\r\n${'x'.repeat(1001)}`)
  t.equal(read(newForm(), [over]).error?.limit, 'field')
  t.equal(read(newForm(), [Buffer.from(`--B\r\n${'x'.repeat(2000)}`)]).error?.limit, 'head')
  t.equal(read(newForm(), [Buffer.from(`--B\r\n${'X: y\r\n'.repeat(11)}\r\n`)]).error?.limit, 'headers')
  t.equal(read(newForm(), [Buffer.from(`${FILE}\r\n`.repeat(21))]).error?.limit, 'parts')
})

t.test('a value that is encoded, or no text, is passed on and not read', async t => {
  for (const bytes of [
    field('\r\nContent-Transfer-Encoding: quoted-printable', '=41'),
    field('\r\nContent-Type: text/plain; charset=utf-16', 'x'),
    field('\r\nContent-Type: text/plain; charset=iso-8859-1', 'é'),
    field('', Buffer.from([0xff])),
  ]) {
    const form = newForm()
    t.equal(read(form, [bytes]).error, undefined)
    t.match(form.fields, [{ name: 'prompt', value: undefined }])
  }
})

t.test('a byte order mark belongs to the value', async t => {
  const form = newForm()
  read(form, [field('', '\ufeffx')])
  t.equal(form.field('prompt')?.value, '\ufeffx')
})

t.test('the control fields are those that were named', async t => {
  const twice = [Buffer.from(`${MODEL}${MODEL}--B--`)]
  const { error } = read(newForm(), twice)
  t.match(error, { rule: 'duplicate', field: 'model' })
  const free = new MultipartForm('B', { control: ['purpose'], limits: LIMITS })
  t.equal(read(free, twice).error, undefined)
  t.equal(free.fields.length, 2)
})
