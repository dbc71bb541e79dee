import t, { type Test } from 'tap'
import type { LedgerRecord } from '../../src/core/ledger.js'
import { body, json, stream } from '../helpers/answers.js'
import { formOf, sending } from '../helpers/forms.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** What speech and transcripts cost where the price has only that of sound, millionths of a USD. */

async function staged(t: Test, price: string): Promise<{ readonly gateway: TestGateway; readonly up: RawUpstream }> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
store: { type: file, path: ./data }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { budget: 1 USD/day } }
upstreams: { up: { base: "${up.origin}", speaks: { speech: POST /v1/s, transcriptions: POST /v1/t } } }
models: { m: up }
prices: { up/m: ${price} }
`,
  )
  return { gateway, up }
}

async function onlyRecord(gateway: TestGateway): Promise<LedgerRecord> {
  // Of sound that has a length, the last byte comes before the record.
  await gateway.log.find(line => line.msg === 'request')
  const records = await ledgerRecords(gateway)
  t.equal(records.length, 1)
  return records[0] as LedgerRecord
}

const SAID = { model: 'm', voice: 'alloy', input: 'x'.repeat(1000) }

t.test('speech that no one counts costs the sound that was reserved for it', async t => {
  const { gateway, up } = await staged(t, '{ input: 0.60, output_audio: 12.00 }')
  up.answer(body('ID3\x04', { headers: { 'content-type': 'audio/mpeg' } }))
  t.equal((await gateway.request('/v1/audio/speech', { body: SAID })).status, 200)
  const { units, cost, estimated } = await onlyRecord(gateway)
  t.equal(units.output_audio, 4000)
  t.equal(units.output, undefined)
  t.equal(cost, Math.ceil((units.input ?? 0) * 0.6 + 4000 * 12))
  t.equal(estimated, true)
})

const EVENTS =
  'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n' +
  'data: {"type":"speech.audio.done","usage":{"input_tokens":10,"output_tokens":100,"total_tokens":110}}\n\n'

for (const [title, price, units, cost] of [
  ['sound alone has a price', '{ input: 1.00, output_audio: 12.00 }', { input: 10, output_audio: 100 }, 1210],
  ['text has one, too', '{ input: 1.00, output: 2.00, output_audio: 12.00 }', { input: 10, output: 100 }, 210],
  ['nothing made has one', '{ input: 1.00 }', { input: 10, output: 100 }, 10],
] as const)
  t.test(`speech whose tokens are counted, where ${title}`, async t => {
    const { gateway, up } = await staged(t, price)
    up.answer(stream([EVENTS]))
    const answer = await gateway.request('/v1/audio/speech', { body: { ...SAID, stream_format: 'sse' } })
    t.equal(answer.status, 200)
    const record = await onlyRecord(gateway)
    t.same(record.units, { ...units, character: 1000 })
    t.equal(record.cost, cost)
  })

for (const [title, usage, units, cost] of [
  [
    'of no kind',
    { input_tokens: 30, output_tokens: 5, total_tokens: 35 },
    { input_audio: 30, output: 5 },
    30 * 6 + 5 * 10,
  ],
  [
    'by kinds',
    { input_tokens: 30, input_token_details: { audio_tokens: 28, text_tokens: 2 }, output_tokens: 5, total_tokens: 35 },
    { input: 2, input_audio: 28, output: 5 },
    28 * 6 + 5 * 10,
  ],
  [
    'beside the prompt',
    { prompt_tokens: 5, completion_tokens: 11, total_tokens: 391, prompt_tokens_details: { audio_tokens: 375 } },
    { input: 5, input_audio: 375, output: 11 },
    375 * 6 + 11 * 10,
  ],
] as const)
  t.test(`a transcript whose price has sound alone, with tokens ${title}`, async t => {
    const { gateway, up } = await staged(t, '{ input_audio: 6.00, output: 10.00 }')
    up.answer(json({ text: 'Hello.', usage }))
    const form = formOf(['model', 'm'], ['file', Buffer.from('ID3\x04abc'), 'audio/mpeg'])
    t.equal((await gateway.request('/v1/audio/transcriptions', sending(form))).status, 200)
    const record = await onlyRecord(gateway)
    t.same(record.units, units)
    t.equal(record.cost, cost)
  })
