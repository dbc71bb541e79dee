import type { Part } from './forms.js'
import {
  CHAT,
  COMPLETE,
  EMBED,
  IMAGE,
  type KindCall,
  MESSAGE,
  MODERATE,
  RANK,
  RESPOND,
  SOUND,
  SPEECH,
  THEIRS,
  TRANSLATE,
  WAV,
} from './kind-call.js'
import { MEDIA_CALLS } from './kind-media-calls.js'

/** What servers of the compatible protocols have beside chat. */
const V1: readonly (readonly [KindCall['asked'], string])[] = [COMPLETE, EMBED, MODERATE, IMAGE, SPEECH].map(asked => [
  asked,
  asked[0],
])

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
  ['deepseek', '/chat/completions', [COMPLETE, '/beta/completions'], [MESSAGE, '/anthropic/v1/messages']],
  ['featherless', '/v1/chat/completions'],
  [
    'fireworks',
    '/v1/chat/completions',
    [COMPLETE, '/v1/completions'],
    [RESPOND, '/v1/responses'],
    [MESSAGE, '/v1/messages'],
    [EMBED, '/v1/embeddings'],
    [RANK, '/v1/rerank'],
  ],
  ['friendli', '/serverless/v1/chat/completions'],
  [
    'gemini',
    '/v1beta/openai/chat/completions',
    [EMBED, '/v1beta/openai/embeddings'],
    [IMAGE, '/v1beta/openai/images/generations'],
  ],
  ['github-models', '/inference/chat/completions', [EMBED, '/inference/embeddings']],
  ['groq', '/v1/chat/completions', [SPEECH, '/v1/audio/speech']],
  ['huggingface', '/v1/chat/completions'],
  ['hunyuan', '/v1/chat/completions', [EMBED, '/v1/embeddings']],
  ['hyperbolic', '/v1/chat/completions'],
  ['inception', '/v1/chat/completions'],
  ['litellm', '/v1/chat/completions', [MESSAGE, '/v1/messages'], [RANK, '/v1/rerank']],
  [
    'lm-studio',
    '/v1/chat/completions',
    [COMPLETE, '/v1/completions'],
    [RESPOND, '/v1/responses'],
    [MESSAGE, '/v1/messages'],
    [EMBED, '/v1/embeddings'],
  ],
  ['localai', '/v1/chat/completions', [IMAGE, '/v1/images/generations']],
  ['minimax', '/v1/chat/completions', [MESSAGE, '/anthropic/v1/messages']],
  ['mistral', '/v1/chat/completions'],
  ['moonshot', '/v1/chat/completions', [MESSAGE, '/anthropic/v1/messages']],
  ['nebius', '/v1/chat/completions', [EMBED, '/v1/embeddings'], [IMAGE, '/v1/images/generations']],
  ['novita', '/openai/v1/chat/completions', [EMBED, '/openai/v1/embeddings']],
  ['nvidia', '/v1/chat/completions'],
  [
    'ollama',
    '/v1/chat/completions',
    [COMPLETE, '/v1/completions'],
    [MESSAGE, '/v1/messages'],
    [EMBED, '/v1/embeddings'],
  ],
  ['one-api', '/v1/chat/completions', ...V1],
  ['openai', '/v1/chat/completions', ...V1, [RESPOND, '/v1/responses']],
  ['openai-compatible', '/v1/chat/completions', ...V1],
  [
    'openrouter',
    '/v1/chat/completions',
    [COMPLETE, '/v1/completions'],
    [MESSAGE, '/v1/messages'],
    [EMBED, '/v1/embeddings'],
    [IMAGE, '/v1/images'],
    [RANK, '/v1/rerank'],
    [SPEECH, '/v1/audio/speech'],
  ],
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
    kind: 'mistral',
    asked: ['/v1/embeddings', { input: ['Hi'], dimensions: 256 }],
    sent: 'POST /v1/embeddings',
    body: { model: THEIRS, input: ['Hi'], output_dimension: 256 },
  },
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

const SAID = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] } as const

/** Kinds that keep no responses: each request says so, and the gateway keeps them instead. */
const STATELESS: readonly KindCall[] = [
  ['deepseek', '/responses'],
  ['groq', '/v1/responses'],
  ['ollama', '/v1/responses'],
  ['openrouter', '/v1/responses'],
].map(([kind = '', path]) => ({
  kind,
  asked: RESPOND,
  sent: `POST ${path}`,
  body: {
    model: THEIRS,
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    include: ['reasoning.encrypted_content'],
    store: false,
  },
  answer: { id: 'r', object: 'response', status: 'completed', output: [SAID] },
  got: { object: 'response', status: 'completed', output: [{ content: [{ text: 'Hi' }] }], store: true },
}))

/** Other protocols on chat: what each kind calls the longest answer. */
const LIMITS: readonly KindCall[] = [
  ['gemini', '/v1beta/openai/chat/completions', 'max_completion_tokens'],
  ['mistral', '/v1/chat/completions', 'max_tokens'],
  ['one-api', '/v1/chat/completions', 'max_tokens'],
].map(([kind = '', path, limit = '']) => ({
  kind,
  asked: MESSAGE,
  sent: `POST ${path}`,
  body: { model: THEIRS, [limit]: 9, messages: [{ role: 'user', content: 'Hi' }] },
  got: { type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' },
}))

const API_KEY = ['api-key', ''] as const
const PNG: Part = ['image', Buffer.from('picture'), 'image/png']

/** Forms pass unchanged, but for the name of the model. */
const FORMS: readonly KindCall[] = (
  [
    ['azure-openai', '/v1/images/edits', PNG, '/openai/v1/images/edits?api-version=preview'],
    ['azure-openai', SOUND[0], WAV, '/openai/v1/audio/transcriptions?api-version=preview'],
    ['azure-openai', TRANSLATE[0], WAV, '/openai/v1/audio/translations?api-version=preview'],
    ['groq', SOUND[0], WAV, SOUND[0]],
    ['groq', TRANSLATE[0], WAV, TRANSLATE[0]],
    ['mistral', SOUND[0], WAV, SOUND[0]],
    ['one-api', SOUND[0], WAV, SOUND[0]],
    ['openai', '/v1/images/variations', PNG, '/v1/images/variations'],
    ['openai-compatible', '/v1/images/edits', PNG, '/v1/images/edits'],
    ['openai-compatible', '/v1/images/variations', PNG, '/v1/images/variations'],
    ['openai-compatible', TRANSLATE[0], WAV, TRANSLATE[0]],
    ['openrouter', SOUND[0], WAV, SOUND[0]],
  ] as const
).map(([kind, path, file, target]) => ({
  kind,
  asked: [path, {}] as const,
  form: [file, ['prompt', 'Names']] as const,
  sent: `POST ${target}`,
  like: new RegExp(
    `name="model"\\r\\n\\r\\n${THEIRS}\\r\\n[^]*${file[2]}\\r\\n\\r\\n${file[1]}\\r\\n[^]*name="prompt"`,
  ),
  headers: { 'content-type': 'multipart/form-data; boundary=B' },
  ...(kind === 'azure-openai' && { credential: API_KEY }),
}))

/** A key in a header of its own; what is a preview says so in its address. */
const AZURE: readonly KindCall[] = (
  [
    [CHAT, '/openai/v1/chat/completions'],
    [COMPLETE, '/openai/v1/completions'],
    [RESPOND, '/openai/v1/responses'],
    [EMBED, '/openai/v1/embeddings'],
    [IMAGE, '/openai/v1/images/generations?api-version=preview'],
    [SPEECH, '/openai/v1/audio/speech?api-version=preview'],
  ] as const
).map(([asked, target]) => ({ kind: 'azure-openai', asked, sent: `POST ${target}`, credential: API_KEY }))

export const KIND_CALLS: readonly KindCall[] = [
  ...COMPATIBLE.flatMap(([kind, chat, ...others]) =>
    [[CHAT, chat] as const, ...others].map(([asked, path]) => ({ kind, asked, sent: `POST ${path}` })),
  ),
  ...OTHERS,
  ...STATELESS,
  ...LIMITS,
  ...AZURE,
  ...FORMS,
  ...MEDIA_CALLS,
]
