import { GoogleGenAI, Modality } from '@google/genai'
import t, { type Test } from 'tap'
import { samplesOf } from '../../../simulator/src/sound/speech.js'
import { dataOf, post, simulator } from '../support.js'

/** Sound of the native protocol: answers that are spoken, and recordings that are written down. */

const GENERATE = '/v1beta/models/sim-generate:generateContent'
const STREAM = '/v1beta/models/sim-generate:streamGenerateContent?alt=sse'
const TEXT = 'The harbour is quiet tonight.'

const contents = [{ role: 'user', parts: [{ text: TEXT }] }]
const speaking = (voiceName?: string) => ({
  responseModalities: ['AUDIO'],
  ...(voiceName !== undefined && { speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName } } } }),
})

// biome-ignore lint/suspicious/noExplicitAny: parsed answers are looked into freely here
type Json = any

async function spoken(t: Test, generationConfig: object): Promise<Buffer> {
  const answer: Json = JSON.parse((await post(await simulator(t), GENERATE, { contents, generationConfig })).text)
  const { parts } = answer.candidates[0].content
  t.equal(parts.length, 1)
  t.equal(parts[0].inlineData.mimeType, 'audio/L16;codec=pcm;rate=24000')
  return Buffer.from(parts[0].inlineData.data, 'base64')
}

t.test('the text of the turn is spoken, as long as it is, with the voice that is named', async t => {
  const usual = await spoken(t, speaking())
  t.equal(usual.length, 2 * samplesOf({ text: TEXT, pitch: 1, speed: 1 }))
  t.ok(usual.some(byte => byte !== 0))
  t.ok(usual.equals(await spoken(t, speaking('Kore'))))
  t.notOk(usual.equals(await spoken(t, speaking('Zephyr'))))
})

t.test('the native library gets it, streamed too', async t => {
  const upstream = await simulator(t)
  const ai = new GoogleGenAI({ apiKey: 'none needed', httpOptions: { baseUrl: upstream.origin } })
  const config = { responseModalities: [Modality.AUDIO] }
  const whole = await ai.models.generateContent({ model: 'sim-generate', contents: TEXT, config })
  const { text } = await post(upstream, STREAM, { contents, generationConfig: speaking() })
  const pieces = dataOf(text.replaceAll('\r', '')).map((one): Json => JSON.parse(one))
  t.equal(pieces[0].candidates[0].content.parts[0].inlineData.data, whole.data)
  t.ok((whole.usageMetadata?.candidatesTokenCount ?? 0) > 10)
})

/** The simulator's own speech. */
async function recording(t: Test, input: string): Promise<string> {
  const body = { model: 'sim-speech', input, voice: 'coral', response_format: 'wav' }
  return (await post(await simulator(t), '/v1/audio/speech', body)).body.toString('base64')
}

async function heard(t: Test, text: string, data: string, mimeType = 'audio/wav'): Promise<Json> {
  const parts = [{ text }, { inlineData: { mimeType, data } }]
  return JSON.parse((await post(await simulator(t), GENERATE, { contents: [{ role: 'user', parts }] })).text)
}

t.test('a recording is written down where the text asks for it, and not else', async t => {
  const said = async (text: string, data: string): Promise<string> =>
    (await heard(t, text, data)).candidates[0].content.parts?.[0]?.text ?? ''
  const wav = await recording(t, TEXT)
  t.equal(await said('Transcribe this.', wav), TEXT)
  t.equal(await said('Please write down what is said.', wav), TEXT)
  t.match(await said('What is this?', wav), /I hear 1 audio clip/)
  t.match(await said('Translate this.', await recording(t, 'Größe')), /1 word that are not English|not English/)
  const other = Buffer.from('ID3\x04and so on').toString('base64')
  t.match(await said('Transcribe this.', other), /understands only its own speech/)
})

const BAD: readonly (readonly [string, object, RegExp])[] = [
  ['words and sound', { responseModalities: ['TEXT', 'AUDIO'] }, /combination/],
  ['an unknown voice', speaking('alloy'), /Voice name alloy is not supported/],
  ['two answers', { ...speaking(), candidateCount: 2 }, /candidates/],
]

for (const [title, generationConfig, message] of BAD) {
  t.test(`refused as a provider would: ${title}`, async t => {
    const answer = await post(await simulator(t), GENERATE, { contents, generationConfig })
    t.equal(answer.status, 400)
    t.match(JSON.parse(answer.text).error.message, message)
  })
}

t.test('refused as a provider would: bytes that are not a recording, and a text that is too long', async t => {
  t.match((await heard(t, 'Transcribe this.', 'AAAA')).error, { code: 400, message: /process input audio/ })
  const long = [{ role: 'user', parts: [{ text: 'a'.repeat(5000) }] }]
  const answer = await post(await simulator(t), GENERATE, { contents: long, generationConfig: speaking() })
  t.match(JSON.parse(answer.text).error, { code: 400, message: /longer than 4096/ })
})
