import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { CohereClient, CohereClientV2 } from 'cohere-ai'
import OpenAI, { toFile } from 'openai'

/** Where operations go, and with which key. */
export interface Asked {
  readonly origin: string
  readonly key: string
}

/** One operation of the shipped interface, asked by the official SDK of its family. */
export interface Operation {
  readonly name: string
  readonly family: 'compatible' | 'messages' | 'native' | 'rerank'
  /** Of the simulator. */
  readonly model: string
  /** The most that an answer is bounded to, where the request can say so. */
  readonly bounded: boolean
  /** Whether it reads or writes tokens. */
  readonly tokens: boolean
  run(asked: Asked, model: string): Promise<unknown>
}

export const openai = ({ origin, key }: Asked): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${origin}/v1`, maxRetries: 0 })
export const anthropic = ({ origin, key }: Asked): Anthropic =>
  new Anthropic({ apiKey: key, baseURL: origin, maxRetries: 0 })
const genai = ({ origin, key }: Asked): GoogleGenAI =>
  new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: origin } })

/** A second of a tone, as 16-bit samples at 8 kHz behind a header of 44 bytes. */
const SOUND = wave()
/** One white pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
const QUESTION = [{ role: 'user' as const, content: 'Say hello.' }]
const DOCUMENTS = ['Oslo is the capital of Norway.', 'Ruby is a language.']
const MOST = 16

function wave(): Buffer {
  const samples = 8000
  const wav = Buffer.alloc(44 + 2 * samples)
  wav.write('RIFF', 0)
  wav.writeUInt32LE(wav.length - 8, 4)
  wav.write('WAVEfmt ', 8)
  wav.writeUInt32LE(16, 16)
  wav.writeUInt16LE(1, 20)
  wav.writeUInt16LE(1, 22)
  wav.writeUInt32LE(8000, 24)
  wav.writeUInt32LE(16_000, 28)
  wav.writeUInt16LE(2, 32)
  wav.writeUInt16LE(16, 34)
  wav.write('data', 36)
  wav.writeUInt32LE(2 * samples, 40)
  for (let at = 0; at < samples; at++) wav.writeInt16LE(Math.round(9000 * Math.sin(at / 3)), 44 + 2 * at)
  return wav
}

async function drained(stream: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of stream) count++
  return count
}

const compatible = (name: string, model: string, run: Operation['run'], bounded = false): Operation => ({
  ...{ name, family: 'compatible', model, run, bounded, tokens: !['videos'].includes(name) },
})

export const OPERATIONS: readonly Operation[] = [
  compatible(
    'chat',
    'sim-text',
    (to, model) => openai(to).chat.completions.create({ model, messages: QUESTION, max_tokens: MOST }),
    true,
  ),
  compatible(
    'chat stream',
    'sim-text',
    async (to, model) =>
      drained(await openai(to).chat.completions.create({ model, messages: QUESTION, max_tokens: MOST, stream: true })),
    true,
  ),
  compatible(
    'completions',
    'sim',
    (to, model) => openai(to).completions.create({ model, prompt: 'Say hello.', max_tokens: MOST }),
    true,
  ),
  compatible(
    'responses',
    'sim-responses',
    (to, model) => openai(to).responses.create({ model, input: 'Say hello.', max_output_tokens: MOST }),
    true,
  ),
  compatible(
    'responses stream',
    'sim-responses',
    async (to, model) =>
      drained(await openai(to).responses.create({ model, input: 'Say hello.', max_output_tokens: MOST, stream: true })),
    true,
  ),
  compatible('embeddings', 'sim-embed', (to, model) => openai(to).embeddings.create({ model, input: 'hello' })),
  compatible('moderations', 'sim-moderate', (to, model) => openai(to).moderations.create({ model, input: 'hello' })),
  compatible('images', 'sim-image', (to, model) => openai(to).images.generate({ model, prompt: 'a house' })),
  compatible('image edits', 'sim-image', async (to, model) =>
    openai(to).images.edit({ model, prompt: 'a house', image: await toFile(PNG, 'a.png', { type: 'image/png' }) }),
  ),
  compatible('image variations', 'sim-image', async (to, model) =>
    openai(to).images.createVariation({ model, image: await toFile(PNG, 'a.png', { type: 'image/png' }) }),
  ),
  compatible('speech', 'sim-speech', async (to, model) =>
    (await openai(to).audio.speech.create({ model, input: 'hello', voice: 'alloy' })).arrayBuffer(),
  ),
  compatible('transcriptions', 'sim-transcribe', async (to, model) =>
    openai(to).audio.transcriptions.create({ model, file: await toFile(SOUND, 'a.wav') }),
  ),
  compatible('translations', 'sim-transcribe', async (to, model) =>
    openai(to).audio.translations.create({ model, file: await toFile(SOUND, 'a.wav') }),
  ),
  compatible('videos', 'sim-video', (to, model) =>
    openai(to).videos.create({ model, prompt: 'a house', seconds: '4' }),
  ),
  {
    ...{ name: 'messages', family: 'messages', model: 'sim-messages', bounded: true, tokens: true },
    run: (to, model) => anthropic(to).messages.create({ model, messages: QUESTION, max_tokens: MOST }),
  },
  {
    ...{ name: 'messages stream', family: 'messages', model: 'sim-messages', bounded: true, tokens: true },
    run: async (to, model) =>
      drained(await anthropic(to).messages.create({ model, messages: QUESTION, max_tokens: MOST, stream: true })),
  },
  {
    ...{ name: 'generate', family: 'native', model: 'sim-generate', bounded: true, tokens: true },
    run: (to, model) =>
      genai(to).models.generateContent({ model, contents: 'Say hello.', config: { maxOutputTokens: MOST } }),
  },
  {
    ...{ name: 'generate stream', family: 'native', model: 'sim-generate', bounded: true, tokens: true },
    run: async (to, model) =>
      drained(
        await genai(to).models.generateContentStream({
          model,
          contents: 'Say hello.',
          config: { maxOutputTokens: MOST },
        }),
      ),
  },
  {
    ...{ name: 'embed', family: 'native', model: 'sim-embed', bounded: false, tokens: true },
    run: (to, model) => genai(to).models.embedContent({ model, contents: 'hello' }),
  },
  {
    ...{ name: 'rerank', family: 'compatible', model: 'sim-rerank', bounded: false, tokens: true },
    run: ({ origin, key }, model) =>
      new CohereClient({ token: key, environment: origin, maxRetries: 0 }).rerank({
        model,
        query: 'q',
        documents: DOCUMENTS,
      }),
  },
  {
    ...{ name: 'rerank, second version', family: 'rerank', model: 'sim-rerank', bounded: false, tokens: true },
    run: ({ origin, key }, model) =>
      new CohereClientV2({ token: key, environment: origin, maxRetries: 0 }).rerank({
        model,
        query: 'q',
        documents: DOCUMENTS,
      }),
  },
]
