import type { Part } from './forms.js'

/** What a client asks of a kind, and what its upstream has to see: the shapes of the providers' public references. */
export interface KindCall {
  readonly kind: string
  /** A path of the gateway, and what the body has beside the model. */
  readonly asked: readonly [path: string, body: Readonly<Record<string, unknown>>]
  /** The body, if it is a form; `asked` then has nothing beside the path. */
  readonly form?: readonly Part[]
  /** Method and target at the upstream. */
  readonly sent: string
  /** The body there; absent: as the client sent it, with the upstream's name of the model. */
  readonly body?: Readonly<Record<string, unknown>>
  /** What the body there is like, if it is not JSON. */
  readonly like?: RegExp
  /** Headers there, beside the credential. */
  readonly headers?: Readonly<Record<string, string>>
  /** Where the credential is, with what precedes it; absent: a bearer token. */
  readonly credential?: readonly [place: string, before: string]
  /** The upstream's answer; absent: one that the operation usually has. */
  readonly answer?: unknown
  /** What of it the client gets. */
  readonly got?: Readonly<Record<string, unknown>>
  /** The same of an answer that is not JSON: its content type, and its bytes as text. */
  readonly bytes?: readonly [type: string, text: string]
}

/** The upstream's name of each model. */
export const THEIRS = 'vendor/model-1'

const CHAT = ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }] as const
const EMBED = ['/v1/embeddings', { input: ['Hi'] }] as const
const IMAGE = ['/v1/images/generations', { prompt: 'A cat' }] as const
const SPEECH = ['/v1/audio/speech', { input: 'Hi', voice: 'amber' }] as const
const RANK = ['/v1/rerank', { query: 'a', documents: ['a', 'b'] }] as const
const MESSAGE = ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }] as const

/** Where each kind that speaks the compatible protocols has them. */
const COMPATIBLE: readonly (readonly [
  kind: string,
  chat: string,
  ...others: (readonly [KindCall['asked'], string])[],
])[] = [
  ['ai21', '/studio/v1/chat/completions'],
  ['baseten', '/v1/chat/completions'],
  ['cerebras', '/v1/chat/completions'],
  ['chutes', '/v1/chat/completions'],
  ['cloudflare', '/v1/chat/completions', [EMBED, '/v1/embeddings']],
  ['dashscope', '/compatible-mode/v1/chat/completions', [RANK, '/compatible-api/v1/reranks']],
  ['databricks', '/serving-endpoints/chat/completions', [EMBED, '/serving-endpoints/embeddings']],
  [
    'deepinfra',
    '/v1/openai/chat/completions',
    [MESSAGE, '/anthropic/v1/messages'],
    [SPEECH, '/v1/openai/audio/speech'],
  ],
  ['featherless', '/v1/chat/completions'],
  ['friendli', '/serverless/v1/chat/completions'],
  ['github-models', '/inference/chat/completions', [EMBED, '/inference/embeddings']],
  ['huggingface', '/v1/chat/completions'],
  ['hunyuan', '/v1/chat/completions', [EMBED, '/v1/embeddings']],
  ['hyperbolic', '/v1/chat/completions'],
  ['inception', '/v1/chat/completions'],
  ['litellm', '/v1/chat/completions', [MESSAGE, '/v1/messages'], [RANK, '/v1/rerank']],
  ['localai', '/v1/chat/completions', [IMAGE, '/v1/images/generations']],
  ['minimax', '/v1/chat/completions', [MESSAGE, '/anthropic/v1/messages']],
  ['moonshot', '/v1/chat/completions', [MESSAGE, '/anthropic/v1/messages']],
  ['nebius', '/v1/chat/completions', [EMBED, '/v1/embeddings'], [IMAGE, '/v1/images/generations']],
  ['novita', '/openai/v1/chat/completions', [EMBED, '/openai/v1/embeddings']],
  ['nvidia', '/v1/chat/completions'],
  ['ovhcloud', '/v1/chat/completions', [EMBED, '/v1/embeddings']],
  ['perplexity', '/chat/completions'],
  ['qianfan', '/v2/chat/completions', [RANK, '/v2/rerank']],
  ['sambanova', '/v1/chat/completions', [EMBED, '/v1/embeddings']],
  ['scaleway', '/v1/chat/completions', [EMBED, '/v1/embeddings']],
  ['sglang', '/v1/chat/completions', [EMBED, '/v1/embeddings']],
  ['siliconflow', '/v1/chat/completions', [RANK, '/v1/rerank'], [SPEECH, '/v1/audio/speech']],
  ['snowflake', '/api/v2/cortex/v1/chat/completions', [MESSAGE, '/api/v2/cortex/v1/messages']],
  ['stepfun', '/v1/chat/completions', [SPEECH, '/v1/audio/speech']],
  ['upstage', '/v1/chat/completions', [EMBED, '/v1/embeddings']],
  ['venice', '/api/v1/chat/completions', [IMAGE, '/api/v1/images/generations']],
  ['vercel', '/v1/chat/completions', [MESSAGE, '/v1/messages']],
  ['volcengine', '/api/v3/chat/completions', [IMAGE, '/api/v3/images/generations']],
  ['xinference', '/v1/chat/completions', [RANK, '/v1/rerank']],
  ['zai', '/api/paas/v4/chat/completions', [MESSAGE, '/api/anthropic/v1/messages']],
  ['zhipu', '/api/paas/v4/chat/completions', [EMBED, '/api/paas/v4/embeddings']],
]

const OTHERS: readonly KindCall[] = [
  { kind: 'infinity', asked: EMBED, sent: 'POST /embeddings' },
  { kind: 'infinity', asked: RANK, sent: 'POST /rerank' },
  {
    kind: 'nvidia',
    asked: EMBED,
    sent: 'POST /v1/embeddings',
    body: { model: THEIRS, input: ['Hi'], input_type: 'query' },
  },
  {
    kind: 'siliconflow',
    asked: ['/v1/images/generations', { prompt: 'A cat', size: '1024x1024', n: 2 }],
    sent: 'POST /v1/images/generations',
    body: { model: THEIRS, prompt: 'A cat', image_size: '1024x1024', batch_size: 2 },
  },
  {
    kind: 'watsonx',
    asked: CHAT,
    sent: 'POST /ml/v1/text/chat?version=2024-10-08',
    body: { model_id: THEIRS, messages: [{ role: 'user', content: 'Hi' }] },
  },
  {
    kind: 'watsonx',
    asked: ['/v1/chat/completions', { ...CHAT[1], stream: true }],
    sent: 'POST /ml/v1/text/chat_stream?version=2024-10-08',
    body: { model_id: THEIRS, messages: [{ role: 'user', content: 'Hi' }] },
  },
  {
    kind: 'watsonx',
    asked: EMBED,
    sent: 'POST /ml/v1/text/embeddings?version=2024-10-08',
    body: { model_id: THEIRS, inputs: ['Hi'] },
    answer: { model_id: THEIRS, results: [{ embedding: [0.5, 0.25] }], input_token_count: 2 },
    got: { data: [{ embedding: [0.5, 0.25] }], usage: { prompt_tokens: 2 } },
  },
  {
    kind: 'github-models',
    asked: CHAT,
    sent: 'POST /inference/chat/completions',
    headers: { 'x-github-api-version': '2022-11-28' },
  },
  {
    kind: 'snowflake',
    asked: CHAT,
    sent: 'POST /api/v2/cortex/v1/chat/completions',
    headers: { 'x-snowflake-authorization-token-type': 'PROGRAMMATIC_ACCESS_TOKEN' },
  },
]

const SOUND = ['/v1/audio/transcriptions', {}] as const
const WAV: Part = ['file', Buffer.from('sound'), 'audio/wav']

const MEDIA: readonly KindCall[] = [
  {
    kind: 'elevenlabs',
    asked: ['/v1/audio/speech', { input: 'Hi', voice: 'am/ber', response_format: 'mp3', speed: 1.1 }],
    sent: 'POST /v1/text-to-speech/am%2Fber?output_format=mp3_44100_128',
    body: { model_id: THEIRS, text: 'Hi', voice_settings: { speed: 1.1 } },
    credential: ['xi-api-key', ''],
  },
  {
    kind: 'elevenlabs',
    asked: SOUND,
    form: [['language', 'en'], WAV, ['response_format', 'json']],
    sent: 'POST /v1/speech-to-text',
    like: /name="model_id"\r\n\r\nvendor\/model-1\r\n[\s\S]*name="language_code"\r\n\r\nen\r\n[\s\S]*filename="file.bin"/,
    credential: ['xi-api-key', ''],
    answer: { text: 'Hi', words: [] },
    got: { text: 'Hi' },
  },
  {
    kind: 'deepgram',
    asked: ['/v1/audio/speech', { input: 'Hi', voice: 'amber', response_format: 'wav' }],
    sent: 'POST /v1/speak?model=vendor%2Fmodel-1&encoding=linear16',
    body: { text: 'Hi' },
    credential: ['authorization', 'Token '],
  },
  {
    kind: 'deepgram',
    asked: SOUND,
    form: [WAV, ['language', 'en']],
    sent: 'POST /v1/listen?model=vendor%2Fmodel-1&smart_format=true&language=en',
    like: /^sound$/,
    headers: { 'content-type': 'audio/wav', 'content-length': '5' },
    credential: ['authorization', 'Token '],
    answer: { metadata: { duration: 2 }, results: { channels: [{ alternatives: [{ transcript: 'Hi' }] }] } },
    got: { text: 'Hi', duration: 2 },
  },
  {
    kind: 'cloudflare',
    asked: SPEECH,
    sent: 'POST /run/vendor/model-1',
    body: { prompt: 'Hi' },
    answer: { result: { audio: Buffer.from('sound').toString('base64') }, success: true, errors: [], messages: [] },
    bytes: ['audio/mpeg', 'sound'],
  },
  {
    kind: 'cloudflare',
    asked: SOUND,
    form: [WAV, ['language', 'en'], ['prompt', 'Names'], ['response_format', 'json']],
    sent: 'POST /run/vendor/model-1',
    body: { audio: 'c291bmQ=', language: 'en', initial_prompt: 'Names' },
    headers: { 'content-type': 'application/json' },
    answer: { result: { text: 'Hi', transcription_info: { language: 'en', duration: 2 }, vtt: '' }, success: true },
    got: { text: 'Hi', language: 'en', duration: 2 },
  },
  {
    kind: 'cloudflare',
    asked: ['/v1/audio/translations', {}],
    form: [WAV],
    sent: 'POST /run/vendor/model-1',
    body: { audio: 'c291bmQ=', task: 'translate' },
    answer: { result: { text: 'Hi', word_count: 1 }, success: true },
    got: { text: 'Hi' },
  },
  {
    kind: 'cartesia',
    asked: SPEECH,
    sent: 'POST /tts/bytes',
    body: {
      model_id: THEIRS,
      transcript: 'Hi',
      voice: { mode: 'id', id: 'amber' },
      output_format: { container: 'mp3', sample_rate: 44100, bit_rate: 128000 },
    },
    headers: { 'cartesia-version': '2025-04-16' },
  },
  {
    kind: 'cartesia',
    asked: SOUND,
    form: [WAV, ['response_format', 'json']],
    sent: 'POST /stt',
    like: /vendor\/model-1[\s\S]*name="file"/,
    answer: { text: 'Hi' },
    got: { text: 'Hi' },
  },
  {
    kind: 'stability',
    asked: ['/v1/images/generations', { prompt: 'A "cat"', size: '1024x1024', user: 'me' }],
    sent: 'POST /v2beta/stable-image/generate/vendor%2Fmodel-1',
    like: /name="prompt"\r\n\r\nA "cat"\r\n[\s\S]*name="aspect_ratio"\r\n\r\n1:1\r\n--gateway-\w+--\r\n$/,
    headers: { accept: 'application/json' },
    answer: { image: 'aGk=', finish_reason: 'SUCCESS', seed: 1 },
    got: { data: [{ b64_json: 'aGk=' }] },
  },
  {
    kind: 'fal',
    asked: ['/v1/images/generations', { prompt: 'A cat', size: '1024x768', n: 2 }],
    sent: 'POST /vendor/model-1',
    body: { prompt: 'A cat', image_size: { width: 1024, height: 768 }, num_images: 2 },
    credential: ['authorization', 'Key '],
    answer: { images: [{ url: 'https://media.example/a.png', width: 1024 }], timings: {} },
    got: { data: [{ url: 'https://media.example/a.png' }] },
  },
  {
    kind: 'replicate',
    asked: ['/v1/images/generations', { prompt: 'A cat', size: '1024x1024' }],
    sent: 'POST /v1/models/vendor/model-1/predictions',
    body: { input: { prompt: 'A cat', aspect_ratio: '1:1' } },
    headers: { prefer: 'wait' },
    answer: { id: 'p', status: 'succeeded', output: 'https://media.example/a.png' },
    got: { data: [{ url: 'https://media.example/a.png' }] },
  },
  {
    kind: 'minimax',
    asked: ['/v1/images/generations', { prompt: 'A cat', size: '1024x1024', response_format: 'b64_json' }],
    sent: 'POST /v1/image_generation',
    body: { model: THEIRS, prompt: 'A cat', aspect_ratio: '1:1', response_format: 'base64' },
    answer: { id: 'i', data: { image_base64: ['aGk='] }, base_resp: { status_code: 0 } },
    got: { data: [{ b64_json: 'aGk=' }] },
  },
  {
    kind: 'minimax',
    asked: IMAGE,
    sent: 'POST /v1/image_generation',
    answer: { data: { image_urls: ['https://media.example/a.png'] } },
    got: { data: [{ url: 'https://media.example/a.png' }] },
  },
]

export const KIND_CALLS: readonly KindCall[] = [
  ...COMPATIBLE.flatMap(([kind, chat, ...others]) =>
    [[CHAT, chat] as const, ...others].map(([asked, path]) => ({ kind, asked, sent: `POST ${path}` })),
  ),
  ...OTHERS,
  ...MEDIA,
]
