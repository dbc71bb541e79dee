import t from 'tap'
import { json } from '../helpers/answers.js'
import { formOf, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** What the log says was used, where answers tell it in odd ways or come to nothing. */

type Line = Readonly<Record<string, unknown>>

const lineOf = async ({ log }: TestGateway): Promise<Line> => await log.find(line => line.msg === 'request')

const said = (text: string, usageMetadata: object): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
  usageMetadata,
})

const native = (origin: string, targets: string): string =>
  `version: 1\n${CALLER}\nupstreams:\n  up: { base: "${origin}", speaks: { generate: "POST /v1/g" } }\n` +
  `models: { m: { targets: ${targets}, traits: { audio: generate } } }\nretry: { on: [bad_response] }\n`

t.test('transcripts whose tokens have the names of chat count, and so do their seconds', async t => {
  const up = await startRawUpstream(t)
  const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13, prompt_audio_seconds: 7 }
  up.answer(json({ text: 'Hello.', usage: { ...usage, prompt_tokens_details: { audio_tokens: 8 } } }))
  const yaml = `version: 1\n${CALLER}\nupstreams:\n  up: { base: "${up.origin}", speaks: { transcriptions: "POST /v1/t" } }\nmodels: { m: up }\n`
  const gateway = await startTestGateway(t, yaml)
  const form = formOf(['model', 'm'], ['file', Buffer.from('ID3\x04abc'), 'audio/mpeg'])
  t.equal((await gateway.request('/v1/audio/transcriptions', sending(form))).status, 200)
  const counts = { input_tokens: 9, output_tokens: 4, total_tokens: 13, input_audio_tokens: 8, audio_seconds: 7 }
  t.match(await lineOf(gateway), counts)
})

t.test('answers that come to nothing are billed, each of them', async t => {
  const up = await startRawUpstream(t)
  const usage = { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 }
  up.answer(json(said('words, and no sound', usage)), json(said('again', usage)))
  const gateway = await startTestGateway(t, native(up.origin, '[{ upstream: up, as: one }, { upstream: up, as: two }]'))
  const body = { model: 'm', input: 'Hello.', voice: 'alloy', response_format: 'wav' }
  t.equal((await gateway.request('/v1/audio/speech', { body })).status, 502)
  const tries = up.requests.items.length
  const counts = { input_tokens: 5 * tries, output_tokens: 3 * tries, total_tokens: 8 * tries }
  t.match(await lineOf(gateway), { status: 502, ...counts })
})

t.test('the share of audio is reported for translated answers', async t => {
  const up = await startRawUpstream(t)
  const usage = {
    ...{ promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 1 },
      { modality: 'AUDIO', tokenCount: 4 },
    ],
  }
  up.answer(json(said('Hello.', usage)))
  const gateway = await startTestGateway(t, native(up.origin, '[up]'))
  const form = formOf(['model', 'm'], ['file', Buffer.from('ID3\x04abc'), 'audio/mpeg'])
  t.equal((await gateway.request('/v1/audio/transcriptions', sending(form))).status, 200)
  t.match(await lineOf(gateway), { input_tokens: 5, output_tokens: 3, input_audio_tokens: 4 })
})

t.test('what an upstream compacts is billed', async t => {
  const up = await startRawUpstream(t)
  const usage = { input_tokens: 50, output_tokens: 7, total_tokens: 57 }
  up.answer(json({ id: 'resp_1', object: 'response.compaction', created_at: 1, output: [], usage }))
  const yaml = `version: 1\n${CALLER}\nupstreams:\n  up: { base: "${up.origin}", speaks: { responses: "POST /v1/responses" } }\nmodels: { m: up }\n`
  const gateway = await startTestGateway(t, yaml)
  const answer = await gateway.request('/v1/responses/compact', { body: { model: 'm', input: 'Hello.' } })
  t.equal(answer.status, 200)
  t.match(await lineOf(gateway), { input_tokens: 50, output_tokens: 7, total_tokens: 57 })
})
