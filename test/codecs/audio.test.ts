import t from 'tap'
import {
  speech,
  speechByGenerate,
  transcriptions,
  transcriptionsByGenerate,
  translations,
  translationsByGenerate,
} from '../../src/codecs/audio/index.js'
import type { HearRequest, SpeakRequest, SpeakResult } from '../../src/core/audio.js'
import { GatewayError } from '../../src/core/errors.js'
import type { Json, JsonObject } from '../../src/core/json.js'
import { openApi, openApiFolder, openApiSchemas } from '../helpers/openapi.js'
import { fc } from '../helpers/property.js'
import { uncovered } from './coverage.js'
import { hostile, hostileObject } from './hostile.js'
import { MADE_UP, smallTarget } from './small-target.js'
import { brief, onlyGatewayErrors, plain } from './support.js'

const head = { model: 'm', stream: false }
const skip = openApiFolder() === undefined && 'no reference data'

const SPEECH: JsonObject = {
  ...{ model: 'm', input: 'Hello.', voice: 'Kore', instructions: 'Whisper.', response_format: 'wav', speed: 2 },
  stream_format: 'sse',
}
const WAV = Buffer.from('RIFF____WAVEfmt ').toString('base64')
const FORM: JsonObject = {
  ...{ model: 'm', file: `data:audio/wav;base64,${WAV}`, language: 'en', prompt: 'Harbours', temperature: '0.5' },
  ...{ response_format: 'json', include: ['logprobs'], timestamp_granularities: ['word'], chunking_strategy: 'auto' },
}
const L16 = 'audio/L16;codec=pcm;rate=24000'
const sound = (mimeType: string, data: string): JsonObject => ({ inlineData: { mimeType, data } })
const answerOf = (...parts: readonly JsonObject[]): JsonObject => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 25, totalTokenCount: 28 },
})
const SOUND = answerOf(sound(L16, 'AQACAA=='))
const WORDS = answerOf({ text: 'Hello.' })

t.test('a request for speech in canonical form', async t => {
  t.match(speech.server.decodeRequest(SPEECH, head), {
    ...{ model: 'm', text: 'Hello.', stream: true, voice: 'Kore', instructions: 'Whisper.', format: 'wav', speed: 2 },
    left: [],
  })
  const own = speech.server.decodeRequest({ input: 'a', voice: { id: 'v' }, format: 'PCM', made_up: 1 }, head)
  t.match(own, { ownVoice: 'v', format: 'pcm', stream: false, left: [{ field: 'made_up' }] })
})

t.test('a form with a recording in canonical form', async t => {
  t.match(transcriptions.server.decodeRequest(FORM, head), {
    ...{ recording: { kind: 'audio', mime: 'audio/wav' }, language: 'en', prompt: 'Harbours', temperature: 0.5 },
    ...{ format: 'json', logprobs: true, times: true, chunks: true, left: [] },
  })
  const translation = translations.server.decodeRequest(FORM, head)
  t.same(
    translation.left.map(({ field }) => field),
    ['language', 'include', 'timestamp_granularities', 'chunking_strategy'],
  )
  t.equal(translation.language, undefined)
})

t.test('a recording is known by how it begins', async t => {
  const beginnings: Readonly<Record<string, string>> = {
    ...{ 'audio/mpeg': '\xff\xfb\x90\x00', 'audio/ogg': 'OggS\x00', 'audio/flac': 'fLaC\x00' },
    ...{ 'audio/mp4': '\x00\x00\x00\x20ftypM4A ', 'audio/webm': '\x1a\x45\xdf\xa3\x01', 'audio/aac': '\xff\xf1P' },
    ...{ 'audio/aiff': 'FORM\x00\x00\x00\x00AIFFCOMM' },
  }
  for (const [mime, bytes] of Object.entries(beginnings)) {
    const file = `data:text/plain;base64,${Buffer.from(bytes, 'latin1').toString('base64')}`
    t.equal(transcriptions.server.decodeRequest({ file }, head).recording.mime, mime)
  }
  for (const file of [undefined, '', 'data:,', 'data:audio/wav;base64,', 7, ['data:,', 'data:,'], {}]) {
    const body = file === undefined ? {} : { file: file as Json }
    t.throws(() => transcriptions.server.decodeRequest(body, head), { code: 'invalid_parameter' }, brief(body))
  }
})

t.test('a second of sound as events, which hold all of it', { skip }, async t => {
  const samples = Buffer.from(Array.from({ length: 240_001 * 2 }, (_, i) => i % 251))
  const result: SpeakResult = { sound: { samples, rate: 24_000, channels: 1 }, input: 1, output: 25 }
  const request: SpeakRequest = { model: 'm', text: 'a', stream: true, format: 'pcm', left: [] }
  const frames = speech.server.encodeEvents?.(result, request, MADE_UP) ?? []
  const events = frames.map(({ data }) => JSON.parse(data) as JsonObject)
  t.ok(events.length > 3)
  for (const event of events) t.same(openApi('speech.event')(event), [])
  const pieces = events.slice(0, -1).map(({ audio }) => Buffer.from(String(audio), 'base64'))
  t.ok(Buffer.concat(pieces).equals(samples))
})

t.test('every member of the reference is in a row', { skip }, async t => {
  const { schemas, root } = openApiSchemas('speech.request')
  const members = schemas.members(root)
  t.ok(members.includes('voice.id'), `${members.length} members`)
  t.same(uncovered(speech.server.fields, members), [])
})

t.test('hostile documents: nothing but errors of the gateway', async () => {
  fc.assert(
    fc.property(hostileObject([SPEECH]), hostile([SOUND]), (body, answer) => {
      const request = onlyGatewayErrors(() => speech.server.decodeRequest(body, head))
      if (request instanceof GatewayError) return
      const { carries, encodeRequest, decodeResult, decodeError } = speechByGenerate.client
      onlyGatewayErrors(() => encodeRequest(request, smallTarget(carries).target))
      onlyGatewayErrors(() => decodeError(400, answer))
      const result = onlyGatewayErrors(() => decodeResult(answer, request))
      if (result instanceof GatewayError) return
      onlyGatewayErrors(() => speech.server.encodeBytes?.(result, request))
      onlyGatewayErrors(() => speech.server.encodeEvents?.(result, request, MADE_UP))
    }),
    { numRuns: 300, endOnFailure: true },
  )
  for (const [server, { client }] of [
    [transcriptions.server, transcriptionsByGenerate],
    [translations.server, translationsByGenerate],
  ] as const) {
    fc.assert(
      fc.property(hostileObject([FORM]), hostile([WORDS]), (body, answer) => {
        const request: HearRequest | GatewayError = onlyGatewayErrors(() => server.decodeRequest(body, head))
        if (request instanceof GatewayError) return
        onlyGatewayErrors(() => client.encodeRequest(request, smallTarget(client.carries).target))
        const result = onlyGatewayErrors(() => client.decodeResult(answer, request))
        if (result instanceof GatewayError) return
        plain(server.encodeResult(result, request, MADE_UP))
        server.encodeBytes?.(result, request)
        server.encodeEvents?.(result, request, MADE_UP)
      }),
      { numRuns: 300, endOnFailure: true },
    )
  }
})
