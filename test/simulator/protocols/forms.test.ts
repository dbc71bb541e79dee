import type OpenAI from 'openai'
import { toFile } from 'openai'
import t from 'tap'
import { wavHead } from '../../../simulator/src/sound/wav.js'
import { decodePng } from '../image/decode-png.js'
import { post, sdk, simulator } from '../support.js'

const SAMPLES = Buffer.alloc(96_000, 3)

function said(text: string): Promise<File> {
  return toFile(Buffer.concat([wavHead(text, SAMPLES.length), SAMPLES]), 'said.wav')
}

/** What a request fails with. */
function failure(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => undefined,
    (reason: unknown) => reason,
  )
}

const FORM: readonly (readonly [name: string, value: string])[] = [
  ['model', 'sim-image'],
  ['size', '64x64'],
  ['n', '1'],
  ['image"; filename="a', `RIFF\0\0\0\0WEBPVP8X${'\0'.repeat(8)}\x3f\0\0\x3f${'\0'.repeat(6)}`],
]

t.test('the same form has the same answer with any boundary', async t => {
  const started = await simulator(t)
  const ask = async (boundary: string): Promise<string> => {
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    const parts = FORM.map(
      ([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    const answer = await post(started, '/v1/images/variations', `${parts.join('')}--${boundary}--`, headers)
    t.equal(answer.status, 200, answer.text)
    return answer.text
  }
  t.equal(await ask('one'), await ask('other'))
})

t.test('faults are in the name of the model here, too', async t => {
  const client = sdk(await simulator(t))
  const file = await said('Hello.')
  const ask = (model: string): Promise<unknown> => client.audio.transcriptions.create({ model, file })
  t.match(await failure(ask('sim-transcribe?status=429')), { status: 429 })
  t.match(await ask('sim-transcribe?usage=none'), { text: 'Hello.', usage: undefined })
})

t.test('edits of an image in another format', async t => {
  const client = sdk(await simulator(t))
  const jpeg = Buffer.from('ffd8ffc00011080050006403012200021101031101ffd9', 'hex')
  const image = await toFile(jpeg, 'a.jpg', { type: 'image/jpeg' })
  const answer = await client.images.edit({ model: 'sim-image', image, prompt: 'Blue' })
  t.match(decodePng(Buffer.from(answer.data?.[0]?.b64_json ?? '', 'base64')), { width: 100, height: 80 })
  t.equal(answer.size as string, '100x80')
})

t.test('a body that is not a form is refused in words', async t => {
  const started = await simulator(t)
  for (const [body, type] of [
    ['{}', 'application/json'],
    ['--B\r\n', 'multipart/form-data; boundary=B'],
    ['', 'multipart/form-data'],
  ] as const) {
    const answer = await post(started, '/v1/audio/transcriptions', body, { 'content-type': type })
    t.equal(answer.status, 400)
    t.match(JSON.parse(answer.text), { error: { message: /could not parse the form/, type: 'invalid_request_error' } })
  }
})

t.test('unknown fields and files are refused', async t => {
  const client = sdk(await simulator(t))
  const file = await said('Hello.')
  const refused = async (more: object, param: string): Promise<void> => {
    const asked = { model: 'sim-transcribe', file, ...more } as OpenAI.Audio.TranscriptionCreateParamsNonStreaming
    t.match(await failure(client.audio.transcriptions.create(asked)), { status: 400, param })
  }
  await refused({ voice: 'alloy' }, 'voice')
  await refused({ other: file }, 'file')
  await refused({ known_speaker_names: ['a'] }, 'known_speaker_names')
  const german = { model: 'sim-transcribe', file, language: 'de' } as OpenAI.Audio.TranslationCreateParams
  t.match(await failure(client.audio.translations.create(german)), { status: 400, param: 'language' })
})
