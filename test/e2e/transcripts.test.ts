import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { body, brokenStream, DONE, finish, json, reset, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { formOf, noise, sending } from '../helpers/forms.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

const PATH = '/v1/audio/transcriptions'
const TEXT = 'The harbour is quiet tonight. No ship has come in for weeks! Will one come tomorrow?'

async function playing(t: Test, ...scripts: Script[]): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(...scripts)
  return { upstream, gateway: await startTestGateway(t, oneUpstream(upstream.origin)) }
}

interface Simulated {
  readonly gateway: TestGateway
  readonly sdk: OpenAI
  /** A recording in which the simulator says this. */
  say(text: string): Promise<File>
}

async function simulated(t: Test, prices = ''): Promise<Simulated> {
  const models = '{ "sim-*": sim, ear: { upstream: sim, as: sim-transcribe } }'
  const yaml = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels: ${models}\n${prices}`
  const gateway = await startTestGateway(t, yaml)
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  const say = async (input: string): Promise<File> => {
    const speech = await sdk.audio.speech.create({ model: 'sim-speech', voice: 'coral', input, response_format: 'wav' })
    return toFile(Buffer.from(await speech.arrayBuffer()), 'said.wav', { type: 'audio/wav' })
  }
  return { gateway, sdk, say }
}

t.test('SDK: what the simulator says it also hears, under the model’s other name too', async t => {
  const { sdk, say, gateway } = await simulated(t)
  const answer = await sdk.audio.transcriptions.create({ model: 'ear', file: await say(TEXT) })
  t.equal(answer.text, TEXT)
  const { usage } = answer
  if (usage?.type !== 'tokens') return t.fail('usage in tokens')
  t.equal(usage.input_tokens + usage.output_tokens, usage.total_tokens)
  const line = await gateway.log.find(one => String(one.route).endsWith(PATH))
  const { input_tokens, output_tokens, total_tokens, input_token_details } = usage
  t.match(line, { outcome: 'ok', model: 'ear', target: 'sim-transcribe', input_tokens, output_tokens, total_tokens })
  t.equal(line.input_audio_tokens, input_token_details?.audio_tokens)
})

t.test('SDK: text, SRT and VTT come as they are', async t => {
  const { sdk, say } = await simulated(t)
  const file = await say(TEXT)
  const ask = (response_format: 'text' | 'srt' | 'vtt') =>
    sdk.audio.transcriptions.create({ model: 'sim-transcribe', file, response_format }) as Promise<unknown>
  t.equal(await ask('text'), `${TEXT}\n`)
  t.match(await ask('srt'), /^1\n00:00:00,000 --> 00:00:\d\d,\d{3}\nThe harbour is quiet tonight\.\n\n2\n/)
  t.match(await ask('vtt'), /^WEBVTT\n\n00:00:00\.000 --> 00:00:\d\d\.\d{3}\nThe harbour is quiet tonight\.\n\n/)
})

t.test('SDK: verbose JSON tells times of segments and words, and is billed by the second', async t => {
  const { sdk, say, gateway } = await simulated(t)
  const answer = await sdk.audio.transcriptions.create({
    ...{ model: 'sim-transcribe', file: await say(TEXT), language: 'en', response_format: 'verbose_json' },
    timestamp_granularities: ['word', 'segment'],
  })
  t.match(answer, { text: TEXT, language: 'en', usage: { type: 'duration' } })
  t.same(answer.segments?.map(({ id, text }) => [id, text]), TEXT.split(/(?<=[.!?]) /).map((text, id) => [id, text])) // biome-ignore format: one line
  t.same(answer.words?.map(({ word }) => word), TEXT.split(' ')) // biome-ignore format: one line
  for (const list of [answer.segments ?? [], answer.words ?? []]) {
    const times = list.flatMap(({ start, end }) => [start, end])
    t.same(
      times,
      [...times].sort((a, b) => a - b),
    )
    t.equal(times[0], 0)
    t.equal(times.at(-1), Math.round(answer.duration * 1000) / 1000)
  }
  const line = await gateway.log.find(one => String(one.route).endsWith(PATH))
  t.equal(line.audio_seconds, answer.usage?.seconds)
})

t.test('SDK: an uncompressed recording without reported seconds costs as much as one with them', async t => {
  const { sdk, say, gateway } = await simulated(t, 'prices: { sim-transcribe: { audio_second: 0.01 } }\n')
  const file = await say(TEXT)
  const ask = { model: 'sim-transcribe', file }
  const { usage } = await sdk.audio.transcriptions.create({ ...ask, response_format: 'verbose_json' })
  const reported = await gateway.log.find(one => String(one.route).endsWith(PATH))
  await sdk.audio.transcriptions.create({ ...ask, response_format: 'text' })
  const counted = await gateway.log.find(one => String(one.route).endsWith(PATH) && one.id !== reported.id)
  t.equal(reported.cost_usd, Math.round((usage?.seconds ?? 0) * 1e4) / 1e6)
  t.equal(counted.cost_usd, reported.cost_usd)
})

t.test('SDK: speakers of a conversation are told apart, and named where their voices are known', async t => {
  const { sdk, say } = await simulated(t)
  const file = await say('Anna: Where were you?\nBen: At sea.\nAnna: Again?')
  const ask = { model: 'sim-transcribe', file, response_format: 'diarized_json', chunking_strategy: 'auto' } as const
  const answer = (await sdk.audio.transcriptions.create(ask)) as unknown as OpenAI.Audio.TranscriptionDiarized
  t.same(answer.segments.map(({ speaker }) => speaker), ['A', 'B', 'A']) // biome-ignore format: one line
  const known = {
    known_speaker_names: ['agent', 'customer'],
    known_speaker_references: [0, 1].map(() => `data:audio/wav;base64,${noise(300_000).toString('base64')}`),
  }
  const named = (await sdk.audio.transcriptions.create({ ...ask, ...known })) as unknown as typeof answer
  t.same(named.segments.map(({ speaker }) => speaker), ['agent', 'customer', 'agent']) // biome-ignore format: one line
})

t.test('SDK: a streamed transcript adds up to the whole one, and what it cost is accounted', async t => {
  const { sdk, say, gateway } = await simulated(t)
  const file = await say(TEXT)
  const events = await sdk.audio.transcriptions.create({
    model: 'sim-transcribe',
    file,
    stream: true,
    include: ['logprobs'],
  })
  let text = ''
  let done: OpenAI.Audio.TranscriptionTextDoneEvent | undefined
  for await (const event of events) {
    if (event.type === 'transcript.text.delta') text += event.delta
    if (event.type === 'transcript.text.done') done = event
  }
  t.equal(text, TEXT)
  t.equal(done?.text, TEXT)
  t.ok((done?.logprobs?.length ?? 0) > 0)
  const line = await gateway.log.find(one => String(one.route).endsWith(PATH))
  t.match(line, { outcome: 'ok', stream: true, total_tokens: done?.usage?.total_tokens })
})

t.test('SDK: segments of speakers stream, too', async t => {
  const { sdk, say } = await simulated(t)
  const asked = { model: 'sim-transcribe', file: await say('Hello there. And bye.'), stream: true, response_format: 'diarized_json' } as const // biome-ignore format: one line
  const types: string[] = []
  for await (const event of await sdk.audio.transcriptions.create(asked)) types.push(event.type)
  t.same(types.slice(0, 2), ['transcript.text.segment', 'transcript.text.segment'])
  t.equal(types.at(-1), 'transcript.text.done')
})

t.test('SDK: translations answer in English, regardless of what was said', async t => {
  const { sdk, say } = await simulated(t)
  const ask = async (text: string): Promise<string> =>
    (await sdk.audio.translations.create({ model: 'sim-transcribe', file: await say(text) })).text
  t.equal(await ask(TEXT), TEXT)
  const german = 'Der Hafen ist heute schön ruhig.'
  t.match(await ask(german), /^Somebody says 6 words that are not English: Der Hafen/)
  t.equal(await ask(german), await ask(german))
  const file = await say(TEXT)
  const verbose = await sdk.audio.translations.create({
    model: 'sim-transcribe',
    file,
    response_format: 'verbose_json',
  })
  t.match(verbose, { task: 'translate', language: 'english', text: TEXT })
  const text = sdk.audio.translations.create({ model: 'sim-transcribe', file, response_format: 'text' })
  t.equal((await text) as unknown, `${TEXT}\n`)
})

const SOUND = ['file', noise(2000), 'audio/wav'] as const

t.test(
  'SDK: what the upstream refuses is reported in its words, and no one calls it an error of the gateway',
  async t => {
    const { sdk, say } = await simulated(t)
    const speech = await say('Hello.')
    const notSound = await toFile(Buffer.from('This is a letter and no recording, whatever its name.'), 'a.wav')
    const refused = async (more: object, param: string, code: string): Promise<void> => {
      const asked = {
        model: 'sim-transcribe',
        file: speech,
        ...more,
      } as OpenAI.Audio.TranscriptionCreateParamsNonStreaming
      const error = await sdk.audio.transcriptions.create(asked).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      t.ok(error instanceof OpenAI.BadRequestError, `${param}: ${error}`)
      t.match(error, { param, code })
    }
    await refused({ file: notSound }, 'file', 'invalid_value')
    await refused({ file: await toFile(Buffer.alloc(44), 'short.wav') }, 'file', 'invalid_value')
    await refused({ response_format: 'docx' }, 'response_format', 'invalid_value')
    await refused({ response_format: 'srt', stream: true }, 'stream', 'unsupported_value')
    await refused({ timestamp_granularities: ['word'] }, 'timestamp_granularities', 'unsupported_value')
    await refused({ timestamp_granularities: ['letter'], response_format: 'verbose_json' }, 'timestamp_granularities', 'invalid_value') // biome-ignore format: one line
    await refused({ temperature: 2 }, 'temperature', 'decimal_above_max_value')
  },
)

t.test('SDK: a recording of nothing, and one of someone else, have honest transcripts', async t => {
  const { sdk, say } = await simulated(t)
  const hears = async (bytes: Uint8Array, name: string): Promise<string> =>
    (await sdk.audio.transcriptions.create({ model: 'sim-transcribe', file: await toFile(bytes, name) })).text
  const said = Buffer.from(await (await say('Hello.')).arrayBuffer())
  const silent = Buffer.from(said)
  const data = silent.indexOf('data')
  silent.fill(0, data + 8)
  silent.write('XXXX', silent.indexOf('LIST'), 'latin1')
  t.equal(await hears(silent, 'silence.wav'), '')
  const foreign = Buffer.concat([Buffer.from('ID3'), noise(20_000)])
  t.match(await hears(foreign, 'song.mp3'), /understands only its own speech, and this mp3 recording is none/)
  t.equal(await hears(foreign, 'song.mp3'), await hears(foreign, 'song.mp3'))
})

const REFUSED: readonly (readonly [title: string, form: Buffer, status: number, param: string | null])[] = [
  ['without a file', formOf(['model', 'm']), 400, 'file'],
  ['without a model', formOf(SOUND), 400, 'model'],
  ['with an empty model', formOf(['model', ''], SOUND), 400, 'model'],
  ['with an empty file', formOf(['model', 'm'], ['file', Buffer.alloc(0), 'audio/wav']), 400, 'file'],
  ['with text where the file belongs', formOf(['model', 'm'], ['file', 'RIFF']), 400, 'file'],
  ['with a file where text belongs', formOf(['model', 'm'], SOUND, ['prompt', noise(10), 'audio/wav']), 400, 'prompt'],
  ['with two files', formOf(['model', 'm'], SOUND, SOUND), 400, 'file'],
  ['with a temperature in words', formOf(['model', 'm'], SOUND, ['temperature', 'hot']), 400, 'temperature'],
  ['F-M1 with two models', formOf(['model', 'm'], SOUND, ['model', 'other']), 400, 'model'],
  [
    'F-M1 with stream said twice',
    formOf(['model', 'm'], SOUND, ['stream', 'true'], ['stream', 'false']),
    400,
    'stream',
  ],
  ['F-M1 with a list of models', formOf(['model[]', 'm'], SOUND), 400, 'model'],
  ['F-M1 with a model in capitals', formOf(['MODEL', 'm'], SOUND), 400, 'model'],
  ['F-M1 with a model that is a file', formOf(['model', Buffer.from('m'), 'text/plain'], SOUND), 400, 'model'],
  ['F-C13 with a model of several lines', formOf(['model', 'm\r\nx: y'], SOUND), 404, null],
  ['F-C13 with a model that holds NUL', formOf(['model', 'm\0'], SOUND), 404, null],
  ['F-C14 with a model that climbs', formOf(['model', '../../m'], SOUND), 404, null],
  ['F-C12 with a model that is too long', formOf(['model', 'm'.repeat(1000)], SOUND), 400, 'model'],
  ['F-C12 with a model that backtracks', formOf(['model', `${'a!'.repeat(100)}b`], SOUND), 404, null],
]

for (const [title, form, status, param] of REFUSED)
  t.test(`a request ${title} is refused here, in the family’s shape`, async t => {
    const { gateway, upstream } = await playing(t, json({}))
    const answer = await gateway.request(PATH, sending(form))
    t.equal(answer.status, status, answer.text)
    t.match(answer.json(), { error: { message: String, type: 'invalid_request_error', param } })
    t.equal(upstream.requests.items.length, 0)
  })

t.test('F-C15 another type, another method, no key: refused', async t => {
  const { gateway, upstream } = await playing(t, json({}))
  t.equal((await gateway.request(PATH, { body: { model: 'm' } })).status, 415)
  t.equal((await gateway.request(PATH, { body: formOf(['model', 'm'], SOUND), headers: { 'content-type': 'text/plain' } })).status, 415) // biome-ignore format: one line
  t.equal((await gateway.request(PATH, sending('--B--', { headers: { 'content-type': 'multipart/form-data' } }))).status, 415) // biome-ignore format: one line
  t.equal((await gateway.request(PATH, { method: 'GET' })).status, 405)
  t.equal((await gateway.request(PATH, sending(formOf(['model', 'm'], SOUND), { key: 'wrong' }))).status, 401)
  t.equal(upstream.requests.items.length, 0)
})

const delta = (text: string): string => `data: ${JSON.stringify({ type: 'transcript.text.delta', delta: text })}\n\n`
const USAGE = { type: 'tokens', input_tokens: 7, output_tokens: 2, total_tokens: 9 }
const over = (text: string): string =>
  `data: ${JSON.stringify({ type: 'transcript.text.done', text, usage: USAGE })}\n\n`
const ask = (gateway: TestGateway) => gateway.request(PATH, sending(formOf(['model', 'm'], SOUND, ['stream', 'true'])))

for (const [title, events] of [
  ['[DONE]', [delta('a'), over('a'), DONE]],
  ['its last event, without [DONE]', [delta('a'), over('a')]],
] as const)
  t.test(`a stream that ends with ${title} passes whole`, async t => {
    const { gateway } = await playing(t, stream(events))
    const answer = await ask(gateway)
    t.equal(answer.text, events.join(''))
    t.ok(answer.whole)
    t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'ok', total_tokens: 9 })
  })

for (const [title, script] of [
  ['by the end of its transfer', stream([delta('a')])],
  ['by the end of the connection', brokenStream([delta('a')], finish)],
  ['by a reset', brokenStream([delta('a')], reset)],
] as const)
  t.test(`F-U6 F-U8 a stream that breaks off ${title} ends in an error, not as if it were whole`, async t => {
    const { gateway } = await playing(t, script)
    const answer = await ask(gateway)
    t.ok(answer.text.startsWith(delta('a')))
    t.match(JSON.parse(answer.text.slice(delta('a').length + 6)), { error: { code: 'upstream_truncated' } })
    t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'upstream_error', truncated: true })
  })

t.test('F-U17 F-U18 F-U19 F-U20 F-U21 odd answers to forms are reported as those to other requests', async t => {
  const text = '1\n00:00:00,000 --> 00:00:01,000\nhi\n\n'
  const play = async (script: Script, status: number, check?: (text: string) => void): Promise<void> => {
    const { gateway } = await playing(t, script)
    const answer = await gateway.request(PATH, sending(formOf(['model', 'm'], SOUND)))
    t.equal(answer.status, status, answer.text)
    check?.(answer.text)
  }
  await play(body('\x1f\x8b', { headers: { 'content-type': 'text/plain', 'content-encoding': 'gzip' } }), 502)
  await play(body('', { status: 302, headers: { location: 'http://127.0.0.3:1/' } }), 502)
  await play(body('<html>', { headers: { 'content-type': 'text/html' } }), 502)
  await play(body('{"text":', { headers: { 'content-type': 'application/json' } }), 502)
  await play(
    peer => peer.send(`HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nset-cookie: a=b\r\ncontent-length: ${text.length}\r\n\r\n${text}`), // biome-ignore format: one line
    200,
    answer => t.equal(answer, text),
  )
  await play(peer => peer.send(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`), 502) // biome-ignore format: one line
})

t.test('a transcript may be empty: no one spoke', async t => {
  const { gateway } = await playing(t, body('', { headers: { 'content-type': 'text/plain' } }))
  const answer = await gateway.request(PATH, sending(formOf(['model', 'm'], SOUND, ['response_format', 'srt'])))
  t.equal(answer.status, 200)
  t.equal(answer.text, '')
})

proveNoLeak(t)
