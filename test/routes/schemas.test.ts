import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { compileSchema } from '../../src/config/schemas.js'
import type { JsonObject } from '../../src/core/json.js'
import { isObject } from '../../src/core/json.js'
import { packageRoot } from '../../src/core/package-root.js'
import { readRecordings, recordingsFile } from '../helpers/recordings.js'

const folder = join(packageRoot(), 'schemas')

function schema(name: string): JsonObject {
  return JSON.parse(readFileSync(join(folder, `${name}.request.json`), 'utf8')) as JsonObject
}

const names = [
  ...(['chat', 'completions', 'converse', 'embed-content', 'embed-contents', 'embeddings'] as const),
  ...([
    'generate.count_tokens',
    'generate',
    'images.edits',
    'images.edits.document',
    'images.generations',
    'images.variations',
    'speech',
    'transcriptions',
    'translations',
    'messages.count_tokens',
    'messages',
    'moderations',
    'responses',
  ] as const),
  ...(['batches', 'message-batches', 'native-batches', 'uploads', 'uploads.complete'] as const),
  ...(['predict', 'predict-long-running', 'rerank', 'rerank.v2', 'videos', 'videos.form', 'videos.remix'] as const),
  ...([
    ...([
      'mj.action',
      'mj.blend',
      'mj.change',
      'mj.describe',
      'mj.edits',
      'mj.imagine',
      'mj.list-by-condition',
    ] as const),
    ...(['mj.modal', 'mj.shorten', 'mj.simple-change', 'mj.swap-face', 'mj.upload', 'mj.video'] as const),
  ] as const),
] as const
type Name = (typeof names)[number]

const check = Object.fromEntries(names.map(name => [name, compileSchema(schema(name))])) as Record<
  Name,
  ReturnType<typeof compileSchema>
>

t.test('every route that takes a body has a request schema', async t => {
  const files = readdirSync(folder).filter(file => file.endsWith('.request.json'))
  t.same(files.sort(), names.map(name => `${name}.request.json`).sort())
})

t.test('every property of a request schema is described', async t => {
  for (const name of names) t.same(undescribed(schema(name)), [], name)
})

/** Paths of properties without a description; those that only narrow another (in `then`) need none. */
function undescribed(node: unknown, path = ''): string[] {
  if (!isObject(node)) return []
  const own = isObject(node.properties) ? Object.entries(node.properties) : []
  const missing = own.filter(([, field]) => !isObject(field) || typeof field.description !== 'string')
  const inner = Object.entries(node)
    .filter(([key]) => !['if', 'then', 'allOf', 'enum'].includes(key))
    .flatMap(([key, value]) => undescribed(value, `${path}/${key}`))
  return [...missing.map(([name]) => `${path}/${name}`), ...inner]
}

const ranking = { model: 'm', query: 'a', documents: ['a'] }
const file = { filename: 'a', content_type: 'a/b', size: 7 }
const hello = [{ role: 'user', content: 'hello' }]

/** Each body is wrong in one place; the first violation names it as the client wrote it. */
const wrong: readonly [Name, string, unknown, string][] = [
  ['images.edits', 'without an image', { model: 'm', prompt: 'x' }, 'image'],
  ['images.edits', 'without a prompt', { model: 'm', image: file }, 'prompt'],
  ['images.edits', 'with an image that is text', { model: 'm', prompt: 'x', image: 'a.png' }, 'image'],
  ['images.edits', 'with an empty image', { model: 'm', prompt: 'x', image: { ...file, size: 0 } }, 'image.size'],
  ['images.edits', 'with too many images', { model: 'm', prompt: 'x', image: Array(17).fill(file) }, 'image'],
  ['images.edits', 'with n in words', { model: 'm', prompt: 'x', image: file, n: 'two' }, 'n'],
  ['images.edits', 'with two prompts', { model: 'm', prompt: ['x', 'y'], image: file }, 'prompt'],
  ['images.edits.document', 'without images', { model: 'm', prompt: 'x' }, 'images'],
  ['images.edits.document', 'with an image that is text', { model: 'm', prompt: 'x', images: ['u'] }, 'images[0]'],
  ['images.variations', 'with two images', { model: 'm', image: [file, file] }, 'image'],
  ['transcriptions', 'without a file', { model: 'm' }, 'file'],
  ['transcriptions', 'with a temperature in words', { model: 'm', file, temperature: 'hot' }, 'temperature'],
  ['transcriptions', 'with a language that is a file', { model: 'm', file, language: file }, 'language'],
  ['translations', 'with an empty file', { model: 'm', file: { ...file, size: 0 } }, 'file.size'],
  ['chat', 'without messages', { model: 'm' }, 'messages'],
  ['chat', 'without a model', { messages: hello }, 'model'],
  ['chat', 'with a model that is a number', { model: 7, messages: hello }, 'model'],
  ['chat', 'with messages that are a text', { model: 'm', messages: 'hello' }, 'messages'],
  ['chat', 'without any message', { model: 'm', messages: [] }, 'messages'],
  ['chat', 'with a message that is a text', { model: 'm', messages: ['hello'] }, 'messages[0]'],
  ['chat', 'without a role', { model: 'm', messages: [{ content: 'hello' }] }, 'messages[0].role'],
  [
    'chat',
    'with an unknown role',
    { model: 'm', messages: [...hello, { role: 'bot', content: '' }] },
    'messages[1].role',
  ],
  ['chat', 'with a user who says nothing', { model: 'm', messages: [{ role: 'user' }] }, 'messages[0].content'],
  [
    'chat',
    'with content that is a number',
    { model: 'm', messages: [{ role: 'user', content: 1 }] },
    'messages[0].content',
  ],
  ['chat', 'with a part without a type', chatParts({ text: 'hello' }), 'messages[0].content[0].type'],
  ['chat', 'with a text part without text', chatParts({ type: 'text' }), 'messages[0].content[0].text'],
  [
    'chat',
    'with an image without an address',
    chatParts({ type: 'image_url', image_url: {} }),
    'messages[0].content[0].image_url.url',
  ],
  ['chat', 'with a temperature over 2', { model: 'm', messages: hello, temperature: 2.5 }, 'temperature'],
  ['chat', 'with a negative temperature', { model: 'm', messages: hello, temperature: -1 }, 'temperature'],
  ['chat', 'with a temperature in quotes', { model: 'm', messages: hello, temperature: '1' }, 'temperature'],
  ['chat', 'with no choices', { model: 'm', messages: hello, n: 0 }, 'n'],
  ['chat', 'with half a token', { model: 'm', messages: hello, max_tokens: 0.5 }, 'max_tokens'],
  ['chat', 'with stream in quotes', { model: 'm', messages: hello, stream: 'true' }, 'stream'],
  [
    'chat',
    'with a function without a name',
    { model: 'm', messages: hello, tools: [{ type: 'function', function: {} }] },
    'tools[0].function.name',
  ],
  ['completions', 'with a prompt that is an object', { model: 'm', prompt: {} }, 'prompt'],
  ['completions', 'with best_of -1', { model: 'm', prompt: 'a', best_of: -1 }, 'best_of'],
  ['embeddings', 'without input', { model: 'm' }, 'input'],
  ['embeddings', 'without any input', { model: 'm', input: [] }, 'input'],
  ['embeddings', 'with an input that is null', { model: 'm', input: ['a', null] }, 'input[1]'],
  ['embeddings', 'with no dimensions', { model: 'm', input: 'a', dimensions: -1 }, 'dimensions'],
  ['moderations', 'without input', { model: 'm' }, 'input'],
  ['images.generations', 'without a prompt', { model: 'm' }, 'prompt'],
  ['images.generations', 'with a prompt that is a list', { model: 'm', prompt: ['a'] }, 'prompt'],
  ['images.generations', 'with no image', { model: 'm', prompt: 'a', n: 0 }, 'n'],
  ['images.generations', 'with a size that is a number', { model: 'm', prompt: 'a', size: 1 }, 'size'],
  [
    'images.generations',
    'with less than no partial image',
    { model: 'm', prompt: 'a', partial_images: -1 },
    'partial_images',
  ],
  ['speech', 'without a model', { input: 'a' }, 'model'],
  ['speech', 'without input', { model: 'm', voice: 'v' }, 'input'],
  ['speech', 'with a voice that is a number', { model: 'm', input: 'a', voice: 1 }, 'voice'],
  ['speech', 'with a format that is a list', { model: 'm', input: 'a', format: [] }, 'format'],
  ['speech', 'at a speed of nothing', { model: 'm', input: 'a', speed: 0 }, 'speed'],
  ['predict', 'without a question', {}, 'instances'],
  ['predict', 'with no question', { instances: [] }, 'instances'],
  ['predict', 'with a question that is a text', { instances: ['a'] }, 'instances[0]'],
  [
    'predict',
    'with half an image',
    { instances: [{ prompt: 'a' }], parameters: { sampleCount: 0.5 } },
    'parameters.sampleCount',
  ],
  ['predict-long-running', 'without a prompt', { instances: [{}] }, 'instances[0].prompt'],
  ['predict-long-running', 'with two', { instances: [{ prompt: 'a' }, { prompt: 'b' }] }, 'instances'],
  [
    'predict-long-running',
    'with several videos',
    { instances: [{ prompt: 'a' }], parameters: { sampleCount: 2 } },
    'parameters.sampleCount',
  ],
  [
    'predict-long-running',
    'with what is unknown',
    { instances: [{ prompt: 'a' }], parameters: { storageUri: 'gs://a' } },
    'parameters.storageUri',
  ],
  ['videos', 'without a prompt', { model: 'm' }, 'prompt'],
  ['videos', 'with half a second', { model: 'm', prompt: 'a', duration: 0.5 }, 'duration'],
  ['videos', 'with a size that is a ratio', { model: 'm', prompt: 'a', size: '16:9' }, 'size'],
  [
    'videos.form',
    'with a picture that is empty',
    { model: 'm', prompt: 'a', input_reference: { size: 0 } },
    'input_reference.size',
  ],
  ['videos.remix', 'without a prompt', {}, 'prompt'],
  ['rerank', 'without a query', { model: 'm', documents: ['a'] }, 'query'],
  ['rerank', 'without documents', { model: 'm', query: 'a' }, 'documents'],
  ['rerank', 'with no documents', { model: 'm', query: 'a', documents: [] }, 'documents'],
  ['rerank', 'with a document that is null', { model: 'm', query: 'a', documents: ['a', null] }, 'documents[1]'],
  ['rerank', 'with no results', { model: 'm', query: 'a', documents: ['a'], top_n: 0 }, 'top_n'],
  ['rerank', 'with a wish that is a text', { ...ranking, return_documents: 'yes' }, 'return_documents'],
  ['rerank', 'with a member that is a number', { ...ranking, rank_fields: ['a', 1] }, 'rank_fields[1]'],
  ['rerank.v2', 'with a document that is an object', { ...ranking, documents: [{ text: 'a' }] }, 'documents[0]'],
  ['rerank.v2', 'with a priority that is a text', { ...ranking, priority: 'high' }, 'priority'],
  ['moderations', 'with a part without a type', { model: 'm', input: [{ text: 'a' }] }, 'input[0].type'],
  ['responses', 'with an input that is a number', { model: 'm', input: 1 }, 'input'],
  ['responses', 'with an unknown role', { model: 'm', input: [{ role: 'bot', content: 'a' }] }, 'input[0].role'],
  ['responses', 'with a message without content', { model: 'm', input: [{ role: 'user' }] }, 'input[0].content'],
  [
    'responses',
    'with a call without an id',
    { model: 'm', input: [{ type: 'function_call', name: 'f', arguments: '' }] },
    'input[0].call_id',
  ],
  ['responses', 'with a tool without a type', { model: 'm', input: 'a', tools: [{ name: 'f' }] }, 'tools[0].type'],
  ['messages', 'without a model', { max_tokens: 1, messages: hello }, 'model'],
  ['messages', 'without max_tokens', { model: 'm', messages: hello }, 'max_tokens'],
  ['messages', 'without messages', { model: 'm', max_tokens: 1 }, 'messages'],
  [
    'messages',
    'from a tool',
    { model: 'm', max_tokens: 1, messages: [{ role: 'tool', content: 'a' }] },
    'messages[0].role',
  ],
  ['messages', 'with a block without a type', blocks({ text: 'a' }), 'messages[0].content[0].type'],
  ['messages', 'with a text block without text', blocks({ type: 'text' }), 'messages[0].content[0].text'],
  ['messages', 'with an image from nowhere', blocks({ type: 'image' }), 'messages[0].content[0].source'],
  [
    'messages',
    'with an image without its media type',
    blocks({ type: 'image', source: { type: 'base64', data: 'AA' } }),
    'messages[0].content[0].source.media_type',
  ],
  [
    'messages',
    'with arguments that are a text',
    blocks({ type: 'tool_use', id: 'a', name: 'f', input: '{}' }),
    'messages[0].content[0].input',
  ],
  ['messages', 'with a result of no call', blocks({ type: 'tool_result' }), 'messages[0].content[0].tool_use_id'],
  ['messages', 'with a tool without a name', { ...blocks({ type: 'text', text: 'a' }), tools: [{}] }, 'tools[0].name'],
  [
    'messages',
    'with a tool without a schema',
    { ...blocks({ type: 'text', text: 'a' }), tools: [{ name: 'f' }] },
    'tools[0].input_schema',
  ],
  [
    'messages',
    'with a tool to be called that has no name',
    { ...blocks({ type: 'text', text: 'a' }), tool_choice: { type: 'tool' } },
    'tool_choice.name',
  ],
  ['messages', 'over its temperature', { ...blocks({ type: 'text', text: 'a' }), temperature: 1.5 }, 'temperature'],
  ['messages.count_tokens', 'without messages', { model: 'm' }, 'messages'],
  ['generate', 'without contents', {}, 'contents'],
  ['generate', 'without any turn', { contents: [] }, 'contents'],
  ['generate', 'with contents that are a text', { contents: 'hello' }, 'contents'],
  ['generate', 'with parts that are a text', { contents: [{ parts: 'hello' }] }, 'contents[0].parts'],
  ['generate', 'with a text that is a number', turns({ text: 1 }), 'contents[0].parts[0].text'],
  [
    'generate',
    'with data that are a number',
    turns({ inlineData: { data: 1 } }),
    'contents[0].parts[0].inlineData.data',
  ],
  [
    'generate',
    'with data that are a number, in snake case',
    turns({ inline_data: { data: 1 } }),
    'contents[0].parts[0].inline_data.data',
  ],
  [
    'generate',
    'with a call without a name',
    turns({ function_call: { args: {} } }),
    'contents[0].parts[0].function_call.name',
  ],
  [
    'generate',
    'with an answer that is a text',
    turns({ functionResponse: { name: 'f', response: 'ok' } }),
    'contents[0].parts[0].functionResponse.response',
  ],
  [
    'generate',
    'with a limit that is a text',
    { ...turns({ text: 'a' }), generation_config: { max_output_tokens: 'many' } },
    'generation_config.max_output_tokens',
  ],
  [
    'generate',
    'with a function without a name',
    { ...turns({ text: 'a' }), tools: [{ functionDeclarations: [{ description: 'f' }] }] },
    'tools[0].functionDeclarations[0].name',
  ],
  ['generate.count_tokens', 'of nothing', {}, 'contents'],
  [
    'generate.count_tokens',
    'of a request with nothing in it',
    { generateContentRequest: {} },
    'generateContentRequest.contents',
  ],
  ['embed-content', 'without content', {}, 'content'],
  ['embed-content', 'with content that is a text', { content: 'a' }, 'content'],
  ['embed-content', 'with no dimensions', { content: {}, output_dimensionality: 0 }, 'output_dimensionality'],
  ['embed-contents', 'without requests', {}, 'requests'],
  ['embed-contents', 'without any request', { requests: [] }, 'requests'],
  ['embed-contents', 'with a request without content', { requests: [{ model: 'models/m' }] }, 'requests[0].content'],
]

/** A request of message blocks. */
function blocks(...content: readonly JsonObject[]): JsonObject {
  return { model: 'm', max_tokens: 1, messages: [{ role: 'user', content }] }
}

/** A native request. */
function turns(...parts: readonly JsonObject[]): JsonObject {
  return { contents: [{ role: 'user', parts }] }
}

function chatParts(part: JsonObject): JsonObject {
  return { model: 'm', messages: [{ role: 'user', content: [part] }] }
}

for (const [name, how, body, param] of wrong) {
  t.test(`${name} ${how} is refused, naming ${param}`, async t => {
    t.equal(check[name](body)[0]?.param, param)
  })
}

const right: readonly [Name, string, unknown][] = [
  ['chat', 'with fields that no one knows', { model: 'm', messages: hello, top_k: 5, vendor: { deep: [1] } }],
  [
    'chat',
    'with null for what is left out',
    { model: 'm', messages: hello, temperature: null, tools: null, stop: null, n: null },
  ],
  ['chat', 'from a developer', { model: 'm', messages: [{ role: 'developer', content: 'be brief' }, ...hello] }],
  [
    'chat',
    'with an assistant who only calls tools',
    {
      model: 'm',
      messages: [
        ...hello,
        { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c', content: '4' },
      ],
    },
  ],
  [
    'chat',
    'with a part of an unknown type',
    chatParts({ type: 'video_url', video_url: { url: 'https://example.com' } }),
  ],
  [
    'chat',
    'with an image that is its address',
    chatParts({ type: 'image_url', image_url: 'data:image/png;base64,AA' }),
  ],
  ['chat', 'with an audio part', chatParts({ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } })],
  ['embeddings', 'with token ids', { model: 'm', input: [[1, 2], [3]] }],
  ['embeddings', 'with objects', { model: 'm', input: [{ image: 'https://example.com/a.png' }] }],
  ['moderations', 'without a model', { input: 'hello' }],
  [
    'images.generations',
    'with fields that no one knows, and null for what is left out',
    { model: 'm', prompt: 'a', size: '16:9', n: null, aspect_ratio: '1:1', image: ['data:image/png;base64,AA'] },
  ],
  [
    'images.edits',
    'with several images and a mask',
    { model: 'm', prompt: 'x', image: [file, file], mask: file, n: '2' },
  ],
  ['images.edits', 'with fields that no one knows', { model: 'm', prompt: 'x', image: file, strength: '0.3' }],
  [
    'images.edits.document',
    'by address and by id',
    { prompt: 'x', images: [{ image_url: 'u' }, { file_id: 'f' }], n: null },
  ],
  ['images.variations', 'of one image', { model: 'm', image: file, n: '' }],
  [
    'transcriptions',
    'with everything',
    {
      ...{ model: 'm', file, temperature: '0.2', include: ['logprobs'], timestamp_granularities: ['word', 'segment'] },
      ...{ chunking_strategy: 'auto', known_speaker_names: ['a'], known_speaker_references: 'data:,', stream: 'true' },
    },
  ],
  ['translations', 'with fields that no one knows', { model: 'm', file, hotwords: 'a' }],
  [
    'speech',
    'with a voice of one’s own',
    { model: 'm', input: 'a', voice: { id: 'v' }, format: 'wav', stream_format: null },
  ],
  ['rerank', 'with objects', { ...ranking, documents: [{ text: 'a', page: 1 }, { image: 'a' }], top_n: null }],
  ['rerank.v2', 'with texts', { ...ranking, max_tokens_per_doc: 9, priority: 0 }],
  ['responses', 'with a plain text', { model: 'm', input: 'hello' }],
  ['responses', 'with items of unknown types', { model: 'm', input: [{ type: 'shell_call', action: {} }] }],
  ['responses', 'with a stored prompt alone', { prompt: { id: 'pmpt_1' } }],
  [
    'messages',
    'with a tool of the upstream',
    { ...blocks({ type: 'text', text: 'a' }), tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
  ],
  ['messages', 'with a block of a type that no one knows', blocks({ type: 'hologram', depth: 3 })],
  [
    'messages',
    'with a whole turn of tools',
    {
      model: 'm',
      max_tokens: 0,
      system: [{ type: 'text', text: 'be brief', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      thinking: { type: 'enabled', budget_tokens: 1024 },
      messages: [
        ...hello,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: '', signature: 's' },
            { type: 'redacted_thinking', data: 'd' },
            { type: 'tool_use', id: 'a', name: 'f', input: {} },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true }] },
      ],
    },
  ],
  ['messages.count_tokens', 'without a limit', { model: 'm', messages: hello }],
  ['generate', 'with fields that no one knows', { ...turns({ text: 'a', hologram: {} }), vendor: 1 }],
  [
    'generate',
    'with a turn and a part alone',
    { contents: { parts: { text: 'a' } }, system_instruction: { parts: { text: 'b' } } },
  ],
  [
    'generate',
    'with a turn without parts',
    { contents: [{ role: 'user', parts: [{ text: 'a' }] }, { role: 'model' }] },
  ],
  ['generate.count_tokens', 'of a whole request', { generate_content_request: turns({ text: 'a' }) }],
  ['embed-contents', 'of several', { requests: [{ model: 'models/m', content: { parts: [{ text: 'a' }] } }] }],
]

for (const [name, how, body] of right) {
  t.test(`${name} ${how} passes`, async t => {
    t.same(check[name](body), [])
  })
}

const FORMS: readonly Name[] = ['images.edits', 'images.variations', 'transcriptions', 'translations']

const paths: readonly [string, Name][] = [
  ['/chat/completions', 'chat'],
  ['/completions', 'completions'],
  ['/embeddings', 'embeddings'],
  ['/moderations', 'moderations'],
  ['/images/generations', 'images.generations'],
  ['/audio/speech', 'speech'],
  ['/v1/rerank', 'rerank'],
  ['/v2/rerank', 'rerank.v2'],
  ['/responses', 'responses'],
  ['/v1/messages', 'messages'],
  ['/v1/messages/count_tokens', 'messages.count_tokens'],
  [':generateContent', 'generate'],
  [':streamGenerateContent', 'generate'],
  [':countTokens', 'generate.count_tokens'],
  [':embedContent', 'embed-content'],
  [':batchEmbedContents', 'embed-contents'],
  [':predict', 'predict'],
  [':predictLongRunning', 'predict-long-running'],
]

const recordings = recordingsFile()

t.test('every recorded request that a provider accepted passes', { skip: recordings === undefined }, async t => {
  const counts = new Map<Name, number>()
  for await (const { file, n, request, response } of readRecordings(recordings ?? '')) {
    const { pathname } = new URL(request.url, 'http://recorded.example')
    const name = paths.find(([path]) => pathname.endsWith(path))?.[1]
    if (name === undefined || !isObject(request.body) || Math.floor(response.status / 100) !== 2) continue
    const violations = check[name](named(request.body, pathname))
    if (violations.length > 0) t.same(violations, [], `${file} ${n}`)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  // No one who was recorded speaks converse, embeds one text alone, makes a batch or a video; forms are recorded elsewhere
  // (test/e2e/recorded-forms.test.ts).
  const unheard: readonly Name[] = [
    ...(['converse', 'embed-content', 'batches', 'images.edits.document', 'predict-long-running'] as const),
    ...(['message-batches', 'native-batches', 'uploads', 'uploads.complete'] as const),
    ...(['videos', 'videos.form', 'videos.remix'] as const),
    ...FORMS,
    ...names.filter(one => one.startsWith('mj.')),
  ]
  for (const name of names.filter(one => !unheard.includes(one)))
    t.ok((counts.get(name) ?? 0) > 0, `${name}: ${counts.get(name)} recorded requests`)
})

/** Some servers take the model from the path; clients of this gateway name it in the body. */
function named(body: JsonObject, path: string): JsonObject {
  return path.includes('/deployments/') ? { model: 'deployment', ...withoutNulls(body) } : body
}

function withoutNulls(body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => name !== 'model' || value !== null))
}

t.test('uploads and native batches are checked before an upstream hears of them', async t => {
  const upload = { filename: 'a.txt', purpose: 'user_data', bytes: 10, mime_type: 'text/plain' }
  t.same(check.uploads(upload), [])
  t.match(check.uploads({ ...upload, bytes: '10' }), [{ param: 'bytes' }])
  t.same(check['uploads.complete']({ part_ids: ['a', 'b'], md5: 'x' }), [])
  t.match(check['uploads.complete']({ part_ids: 'a' }), [{ param: 'part_ids' }])
  t.same(check['native-batches']({ batch: { displayName: 'b' } }), [])
  t.match(check['native-batches']({}), [{ param: 'batch' }])
  t.same(check['message-batches']({ requests: [{ custom_id: 'a', params: {} }] }), [])
  t.match(check['message-batches']({ requests: [] }), [{ param: 'requests' }])
  t.match(check['message-batches']({ requests: [{ params: {} }] }), [{ param: 'requests[0].custom_id' }])
})
