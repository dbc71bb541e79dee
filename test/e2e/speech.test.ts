import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { spokenText } from '../../simulator/src/sound/wav.js'
import { body, chunk, finish, hang, head, json, LAST_CHUNK, reset, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { allowFault } from '../helpers/emitted.js'
import { compatibleError } from '../helpers/expect.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { recordingsFile, referenceFolder } from '../helpers/recordings.js'

// Upstreams are asked for what they cannot make, to see what they say.
allowFault(/^response_format: must be|^input: must NOT have more than 4096/)

const PATH = '/v1/audio/speech'
const ASK = { model: 'm', input: 'Hello, world.', voice: 'alloy' }
const MIB = 1024 * 1024

async function playing(t: Test, ...scripts: Script[]): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(...scripts)
  return { upstream, gateway: await startTestGateway(t, oneUpstream(upstream.origin)) }
}

async function simulated(t: Test): Promise<{ gateway: TestGateway; sdk: OpenAI }> {
  const yaml = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\n`
  const gateway = await startTestGateway(t, yaml)
  return { gateway, sdk: new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 }) }
}

const AUDIO = { 'content-type': 'audio/mpeg', 'transfer-encoding': 'chunked' } as const

/** Bytes of audio, a chunk and a write each, and then `last`. */
function audio(pieces: readonly Uint8Array[], last: Script): Script {
  return async peer => {
    await peer.send(head(200, AUDIO))
    for (const piece of pieces) await peer.send(chunk(piece))
    await last(peer)
  }
}

const well: Script = peer => peer.send(LAST_CHUNK)

/** Bytes that are not text in any encoding. */
const SOUND = Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256))

t.test('SDK: a WAV file comes under its own type, with the text in it', async t => {
  const { sdk } = await simulated(t)
  const asked = { model: 'sim-speech', input: 'Hello, wörld.', voice: 'coral', response_format: 'wav' } as const
  const answer = await sdk.audio.speech.create(asked)
  t.equal(answer.headers.get('content-type'), 'audio/wav')
  const file = Buffer.from(await answer.arrayBuffer())
  t.equal(spokenText(file), 'Hello, wörld.')
  t.equal(file.readUInt32LE(4), file.length - 8)
})

t.test('SDK: pcm, the speed, and one’s own voice', async t => {
  const { sdk } = await simulated(t)
  const size = async (more: object): Promise<number> => {
    const asked = { model: 'sim-speech', input: 'Hello.', voice: 'alloy', response_format: 'pcm', ...more } as const
    const answer = await sdk.audio.speech.create(asked)
    t.equal(answer.headers.get('content-type'), 'audio/pcm')
    return (await answer.arrayBuffer()).byteLength
  }
  t.equal(await size({ speed: 2 }), (await size({})) / 2)
  t.equal(await size({ voice: { id: 'voice_1' } }), await size({}))
})

t.test('SDK: events hold the same bytes, and the usage of the last one is accounted', async t => {
  const { sdk, gateway } = await simulated(t)
  const asked = { model: 'sim-speech', input: 'Hello, world. How are you?', voice: 'alloy' } as const
  const whole = Buffer.from(await (await sdk.audio.speech.create(asked)).arrayBuffer())
  const answer = await sdk.audio.speech.create({ ...asked, stream_format: 'sse' })
  t.match(answer.headers.get('content-type'), /^text\/event-stream/)
  const events = (await answer.text()).split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line.slice(6))]))
  const done = events.pop()
  t.equal(done.type, 'speech.audio.done')
  t.ok(Buffer.concat(events.map(one => Buffer.from(one.audio, 'base64'))).equals(whole))
  const lines = await gateway.log.count(2, one => one.msg === 'request')
  t.match(lines[1], { outcome: 'ok', input_tokens: done.usage.input_tokens, output_tokens: done.usage.output_tokens })
})

t.test('SDK: what the upstream cannot make is reported as the family’s error', async t => {
  const { sdk } = await simulated(t)
  for (const [more, param, code] of [
    [{ response_format: 'ogg' }, 'response_format', 'invalid_value'],
    [{ voice: 'nobody' }, 'voice', 'invalid_value'],
    [{ input: 'x'.repeat(4097) }, 'input', 'string_above_max_length'],
  ] as const) {
    const asked = { model: 'sim-speech', input: 'x', voice: 'alloy', ...more } as OpenAI.Audio.SpeechCreateParams
    const error = await sdk.audio.speech.create(asked).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    t.ok(error instanceof OpenAI.BadRequestError, param)
    t.match(error, { param, code })
  }
})

t.test('format is another name of response_format, which wins', async t => {
  const { gateway, upstream } = await playing(t, audio([SOUND], well))
  const sent = async (more: string): Promise<string> => {
    await gateway.request(PATH, { body: `{ "model":"m", "input" : "x", "voice":"alloy"${more} }` })
    return upstream.requests.items.at(-1)?.body.toString() ?? ''
  }
  const plain = '{ "model":"m", "input" : "x", "voice":"alloy"'
  t.equal(await sent(''), `${plain} }`, 'nothing changes')
  t.equal(await sent(', "format": "wav"'), `${plain}, "response_format": "wav" }`)
  t.equal(await sent(', "response_format": "pcm"'), `${plain}, "response_format": "pcm" }`)
  const both = JSON.parse(await sent(', "format": "wav", "response_format": "pcm"'))
  t.same(both, { model: 'm', input: 'x', voice: 'alloy', response_format: 'pcm' })
  t.equal(await sent(', "response_format": null, "format": "pcm"'), `${plain}, "response_format": "pcm" }`)
})

t.test('audio continues unchanged, under the upstream’s type, byte for byte', async t => {
  let goOn: () => void = () => undefined
  const heard = new Promise<void>(resolve => {
    goOn = resolve
  })
  const { gateway } = await playing(t, async peer => {
    await peer.send(head(200, AUDIO))
    await peer.send(chunk(SOUND))
    await heard
    await peer.send(chunk(SOUND))
    await peer.send(LAST_CHUNK)
  })
  const client = await gateway.open(PATH, { body: ASK })
  const begun = await client.head()
  t.equal((await client.body(begun, bytes => bytes.length === SOUND.length)).body.length, SOUND.length)
  goOn()
  // The body is read on from where it was.
  await gateway.log.find(one => one.msg === 'request' && one.outcome === 'ok')
  const whole = await gateway.request(PATH, { body: ASK })
  t.equal(whole.header('content-type'), 'audio/mpeg')
  t.ok(whole.whole && whole.body.equals(Buffer.concat([SOUND, SOUND])))
})

t.test('the types of audio pass, whatever they are, and a length where there is one', async t => {
  for (const type of ['audio/wav', 'audio/opus', 'audio/L16;codec=pcm;rate=24000', 'application/octet-stream']) {
    const { gateway } = await playing(t, body(SOUND, { headers: { 'content-type': type } }))
    const answer = await gateway.request(PATH, { body: ASK })
    t.same([answer.status, answer.header('content-type')], [200, type])
    t.equal(answer.header('content-length'), String(SOUND.length))
    t.ok(answer.body.equals(SOUND))
  }
})

t.test('F-C3 a client that does not listen holds the upstream back', async t => {
  let written = 0
  const framed = chunk(Buffer.alloc(16 * 1024, 7))
  const { gateway, upstream } = await playing(t, async peer => {
    await peer.send(head(200, AUDIO))
    while (!peer.socket.destroyed && written < 64 * MIB && peer.socket.writableLength < MIB) {
      peer.socket.write(framed)
      written += framed.length
      await new Promise(resolve => setImmediate(resolve))
    }
    await peer.gone()
  })
  const client = await gateway.open(PATH, { body: ASK })
  await client.head()
  client.socket.pause()
  const peer = await upstream.connections.find(() => true)
  while (peer.writableLength < MIB && written < 64 * MIB) await new Promise(resolve => setImmediate(resolve))
  t.ok(written < 32 * MIB, `the upstream was stopped after ${written} bytes`)
  client.socket.resetAndDestroy()
  await upstream.aborts.count(1)
})

t.test('F-C1 a client that goes in the middle of the audio cancels the upstream', async t => {
  const { gateway, upstream } = await playing(t, audio([SOUND], hang))
  const client = await gateway.open(PATH, { body: ASK })
  await client.body(await client.head(), bytes => bytes.length === SOUND.length)
  client.socket.destroy()
  await upstream.aborts.count(1)
  t.match(await gateway.log.find(one => one.msg === 'request'), { status: 499, outcome: 'client_abort' })
})

t.test('F-C1 a client that goes before the first byte of audio cancels the upstream', async t => {
  const { gateway, upstream } = await playing(t, hang)
  const client = await gateway.open(PATH, { body: ASK })
  await upstream.requests.count(1)
  client.socket.destroy()
  await upstream.aborts.count(1)
})

t.test('F-C1 SDK: an abort of the caller reaches the simulator', async t => {
  const { sdk, gateway } = await simulated(t)
  const abort = new AbortController()
  const asked = { model: 'sim-speech?pace=20ms', input: 'word '.repeat(800), voice: 'alloy' } as const
  const answer = await sdk.audio.speech.create(asked, { signal: abort.signal })
  await answer.body?.getReader().read()
  abort.abort()
  t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'client_abort' })
})

for (const [title, last] of [
  ['reset', reset],
  ['end of the connection', finish],
] as const) {
  t.test(`F-U6 F-U8 a ${title} in the middle of the audio: the transfer breaks, nothing is tried again`, async t => {
    const { gateway, upstream } = await playing(t, audio([SOUND], last))
    const answer = await gateway.request(PATH, { body: ASK })
    t.equal(answer.status, 200)
    t.notOk(answer.whole)
    t.ok(SOUND.subarray(0, answer.body.length).equals(answer.body))
    t.equal(upstream.requests.items.length, 1)
    t.match(await gateway.log.find(one => one.msg === 'request'), { outcome: 'upstream_error' })
  })
}

t.test('F-U19 a length that is not kept breaks the transfer', async t => {
  const { gateway } = await playing(t, async peer => {
    await peer.send(head(200, { 'content-type': 'audio/wav', 'content-length': '9000' }))
    await peer.send(SOUND)
    await finish(peer)
  })
  const answer = await gateway.request(PATH, { body: ASK })
  t.notOk(answer.whole)
})

const page = body('<html>502</html>', { headers: { 'content-type': 'text/html; charset=utf-8' } })
const nothing = body('', { headers: { 'content-type': 'audio/mpeg' } })

for (const [title, script] of [
  ['a page of HTML', page],
  ['an empty body', nothing],
  ['JSON that breaks off', body('{"audio', {})],
  ['a coding that no one asked for', body(gzipSync(SOUND), { headers: { ...{ 'content-encoding': 'gzip' } } })],
] as const) {
  t.test(`F-U13 F-U17 200 with ${title} is no speech: 502, or the next target`, async t => {
    const { gateway } = await playing(t, script)
    compatibleError(t, await gateway.request(PATH, { body: ASK }), 502, 'bad_upstream_response')
    const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
    a.answer(script)
    b.answer(audio([SOUND], well))
    const upstreams = `a: ${upstreamYaml(a.origin)}\n  b: ${upstreamYaml(b.origin)}`
    const retry = 'retry: { on: [bad_response] }'
    const yaml = `version: 1\n${CALLER}\nupstreams:\n  ${upstreams}\nmodels: { m: { targets: [a, b], ${retry} } }\n`
    const answer = await (await startTestGateway(t, yaml)).request(PATH, { body: ASK })
    t.ok(answer.status === 200 && answer.body.equals(SOUND), answer.text.slice(0, 200))
  })
}

t.test('F-U12 F-U21 refusals pass in the family’s shape, redirects are not followed', async t => {
  const trap = await startRawUpstream(t, { host: '127.0.0.3' })
  trap.answer(audio([SOUND], well))
  const refusal = { error: { message: 'Unknown voice', type: 'invalid_request_error', param: 'voice', code: null } }
  const { gateway } = await playing(
    t,
    json(refusal, { status: 400 }),
    body('', { status: 302, headers: { location: `${trap.origin}${PATH}` } }),
  )
  const refused = await gateway.request(PATH, { body: ASK })
  t.same([refused.status, refused.json()], [400, refusal])
  compatibleError(t, await gateway.request(PATH, { body: ASK }), 502, 'bad_upstream_response')
  t.equal(trap.connections.items.length, 0)
})

const delta = 'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n'
const done = 'data: {"type":"speech.audio.done","usage":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}\n\n'

t.test('F-U8 F-U9 events end with their last one: without it in an error, and nothing passes after it', async t => {
  const { gateway } = await playing(t, stream([delta, delta]), stream([delta, done, 'data: [DONE]\n\n']))
  const broken = await gateway.request(PATH, { body: { ...ASK, stream_format: 'sse' } })
  t.ok(broken.text.startsWith(delta + delta))
  t.match(JSON.parse(broken.text.slice(2 * delta.length + 6)), { error: { code: 'upstream_truncated' } })
  const whole = await gateway.request(PATH, { body: { ...ASK, stream_format: 'sse' } })
  t.equal(whole.text, delta + done)
  const lines = await gateway.log.count(2, one => one.msg === 'request')
  t.match(lines[1], { outcome: 'ok', input_tokens: 3, output_tokens: 4, total_tokens: 7 })
})

const BAD: readonly (readonly [title: string, body: unknown, status: number, param: string | null])[] = [
  ['without a model', { input: 'x', voice: 'alloy' }, 400, 'model'],
  ['without an input', { model: 'm', voice: 'alloy' }, 400, 'input'],
  ['with an empty input', { ...ASK, input: '' }, 400, 'input'],
  ['with an input that is a list', { ...ASK, input: ['x'] }, 400, 'input'],
  ['with a voice that is a number', { ...ASK, voice: 7 }, 400, 'voice'],
  ['with a format that is a number', { ...ASK, format: 7 }, 400, 'format'],
  ['at a speed that no one can follow', { ...ASK, speed: 40 }, 400, 'speed'],
  ['F-C11 with two models', '{"model":"m","input":"x","model":"other"}', 400, 'model'],
  ['F-C11 that is no JSON', '{"model":"m",', 400, null],
  ['F-C13 with a model of several lines', { ...ASK, model: 'm\r\nx: y' }, 404, null],
]

for (const [title, body, status, param] of BAD) {
  t.test(`a request ${title} is refused here, in the family’s shape`, async t => {
    const { gateway, upstream } = await playing(t, audio([SOUND], well))
    const answer = await gateway.request(PATH, { body })
    t.equal(answer.status, status, answer.text)
    t.match(answer.json(), { error: { message: String, type: 'invalid_request_error', param } })
    t.equal(upstream.requests.items.length, 0)
  })
}

/** Recorded files of audio, which the lines of the other recordings leave out. */
const CASSETTES = ['openai_gpt-4o-mini-tts_can_speak', 'openrouter_hexgrad_kokoro-82m_can_speak']

for (const name of CASSETTES) {
  t.test(
    `recorded speech reaches the client byte for byte: ${name}`,
    { skip: recordingsFile() === undefined },
    async t => {
      const folder = join(referenceFolder(), 'recordings', 'ruby_llm', 'spec', 'fixtures', 'vcr_cassettes')
      const text = readFileSync(join(folder, `speech_basic_functionality_${name}.yml`), 'utf8')
      const { request, response } = parse(text, { customTags: ['binary'] }).http_interactions[0]
      const recorded = Buffer.from(response.body.string)
      t.ok(recorded.length > 10_000)
      const pieces = Array.from({ length: Math.ceil(recorded.length / 4096) }, (_, at) =>
        recorded.subarray(at * 4096, (at + 1) * 4096),
      )
      const upstream = await startRawUpstream(t)
      upstream.answer(audio(pieces, well))
      const yaml = oneUpstream(upstream.origin).replace('models: { m: up }', 'models: { "*": up }')
      const gateway = await startTestGateway(t, yaml)
      const answer = await gateway.request(PATH, { body: request.body.string })
      t.equal(answer.header('content-type'), response.headers['Content-Type'][0])
      t.ok(answer.whole && answer.body.equals(recorded))
      t.equal(upstream.requests.items[0]?.body.toString(), request.body.string)
    },
  )
}

proveNoLeak(t)
