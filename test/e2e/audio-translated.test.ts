import OpenAI, { APIError, toFile } from 'openai'
import t, { type Test } from 'tap'
import { samplesOf } from '../../simulator/src/sound/speech.js'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, noise, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Speech and transcripts of models that are declared to be asked for them by the native protocol. */

const VOICE = 'generationConfig.speechConfig.voiceConfig.prebuiltVoiceConfig.voiceName'
const YAML = `version: 1
${CALLER}
upstreams:
  native: { kind: simulator-generate }
  all: { kind: simulator }
models:
  voice: { upstream: native, as: sim-generate, traits: { audio: generate } }
  alloys:
    targets: [{ upstream: native, as: sim-generate }]
    traits: { audio: generate }
    request: [{ map: { ${VOICE}: { alloy: Kore, coral: Puck } } }]
  ear: { upstream: native, as: sim-generate, traits: { audio: generate } }
  strict: { targets: [{ upstream: native, as: sim-generate }], traits: { audio: generate }, strict: true }
  text: { upstream: native, as: sim-generate }
  sim-speech: all
`
const TEXT = 'The harbour is quiet tonight. Will a ship come?'
const SPEECH = '/v1/audio/speech'
const HEAR = '/v1/audio/transcriptions'

const sdkOf = ({ origin, key }: TestGateway): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })

async function simulated(t: Test): Promise<{ gateway: TestGateway; sdk: OpenAI; say(text: string): Promise<File> }> {
  const gateway = await startTestGateway(t, YAML)
  const sdk = sdkOf(gateway)
  const say = async (input: string): Promise<File> => {
    const speech = await sdk.audio.speech.create({ model: 'sim-speech', voice: 'coral', input, response_format: 'wav' })
    return toFile(Buffer.from(await speech.arrayBuffer()), 'said.wav', { type: 'application/octet-stream' })
  }
  return { gateway, sdk, say }
}

async function bytesOf(answer: Promise<Response>): Promise<Buffer> {
  return Buffer.from(await (await answer).arrayBuffer())
}

const SAMPLES = samplesOf({ text: TEXT, pitch: 1, speed: 1 })

t.test('SDK: speech as a WAV file of the right length, and as bare samples', async t => {
  const { sdk, gateway } = await simulated(t)
  const ask = { model: 'voice', voice: 'Kore', input: TEXT }
  const answer = await sdk.audio.speech.create({ ...ask, response_format: 'wav' })
  t.equal(answer.headers.get('content-type'), 'audio/wav')
  t.equal(answer.headers.get('x-gateway-dropped'), null)
  const wav = Buffer.from(await answer.arrayBuffer())
  t.equal(wav.toString('latin1', 0, 4), 'RIFF')
  t.equal(wav.readUInt32LE(4), wav.length - 8)
  t.equal(wav.readUInt32LE(24), 24_000)
  t.equal(wav.length, 44 + 2 * SAMPLES)
  t.ok(wav.subarray(44).some(byte => byte !== 0))
  const pcm = await bytesOf(sdk.audio.speech.create({ ...ask, response_format: 'pcm' }))
  t.ok(pcm.equals(wav.subarray(44)))
  const none = await sdk.audio.speech.create(ask)
  t.equal(none.headers.get('content-type'), 'audio/wav', 'where no form is asked for')
  const line = await gateway.log.find(one => one.msg === 'request')
  t.match(line, { model: 'voice', status: 200, input_tokens: Number, output_tokens: Number })
})

t.test('speech as events, and the other name of the form', async t => {
  const { gateway } = await simulated(t)
  const body = { model: 'voice', voice: 'Kore', input: TEXT, format: 'pcm', stream_format: 'sse' }
  const answer = await gateway.request(SPEECH, { body })
  t.match(answer.header('content-type'), /^text\/event-stream/)
  const events = answer.text
    .split('\n\n')
    .filter(one => one !== '')
    .map(one => JSON.parse(one.replace(/^data: /, '')) as Record<string, string> & { usage?: object })
  const sound = Buffer.concat(events.slice(0, -1).map(({ audio = '' }) => Buffer.from(audio, 'base64')))
  t.equal(sound.length, 2 * SAMPLES)
  t.match(events.at(-1), { type: 'speech.audio.done', usage: { input_tokens: Number, output_tokens: Number } })
})

t.test('voices go by their names, and those of other names are a line of YAML', async t => {
  const { sdk, gateway } = await simulated(t)
  const say = (model: string, voice: string) =>
    bytesOf(sdk.audio.speech.create({ model, voice, input: TEXT, response_format: 'pcm' }))
  t.ok((await say('alloys', 'alloy')).equals(await say('voice', 'Kore')))
  t.ok((await say('alloys', 'coral')).equals(await say('voice', 'Puck')))
  t.notOk((await say('voice', 'Kore')).equals(await say('voice', 'Puck')))
  const unknown = await gateway.request(SPEECH, { body: { model: 'voice', voice: 'alloy', input: TEXT } })
  t.match(compatibleError(t, unknown, 400).message, /Voice name alloy is not supported/)
})

t.test('what cannot be made is refused by its name, what cannot be told is named', async t => {
  const { gateway } = await simulated(t)
  const ask = (more: object) =>
    gateway.request(SPEECH, { body: { model: 'voice', input: TEXT, voice: 'Kore', ...more } })
  for (const format of ['mp3', 'opus', 'aac', 'flac', 'x'.repeat(1000)]) {
    const refused = compatibleError(t, await ask({ response_format: format }), 400, 'untranslatable')
    t.equal(refused.param, 'response_format')
  }
  t.equal(compatibleError(t, await ask({ voice: { id: 'voice_1' } }), 400, 'untranslatable').param, 'voice.id')
  compatibleError(t, await ask({ input: ' ' }), 400)
  compatibleError(t, await ask({ voice: 7 }), 400)
  const told = await ask({ speed: 2, instructions: 'Whisper.', made_up: true })
  t.equal(told.status, 200)
  t.equal(told.header('x-gateway-dropped'), 'made_up, speed')
  const strict = await ask({ model: 'strict', speed: 2 })
  t.equal(compatibleError(t, strict, 400, 'untranslatable').param, 'speed')
  compatibleError(t, await ask({ model: 'text' }), 404)
})

t.test('SDK: what was said is written down: JSON, text, and events', async t => {
  const { sdk, gateway, say } = await simulated(t)
  const file = await say(TEXT)
  const model = 'ear'
  const answer = await sdk.audio.transcriptions.create({
    model,
    file,
    language: 'en',
    prompt: 'Harbours',
    temperature: 0,
  })
  t.equal(answer.text, TEXT)
  t.match(answer, { usage: { type: 'tokens', input_tokens: Number, output_tokens: Number } })
  t.equal(await sdk.audio.transcriptions.create({ model, file, response_format: 'text' }), `${TEXT}\n`)
  const stream = await sdk.audio.transcriptions.create({ model, file, stream: true })
  const events = []
  for await (const event of stream) events.push(event)
  t.match(events, [
    { type: 'transcript.text.delta', delta: TEXT },
    { type: 'transcript.text.done', text: TEXT },
  ])
  const silence = await say('...')
  t.type((await sdk.audio.transcriptions.create({ model, file: silence })).text, 'string')
  const line = await gateway.log.find(one => one.route === `POST ${HEAR}`)
  t.match(line, { model, status: 200, input_tokens: Number, output_tokens: Number })
})

t.test('SDK: and translated into English', async t => {
  const { sdk, say } = await simulated(t)
  const ask = { model: 'ear', file: await say('Größe über alles.') }
  const { text } = await sdk.audio.translations.create(ask)
  t.match(text, /^Somebody says 3 words that are not English: Gro/)
  t.match(await sdk.audio.translations.create({ ...ask, response_format: 'text' }), /^Somebody says .*\n$/)
})

t.test('transcripts of other forms are refused by their names, and so is what is not a recording', async t => {
  const { sdk, gateway, say } = await simulated(t)
  const file = await say(TEXT)
  for (const response_format of ['srt', 'vtt', 'verbose_json', 'diarized_json'] as const) {
    const refused = await sdk.audio.transcriptions.create({ model: 'ear', file, response_format }).then(
      () => undefined,
      (error: unknown) => error,
    )
    t.ok(refused instanceof APIError)
    t.match(refused, { status: 400, code: 'untranslatable', param: 'response_format' })
  }
  const { response } = await sdk.audio.transcriptions
    .create({ model: 'ear', file, include: ['logprobs'], chunking_strategy: 'auto' })
    .withResponse()
  t.equal(response.headers.get('x-gateway-dropped'), 'include, chunking_strategy')
  const wrong: readonly (readonly [Buffer | string, RegExp])[] = [
    [noise(4000), /expected a recording/],
    ['a text', /file/],
  ]
  for (const [content, message] of wrong) {
    const part = typeof content === 'string' ? (['file', content] as const) : (['file', content, 'audio/wav'] as const)
    const answer = await gateway.request(HEAR, sending(formOf(['model', 'ear'], part)))
    t.match(compatibleError(t, answer, 400).message, message)
  }
  while (gateway.gateway.held.bodies > 0) await new Promise(setImmediate)
})

t.test('a recording that is too large for one request is refused, and nothing of it is left', async t => {
  const { gateway } = await simulated(t)
  const large = Buffer.alloc(14 * 1024 * 1024 + 1)
  large.write('RIFF', 0, 'latin1')
  large.write('WAVEfmt ', 8, 'latin1')
  const answer = await gateway.request(HEAR, sending(formOf(['model', 'ear'], ['file', large, 'audio/wav'])))
  t.match(compatibleError(t, answer, 413).message, /14680064 bytes/)
  // What was held is let go of when the answer is out.
  while (gateway.gateway.held.bodies > 0) await new Promise(setImmediate)
})

async function scripted(t: Test): Promise<{ upstream: RawUpstream; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t)
  const yaml = `version: 1
${CALLER}
upstreams: { up: { kind: native-generate, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY } } }
models: { m: { upstream: up, traits: { audio: generate } } }
`
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

const USAGE = { promptTokenCount: 4, candidatesTokenCount: 9, totalTokenCount: 13 }
const sound = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } })
const native = (parts: readonly object[], finishReason = 'STOP') =>
  json({ candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }], usageMetadata: USAGE })
const L16 = 'audio/L16;codec=pcm;rate=24000'

t.test('what the upstream is asked: the text, the modality, the voice; the recording behind its question', async t => {
  const { upstream, gateway } = await scripted(t)
  upstream.answer(native([sound(L16, 'AQACAA==')]))
  const speech = { model: 'm', input: 'Hi.', voice: 'Kore', instructions: 'Whisper.', response_format: 'pcm' }
  const spoken = await gateway.request(SPEECH, { body: speech })
  t.same([...spoken.body], [1, 0, 2, 0])
  t.equal(spoken.header('content-type'), 'audio/pcm')
  const [first] = upstream.requests.items
  t.equal(first?.target, '/v1beta/models/m:generateContent')
  t.same(first?.json(), {
    contents: [{ role: 'user', parts: [{ text: 'Whisper.\n\nHi.' }] }],
    generationConfig: {
      responseModalities: ['AUDIO'],
      speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
    },
  })
  upstream.answer(native([{ text: ' Hello. \n' }]))
  const form = formOf(['file', Buffer.from('ID3\x04abc'), 'audio/x'], ['model', 'm'], ['language', 'de'])
  t.equal((await gateway.request(HEAR, sending(form))).text.includes('"text":"Hello."'), true)
  const asked = upstream.requests.items[1]?.json() as { contents: [{ parts: [{ text: string }, object] }] }
  const [question, recording] = asked.contents[0].parts
  t.match(question.text, /^Transcribe the recording word for word/)
  t.match(question.text, /language of the recording is "de"/)
  t.same(recording, sound('audio/mpeg', Buffer.from('ID3\x04abc').toString('base64')))
})

t.test('sound in pieces and in WAV files is put together, at the rate that it has', async t => {
  const { upstream, gateway } = await scripted(t)
  const ask = (response_format: string) =>
    gateway.request(SPEECH, { body: { model: 'm', input: 'Hi.', voice: 'Kore', response_format } })
  upstream.answer(native([sound(L16, 'AQA='), sound(L16, 'AgADAP8=')]))
  t.same([...(await ask('pcm')).body], [1, 0, 2, 0, 3, 0], 'without half a sample')
  upstream.answer(native([sound('audio/l16; rate=16000; channels=2', 'AQACAA==')]))
  const wav = (await ask('wav')).body
  t.same([wav.readUInt16LE(22), wav.readUInt32LE(24), wav.readUInt32LE(28), wav.length], [2, 16_000, 64_000, 48])
  upstream.answer(native([sound('audio/wav', wav.toString('base64'))]))
  t.ok((await ask('wav')).body.equals(wav))
  upstream.answer(native([sound('audio/l16; rate=16000', 'AQACAA==')]))
  t.match(compatibleError(t, await ask('pcm'), 502).message, /ask for wav/)
})

t.test('an answer that is not a sound, no transcript, cut off or refused is reported as what it is', async t => {
  const { upstream, gateway } = await scripted(t)
  const speech = () => gateway.request(SPEECH, { body: { model: 'm', input: 'Hi.', voice: 'Kore' } })
  const hear = () => gateway.request(HEAR, sending(formOf(['file', Buffer.from('ID3\x04abc'), 'x/y'], ['model', 'm'])))
  const broken: readonly object[][] = [
    [],
    [{ text: 'I would rather write.' }],
    [sound('audio/mpeg', 'SUQz')],
    [sound(L16, '')],
    [sound(L16, '*')],
    [sound('audio/l16;rate=0', 'AQA=')],
    [sound('audio/l16;rate=24000;channels=99', 'AQA=')],
    [sound(L16, 'AQA='), sound('audio/l16;rate=8000', 'AQA=')],
    [sound('audio/wav', Buffer.from('RIFF____WAVEdata\xff\xff\xff\xff').toString('base64'))],
  ]
  for (const parts of broken) {
    upstream.answer(native(parts))
    compatibleError(t, await speech(), 502, 'bad_upstream_response')
  }
  upstream.answer(native([], 'SAFETY'))
  t.equal(compatibleError(t, await speech(), 400).code, 'content_policy_violation')
  upstream.answer(native([{ text: 'Half of' }], 'MAX_TOKENS'))
  t.match(compatibleError(t, await hear(), 502).message, /incomplete/)
  upstream.answer(native([], 'SAFETY'))
  t.equal(compatibleError(t, await hear(), 400).code, 'content_policy_violation')
  upstream.answer(native([]))
  t.match((await hear()).json(), { text: '' }, 'no one speaks')
  upstream.answer(json({ error: { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED' } }, { status: 429 }))
  compatibleError(t, await speech(), 429)
})

proveNoLeak(t)
