import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { FormData, Response } from 'undici'
import { boundaryOf } from '../../src/wire/multipart-boundary.js'
import { MultipartEdit, valueEdits } from '../../src/wire/multipart-edit.js'
import { MultipartForm } from '../../src/wire/multipart-form.js'
import { cut } from './cuts.js'
import { LIMITS } from './multipart-cases.js'
import { emitted, read } from './multipart-reading.js'

interface Sent {
  readonly contentType: string
  readonly bytes: Buffer
}

/** What a client sends over the wire. */
async function sentBy(ask: (client: OpenAI) => Promise<unknown>): Promise<Sent> {
  let sent: Sent | undefined
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    sent = { contentType: request.headers['content-type'] ?? '', bytes: Buffer.concat(chunks) }
    response.setHeader('content-type', 'application/json').end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  try {
    await ask(new OpenAI({ apiKey: 'key', maxRetries: 0, baseURL: `http://127.0.0.1:${port}` }))
  } finally {
    server.close()
    server.closeAllConnections()
  }
  if (sent === undefined) throw new Error('nothing was sent')
  return sent
}

/** A form that has read what was sent, in chunks of this size; fails where it was not, or does not come out the same. */
function formOf({ contentType, bytes }: Sent, size = 1000): MultipartForm {
  const form = new MultipartForm(boundaryOf(contentType), { control: ['model', 'stream'], limits: LIMITS })
  const places = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => i * size)
  const { events, error } = read(form, cut(bytes, places))
  if (error !== undefined) throw error
  if (!emitted(events).equals(bytes)) throw new Error('not the same bytes')
  return form
}

const IMAGE = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) & 0xff))

t.test('a form of the fetch standard', async t => {
  const data = new FormData()
  data.append('model', 'sim-transcribe')
  data.append('prompt', 'Grüße\r\nund\nmehr "so"')
  data.append('odd "name"\r\n', 'x')
  data.append('file', new Blob([IMAGE], { type: 'audio/wav' }), 'a "b" é.wav')
  const response = new Response(data)
  const bytes = Buffer.from(await response.arrayBuffer())
  const form = formOf({ contentType: response.headers.get('content-type') ?? '', bytes })
  t.equal(form.field('model')?.value, 'sim-transcribe')
  t.equal(form.field('prompt')?.value, 'Grüße\r\nund\r\nmehr "so"')
  const [file] = form.files
  t.equal(file?.head.type, 'audio/wav')
  t.ok(bytes.subarray(file?.start, file?.end).equals(IMAGE))
})

t.test('an empty form of the fetch standard', async t => {
  const response = new Response(new FormData())
  const bytes = Buffer.from(await response.arrayBuffer())
  const form = formOf({ contentType: response.headers.get('content-type') ?? '', bytes })
  t.same([form.fields, form.files], [[], []])
})

t.test('a transcription of the compatible SDK', async t => {
  const sent = await sentBy(async client =>
    client.audio.transcriptions.create({
      file: await toFile(IMAGE, 'speech.wav', { type: 'audio/wav' }),
      model: 'sim-transcribe',
      timestamp_granularities: ['word', 'segment'],
      temperature: 0.5,
    }),
  )
  for (const size of [1, 100, 1e6]) {
    const form = formOf(sent, size)
    t.equal(form.field('model')?.value, 'sim-transcribe')
    t.same(
      form.fields.filter(({ name }) => name === 'timestamp_granularities[]').map(({ value }) => value),
      ['word', 'segment'],
    )
    const [file] = form.files
    t.match(file, { name: 'file', head: { filename: 'speech.wav', type: 'audio/wav' } })
    t.ok(sent.bytes.subarray(file?.start, file?.end).equals(IMAGE))
  }
})

t.test('an edit of several images by the compatible SDK, sent on with another model', async t => {
  const sent = await sentBy(async client =>
    client.images.edit({
      image: [await toFile(IMAGE, 'a.png', { type: 'image/png' }), await toFile(IMAGE, 'b.png', { type: 'image/png' })],
      mask: await toFile(IMAGE, 'mask.png', { type: 'image/png' }),
      prompt: 'a cat',
      model: 'alias',
      size: '1024x1024',
    }),
  )
  const form = formOf(sent)
  t.same(
    form.files.map(({ name }) => name),
    ['image[]', 'image[]', 'mask'],
  )
  const edit = new MultipartEdit(valueEdits(form.field('model')!, 'the-model', boundaryOf(sent.contentType)))
  const bytes = Buffer.concat(edit.push(sent.bytes))
  const other = formOf({ ...sent, bytes })
  t.equal(other.field('model')?.value, 'the-model')
  t.equal(bytes.toString('latin1').replace('the-model', 'alias'), sent.bytes.toString('latin1'))
  const parsed = await new Response(bytes, { headers: { 'content-type': sent.contentType } }).formData()
  t.equal(parsed.get('model'), 'the-model')
  t.equal(parsed.getAll('image[]').length, 2)
})

t.test('a file upload of the compatible SDK', async t => {
  const sent = await sentBy(async client =>
    client.files.create({ file: await toFile(Buffer.from('{}\n'), 'batch.jsonl'), purpose: 'batch' }),
  )
  const form = formOf(sent)
  t.equal(form.field('purpose')?.value, 'batch')
  t.equal(form.files[0]?.head.filename, 'batch.jsonl')
})
