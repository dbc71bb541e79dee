import { type BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime'
import { GoogleGenAI } from '@google/genai'
import { toFile } from 'openai'
import { converseSdk } from './converse.js'
import { type Asked, anthropic, OPERATIONS, openai } from './operations.js'

/** The client that sends an operation, and so what its errors are. */
export type Client = 'openai' | 'anthropic' | 'genai' | 'cohere' | 'converse'

export interface EveryOperation {
  readonly client: Client
  run(asked: Asked): Promise<unknown>
}

const ID = 'nothing-has-this-id'
const MESSAGES = [{ role: 'user' as const, content: 'Say hello.' }]
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
const text = () => toFile(Buffer.from('hello'), 'a.txt')

const genai = ({ origin, key }: Asked, apiVersion: string): GoogleGenAI =>
  new GoogleGenAI({ apiKey: key, apiVersion, httpOptions: { baseUrl: origin } })

const byOpenai = (run: (client: ReturnType<typeof openai>) => PromiseLike<unknown>): EveryOperation => ({
  client: 'openai',
  run: async asked => run(openai(asked)),
})
const byAnthropic = (run: (client: ReturnType<typeof anthropic>) => PromiseLike<unknown>): EveryOperation => ({
  client: 'anthropic',
  run: async asked => run(anthropic(asked)),
})
const byGenai = (apiVersion: string, run: (client: GoogleGenAI) => PromiseLike<unknown>): EveryOperation => ({
  client: 'genai',
  run: async asked => run(genai(asked, apiVersion)),
})
const byConverse = (run: (client: BedrockRuntimeClient) => PromiseLike<unknown>): EveryOperation => ({
  client: 'converse',
  run: async ({ origin, key }) => run(converseSdk(origin, key)),
})
/** No SDK has a method for it: the client of the compatible family sends it. */
const raw = (method: 'get' | 'post' | 'head', path: string, body?: object): EveryOperation =>
  byOpenai(client => {
    const baseURL = new URL(client.baseURL).origin
    return client.withOptions({ baseURL }).request({ method: method as 'get', path, ...(body && { body }) })
  })

/** One of those that are measured with tokens and prices, too. */
function known(name: string): EveryOperation {
  const operation = OPERATIONS.find(one => one.name === name)
  if (operation === undefined) throw new Error(`no operation is called ${name}`)
  const client = { compatible: 'openai', messages: 'anthropic', native: 'genai', rerank: 'cohere' } as const
  const isRerank = name.startsWith('rerank')
  return {
    client: isRerank ? 'cohere' : client[operation.family],
    run: asked => operation.run(asked, operation.model),
  }
}

const TURN = { modelId: 'sim-text', messages: [{ role: 'user' as const, content: [{ text: 'Say hello.' }] }] }
const CONVERSE: Readonly<Record<string, EveryOperation>> = {
  'POST /model/{model}/converse': byConverse(one => one.send(new ConverseCommand(TURN))),
  'POST /model/{model}/converse-stream': byConverse(one => one.send(new ConverseStreamCommand(TURN))),
}

const COMPATIBLE: Readonly<Record<string, EveryOperation>> = {
  'POST /v1/chat/completions': known('chat'),
  'GET /v1/chat/completions': byOpenai(one => one.chat.completions.list()),
  'GET /v1/chat/completions/{id}': byOpenai(one => one.chat.completions.retrieve(ID)),
  'POST /v1/chat/completions/{id}': byOpenai(one => one.chat.completions.update(ID, { metadata: {} })),
  'DELETE /v1/chat/completions/{id}': byOpenai(one => one.chat.completions.delete(ID)),
  'GET /v1/chat/completions/{id}/messages': byOpenai(one => one.chat.completions.messages.list(ID)),
  'POST /v1/completions': known('completions'),
  'POST /v1/responses': known('responses'),
  'GET /v1/responses/{id}': byOpenai(one => one.responses.retrieve(ID)),
  'DELETE /v1/responses/{id}': byOpenai(one => one.responses.delete(ID)),
  'GET /v1/responses/{id}/input_items': byOpenai(one => one.responses.inputItems.list(ID)),
  'POST /v1/responses/{id}/cancel': byOpenai(one => one.responses.cancel(ID)),
  'POST /v1/responses/compact': byOpenai(one =>
    one.responses.compact({ model: 'sim-responses' as 'gpt-4.1', input: 'Say hello.' }),
  ),
  'POST /v1/conversations': byOpenai(one => one.conversations.create({})),
  'GET /v1/conversations/{id}': byOpenai(one => one.conversations.retrieve(ID)),
  'POST /v1/conversations/{id}': byOpenai(one => one.conversations.update(ID, { metadata: {} })),
  'DELETE /v1/conversations/{id}': byOpenai(one => one.conversations.delete(ID)),
  'GET /v1/conversations/{id}/items': byOpenai(one => one.conversations.items.list(ID)),
  'POST /v1/conversations/{id}/items': byOpenai(one =>
    one.conversations.items.create(ID, { items: [{ type: 'message', role: 'user', content: 'hello' }] }),
  ),
  'GET /v1/conversations/{id}/items/{item_id}': byOpenai(one =>
    one.conversations.items.retrieve(ID, { conversation_id: ID }),
  ),
  'DELETE /v1/conversations/{id}/items/{item_id}': byOpenai(one =>
    one.conversations.items.delete(ID, { conversation_id: ID }),
  ),
  'POST /v1/responses/input_tokens': byOpenai(one =>
    one.responses.inputTokens.count({ model: 'sim-responses', input: 'Say hello.' }),
  ),
  'POST /v1/embeddings': known('embeddings'),
  'POST /v1/images/generations': known('images'),
  'POST /v1/images/edits': known('image edits'),
  'POST /v1/images/variations': known('image variations'),
  'POST /v1/audio/transcriptions': known('transcriptions'),
  'POST /v1/audio/translations': known('translations'),
  'POST /v1/audio/speech': known('speech'),
  'POST /v1/rerank': known('rerank'),
  'POST /v2/rerank': known('rerank, second version'),
  'POST /v1/moderations': known('moderations'),
  'POST /v1/files': byOpenai(async one => one.files.create({ file: await text(), purpose: 'user_data' })),
  'GET /v1/files': byOpenai(one => one.files.list()),
  'GET /v1/files/{id}': byOpenai(one => one.files.retrieve(ID)),
  'DELETE /v1/files/{id}': byOpenai(one => one.files.delete(ID)),
  'GET /v1/files/{id}/content': byOpenai(one => one.files.content(ID)),
  'POST /v1/uploads': byOpenai(one =>
    one.uploads.create({ bytes: 5, filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data' }),
  ),
  'POST /v1/uploads/{id}/parts': byOpenai(async one => one.uploads.parts.create(ID, { data: await text() })),
  'POST /v1/uploads/{id}/complete': byOpenai(one => one.uploads.complete(ID, { part_ids: [] })),
  'POST /v1/uploads/{id}/cancel': byOpenai(one => one.uploads.cancel(ID)),
  'POST /v1/batches': byOpenai(one =>
    one.batches.create({ completion_window: '24h', endpoint: '/v1/chat/completions', input_file_id: ID }),
  ),
  'GET /v1/batches': byOpenai(one => one.batches.list()),
  'GET /v1/batches/{id}': byOpenai(one => one.batches.retrieve(ID)),
  'POST /v1/batches/{id}/cancel': byOpenai(one => one.batches.cancel(ID)),
  'POST /v1/realtime/client_secrets': byOpenai(one =>
    one.realtime.clientSecrets.create({ session: { type: 'realtime', model: 'sim-realtime' } }),
  ),
  'POST /v1/videos': known('videos'),
  'GET /v1/videos': byOpenai(one => one.videos.list()),
  'GET /v1/videos/{task_id}': byOpenai(one => one.videos.retrieve(ID)),
  'DELETE /v1/videos/{task_id}': byOpenai(one => one.videos.delete(ID)),
  'GET /v1/videos/{task_id}/content': byOpenai(one => one.videos.downloadContent(ID)),
  'HEAD /v1/videos/{task_id}/content': raw('head', `/v1/videos/${ID}/content`),
  'POST /v1/videos/{task_id}/remix': byOpenai(one => one.videos.remix(ID, { prompt: 'a house' })),
  'GET /v1/models': byOpenai(one => one.models.list()),
  'GET /v1/models/{id*}': byOpenai(one => one.models.retrieve('sim-text')),
  'GET /v1/usage': raw('get', '/v1/usage'),
  'GET /v1/openapi.json': raw('get', '/v1/openapi.json'),
}

/** Their interface has no SDK. */
const PICTURE = `data:image/png;base64,${PNG.toString('base64')}`
const IMAGE_TASKS: Readonly<Record<string, EveryOperation>> = {
  'POST /mj/submit/imagine': raw('post', '/mj/submit/imagine', { prompt: 'a house' }),
  'POST /mj/submit/describe': raw('post', '/mj/submit/describe', { base64: PICTURE }),
  'POST /mj/submit/blend': raw('post', '/mj/submit/blend', { base64Array: [PICTURE, PICTURE] }),
  'POST /mj/submit/shorten': raw('post', '/mj/submit/shorten', { prompt: 'a very small house' }),
  'POST /mj/insight-face/swap': raw('post', '/mj/insight-face/swap', { sourceBase64: PICTURE, targetBase64: PICTURE }),
  'POST /mj/submit/action': raw('post', '/mj/submit/action', { taskId: ID, customId: 'MJ::JOB::upsample::1::a' }),
  'POST /mj/submit/change': raw('post', '/mj/submit/change', { taskId: ID, action: 'UPSCALE', index: 1 }),
  'POST /mj/submit/simple-change': raw('post', '/mj/submit/simple-change', { content: `${ID} U1` }),
  'POST /mj/submit/modal': raw('post', '/mj/submit/modal', { taskId: ID, prompt: 'a house' }),
  'POST /mj/submit/edits': raw('post', '/mj/submit/edits', { prompt: 'a house', image: PICTURE }),
  'POST /mj/submit/video': raw('post', '/mj/submit/video', { prompt: 'a house', image: PICTURE }),
  'POST /mj/submit/upload-discord-images': raw('post', '/mj/submit/upload-discord-images', { base64Array: [PICTURE] }),
  'GET /mj/task/{id}/fetch': raw('get', `/mj/task/${ID}/fetch`),
  'GET /mj/task/{id}/image-seed': raw('get', `/mj/task/${ID}/image-seed`),
  'POST /mj/task/list-by-condition': raw('post', '/mj/task/list-by-condition', { ids: [ID] }),
  'GET /mj/image/{id}': raw('get', `/mj/image/${ID}`),
  'HEAD /mj/image/{id}': raw('head', `/mj/image/${ID}`),
}

const BATCH = [{ custom_id: 'a', params: { model: 'sim-messages', max_tokens: 16, messages: MESSAGES } }]

const MESSAGES_FAMILY: Readonly<Record<string, EveryOperation>> = {
  'POST /v1/messages': known('messages'),
  'POST /v1/messages/count_tokens': byAnthropic(one =>
    one.messages.countTokens({ model: 'sim-messages', messages: MESSAGES }),
  ),
  'POST /v1/messages/files': byAnthropic(async one => one.beta.files.upload({ file: await text() })),
  'GET /v1/messages/files': byAnthropic(one => one.beta.files.list()),
  'GET /v1/messages/files/{id}': byAnthropic(one => one.beta.files.retrieveMetadata(ID)),
  'DELETE /v1/messages/files/{id}': byAnthropic(one => one.beta.files.delete(ID)),
  'GET /v1/messages/files/{id}/content': byAnthropic(one => one.beta.files.download(ID)),
  'POST /v1/messages/batches': byAnthropic(one => one.messages.batches.create({ requests: BATCH })),
  'GET /v1/messages/batches': byAnthropic(one => one.messages.batches.list()),
  'GET /v1/messages/batches/{id}': byAnthropic(one => one.messages.batches.retrieve(ID)),
  'DELETE /v1/messages/batches/{id}': byAnthropic(one => one.messages.batches.delete(ID)),
  'POST /v1/messages/batches/{id}/cancel': byAnthropic(one => one.messages.batches.cancel(ID)),
  // `results` asks for the batch first.
  'GET /v1/messages/batches/{id}/results': byAnthropic(one => one.get(`/v1/messages/batches/${ID}/results`)),
}

const GENERATE = { model: 'sim-generate', contents: 'Say hello.', config: { maxOutputTokens: 16 } }

/** The same under both versions of the interface. The SDK sends texts in lists alone, and asks for images elsewhere. */
function native(version: string): Readonly<Record<string, EveryOperation>> {
  const by = (run: (client: GoogleGenAI) => PromiseLike<unknown>): EveryOperation => byGenai(version, run)
  return {
    [`POST /${version}/models/{model}:generateContent`]: by(one => one.models.generateContent(GENERATE)),
    [`POST /${version}/models/{model}:streamGenerateContent`]: by(one => one.models.generateContentStream(GENERATE)),
    [`POST /${version}/models/{model}:countTokens`]: by(one =>
      one.models.countTokens({ model: 'sim-generate', contents: 'Say hello.' }),
    ),
    [`POST /${version}/models/{model}:embedContent`]: raw('post', `/${version}/models/sim-embed:embedContent`, {
      content: { parts: [{ text: 'hello' }] },
    }),
    [`POST /${version}/models/{model}:batchEmbedContents`]: by(one =>
      one.models.embedContent({ model: 'sim-embed', contents: ['hello', 'there'] }),
    ),
    [`POST /${version}/models/{model}:predict`]: raw('post', `/${version}/models/sim-image:predict`, {
      instances: [{ prompt: 'a house' }],
    }),
  }
}

const NATIVE_VIDEOS: Readonly<Record<string, EveryOperation>> = {
  'POST /v1beta/models/{model}:predictLongRunning': byGenai('v1beta', one =>
    one.models.generateVideos({ model: 'sim-video', source: { prompt: 'a house' } }),
  ),
  'GET /v1beta/models/{model}/operations/{id}': raw('get', `/v1beta/models/sim-video/operations/${ID}`),
  'GET /v1beta/operations/{id}': raw('get', `/v1beta/operations/${ID}`),
  'GET /v1beta/operations/{id}:download': raw('get', `/v1beta/operations/${ID}:download`),
  'HEAD /v1beta/operations/{id}:download': raw('head', `/v1beta/operations/${ID}:download`),
}

const NATIVE_FILES: Readonly<Record<string, EveryOperation>> = {
  'POST /upload/v1beta/files': byGenai('v1beta', one =>
    one.files.upload({ file: new Blob(['hello'], { type: 'text/plain' }) }),
  ),
  'GET /v1beta/files': byGenai('v1beta', one => one.files.list()),
  'GET /v1beta/files/{id}': byGenai('v1beta', one => one.files.get({ name: `files/${ID}` })),
  'DELETE /v1beta/files/{id}': byGenai('v1beta', one => one.files.delete({ name: `files/${ID}` })),
  'GET /v1beta/files/{id}:download': byGenai('v1beta', one =>
    one.files.download({ file: `files/${ID}`, downloadPath: '/dev/null' }),
  ),
  'POST /v1beta/models/{model}:batchGenerateContent': byGenai('v1beta', one =>
    one.batches.create({ model: 'sim-generate', src: [{ contents: [{ role: 'user', parts: [{ text: 'hello' }] }] }] }),
  ),
  'GET /v1beta/batches': byGenai('v1beta', one => one.batches.list()),
  'GET /v1beta/batches/{id}': byGenai('v1beta', one => one.batches.get({ name: `batches/${ID}` })),
  'DELETE /v1beta/batches/{id}': byGenai('v1beta', one => one.batches.delete({ name: `batches/${ID}` })),
  'POST /v1beta/batches/{id}:cancel': byGenai('v1beta', one => one.batches.cancel({ name: `batches/${ID}` })),
  'GET /v1beta/models': byGenai('v1beta', one => one.models.list()),
  'GET /v1beta/models/{model*}': byGenai('v1beta', one => one.models.get({ model: 'sim-text' })),
}

/** By the first method and path of its route. */
export const EVERY_OPERATION: Readonly<Record<string, EveryOperation>> = {
  ...COMPATIBLE,
  ...IMAGE_TASKS,
  ...MESSAGES_FAMILY,
  ...native('v1beta'),
  ...native('v1'),
  ...NATIVE_FILES,
  ...NATIVE_VIDEOS,
  ...CONVERSE,
}
