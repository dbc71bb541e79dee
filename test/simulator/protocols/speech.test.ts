import { toFile } from 'openai'
import t from 'tap'
import { spokenText } from '../../../simulator/src/sound/wav.js'
import { dataOf, open, post, sdk, simulator } from '../support.js'

const PATH = '/v1/audio/speech'
const ASK = { model: 'sim-speech', input: 'Hello, wörld!', voice: 'alloy' }

const WAV = { ...ASK, response_format: 'wav' } as const

t.test('speech is an MP3 file where no format is asked for', async t => {
  const upstream = await simulator(t)
  const answer = await sdk(upstream).audio.speech.create(ASK)
  t.equal(answer.headers.get('content-type'), 'audio/mpeg')
  const mp3 = await post(upstream, PATH, { ...ASK, response_format: 'mp3' })
  t.ok(mp3.body.equals(Buffer.from(await answer.arrayBuffer())))
})

t.test('a WAV file holds its text, and its length follows the text', async t => {
  const client = sdk(await simulator(t))
  const answer = await client.audio.speech.create(WAV)
  t.equal(answer.headers.get('content-type'), 'audio/wav')
  const file = Buffer.from(await answer.arrayBuffer())
  t.equal(spokenText(file), 'Hello, wörld!')
  t.equal(file.readUInt32LE(4), file.length - 8)
  const longer = await client.audio.speech.create({ ...WAV, input: 'Hello, wörld! '.repeat(10) })
  t.ok((await longer.arrayBuffer()).byteLength > 9 * file.length)
})

t.test('pcm is the samples alone', async t => {
  const upstream = await simulator(t)
  const pcm = await post(upstream, PATH, { ...ASK, response_format: 'pcm' })
  const wav = await post(upstream, PATH, WAV)
  t.equal(pcm.headers['content-type'], 'audio/pcm')
  t.ok(wav.body.subarray(-pcm.body.length).equals(pcm.body))
  t.equal(wav.headers['transfer-encoding'], 'chunked', 'as it is made')
  t.equal(wav.headers['content-length'], undefined)
})

t.test('with events the same bytes come in base64, and usage comes last', async t => {
  const upstream = await simulator(t)
  const whole = await post(upstream, PATH, ASK)
  const { text } = await post(upstream, PATH, { ...ASK, stream_format: 'sse' })
  const events = dataOf(text).map(data => JSON.parse(data))
  const done = events.pop()
  t.match(done, { type: 'speech.audio.done', usage: { input_tokens: Number, output_tokens: Number } })
  t.equal(done.usage.total_tokens, done.usage.input_tokens + done.usage.output_tokens)
  t.ok(events.length > 3 && events.every(({ type }) => type === 'speech.audio.delta'))
  t.ok(Buffer.concat(events.map(({ audio }) => Buffer.from(audio, 'base64'))).equals(whole.body))
})

t.test('voices differ, and so does the speed; one’s own voice has an id', async t => {
  const upstream = await simulator(t)
  const size = async (more: object): Promise<Buffer> => (await post(upstream, PATH, { ...WAV, ...more })).body
  t.notOk((await size({ voice: 'onyx' })).equals(await size({})))
  t.ok((await size({ speed: 2 })).length < 0.6 * (await size({})).length)
  t.equal((await post(upstream, PATH, { ...ASK, voice: { id: 'voice_123' } })).status, 200)
})

const REFUSED: readonly (readonly [title: string, body: object, error: object])[] = [
  ['no input', { input: undefined }, { code: 'missing_required_parameter', param: 'input' }],
  ['an empty input', { input: ' ' }, { code: 'invalid_value', param: 'input' }],
  ['an input without end', { input: 'x'.repeat(4097) }, { code: 'string_above_max_length', param: 'input' }],
  ['no voice', { voice: undefined }, { code: 'missing_required_parameter', param: 'voice' }],
  ['an unknown voice', { voice: 'darth' }, { code: 'invalid_value', param: 'voice' }],
  ['a voice that is a built-in of the language', { voice: 'constructor' }, { code: 'invalid_value', param: 'voice' }],
  ['a voice that is a number', { voice: 7 }, { code: 'invalid_type', param: 'voice' }],
  ['an unknown id of a voice', { voice: { id: 'x' } }, { code: 'invalid_value', param: 'voice.id' }],
  ['an unknown format', { response_format: 'ogg' }, { code: 'invalid_value', param: 'response_format' }],
  ['a speed beyond the maximum', { speed: 5 }, { code: 'decimal_above_max_value', param: 'speed' }],
  ['an unknown form of stream', { stream_format: 'chunks' }, { code: 'invalid_value', param: 'stream_format' }],
  ['an unknown parameter', { format: 'wav' }, { code: 'unknown_parameter', param: 'format' }],
]

for (const [title, more, error] of REFUSED) {
  t.test(`refused: ${title}`, async t => {
    const answer = await post(await simulator(t), PATH, { ...ASK, ...more })
    t.equal(answer.status, 400)
    t.match(JSON.parse(answer.text).error, { type: 'invalid_request_error', ...error })
  })
}

const TYPES = { mp3: 'audio/mpeg', opus: 'audio/opus', aac: 'audio/aac', flac: 'audio/flac' }

for (const [format, type] of Object.entries(TYPES)) {
  t.test(`${format}: its type, and the text comes back from a transcription`, async t => {
    const upstream = await simulator(t)
    const answer = await post(upstream, PATH, { ...ASK, response_format: format })
    t.equal(answer.status, 200)
    t.equal(answer.headers['content-type'], type)
    const file = await toFile(answer.body, `speech.${format}`)
    const { text } = await sdk(upstream).audio.transcriptions.create({ model: 'sim-transcribe', file })
    t.equal(text, ASK.input)
    const cut = await post(upstream, PATH, { ...ASK, model: 'sim-speech?truncate=50', response_format: format })
    t.equal(cut.headers['content-length'], String(answer.body.length), 'its length is known beforehand')
  })
}

t.test('faults count the pieces of the sound', async t => {
  const upstream = await simulator(t)
  const whole = (await post(upstream, PATH, ASK)).body
  const asked = (faults: string): object => ({ ...ASK, model: `sim-speech?${faults}` })
  const cut = await post(upstream, PATH, asked('cut-after=2'))
  t.ok(
    cut.broken !== undefined && cut.body.length < whole.length && whole.subarray(0, cut.body.length).equals(cut.body),
  )
  t.ok((await post(upstream, PATH, asked('reset-after=1'))).broken)
  const ended = await post(upstream, PATH, asked('fin-after=1'))
  t.equal(ended.broken, undefined)
  t.ok(ended.body.length < whole.length)
  const short = await post(upstream, PATH, asked('truncate=100'))
  t.equal(short.headers['content-length'], String(whole.length))
  t.ok(short.broken)
  t.equal((await post(upstream, PATH, asked('trailing=10'))).body.length, whole.length + 10)
  t.equal((await post(upstream, PATH, asked('encoding=gzip'))).headers['content-encoding'], 'gzip')
  t.equal((await post(upstream, PATH, asked('status=503'))).status, 503)
  t.equal((await post(upstream, PATH, asked('split=1000&pace=0ms'))).body.length, whole.length)
})

t.test('a client that goes ends the making of sound', async t => {
  const upstream = await simulator(t)
  const asked = open(upstream.port, PATH, {}, 'POST', response => response.once('data', () => asked.destroy()))
  asked.on('error', () => undefined)
  asked.end(JSON.stringify({ ...WAV, input: 'word '.repeat(800), speed: 0.25 }))
  await new Promise(resolve => asked.once('close', resolve))
  await upstream.received[0]?.closed
  t.equal(upstream.received[0]?.aborted, true)
  t.ok((upstream.received[0]?.bytesSent ?? 0) < 5_000_000)
})
