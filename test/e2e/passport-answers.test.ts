import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { startTestGateway } from '../helpers/gateway.js'

const FILE = `version: 1
store: { type: memory }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams: { all: { kind: simulator } }
models: { "sim-*": all, sim-text: all, sim-embed: all, sim-image: all, sim-video: all, sim-audio: all }
`

type Content = Readonly<Record<string, { readonly schema: { readonly $ref?: string; readonly type?: string } }>>
interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
  readonly requestBody?: { readonly content: Content }
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

const TURN = [{ role: 'user', content: 'Say hello.' }]
const PARTS = [{ role: 'user', parts: [{ text: 'Say hello.' }] }]
const NATIVE = '/v1beta/models/{model}'

/** What is sent, and the component that its answer has to fit. */
const ASKED: readonly (readonly [path: string, body: object | undefined, component: string])[] = [
  ['/v1/chat/completions', { model: 'sim-text', messages: TURN }, 'chat.answer'],
  ['/v1/completions', { model: 'sim-text', prompt: 'Say hello.' }, 'completions.answer'],
  ['/v1/responses', { model: 'sim-text', input: 'Say hello.' }, 'responses.answer'],
  ['/v1/responses/input_tokens', { model: 'sim-text', input: 'Say hello.' }, 'responses.input_tokens.answer'],
  ['/v1/embeddings', { model: 'sim-embed', input: 'hello' }, 'embeddings.answer'],
  ['/v1/moderations', { model: 'sim-text', input: 'hello' }, 'moderations.answer'],
  ['/v1/images/generations', { model: 'sim-image', prompt: 'a hill' }, 'images.generations.answer'],
  ['/v1/rerank', { model: 'sim-text', query: 'a', documents: ['a', 'b'] }, 'rerank.answer'],
  ['/v1/videos', { model: 'sim-video', prompt: 'a hill' }, 'task.video.submit.answer'],
  ['/v1/conversations', {}, 'gateway.conversation.create.answer'],
  ['/v1/messages', { model: 'sim-text', max_tokens: 50, messages: TURN }, 'messages.answer'],
  ['/v1/messages/count_tokens', { model: 'sim-text', messages: TURN }, 'messages.count_tokens.answer'],
  [`${NATIVE}:generateContent`, { contents: PARTS }, 'generate.answer'],
  [`${NATIVE}:countTokens`, { contents: PARTS }, 'generate.count_tokens.answer'],
  [`${NATIVE}:embedContent`, { content: PARTS[0] }, 'embed-content.answer'],
  [
    `${NATIVE}:batchEmbedContents`,
    { requests: [{ model: 'models/sim-embed', content: PARTS[0] }] },
    'embed-contents.answer',
  ],
  ['/model/{model}/converse', { messages: [{ role: 'user', content: [{ text: 'hello' }] }] }, 'converse.answer'],
  ['/v1/models', undefined, 'gateway.models.compatible.messages.native.answer'],
  ['/v1beta/models', undefined, 'gateway.models.native.answer'],
  ['/v1/files', undefined, 'list.file.answer'],
  ['/v1/videos', undefined, 'task.video.list.answer'],
  ['/v1/usage', undefined, 'gateway.usage.answer'],
  ['/v1/openapi.json', undefined, 'gateway.openapi.answer'],
]

t.test('the answers of each protocol fit the components of the document, and none has an empty schema', async t => {
  const { origin, key } = await startTestGateway(t, FILE)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const document = (await (await fetch(`${origin}/v1/openapi.json`, { headers })).json()) as Document
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'document')

  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, { responses }] of Object.entries(operations))
      for (const [type, { schema }] of Object.entries(responses['2XX']?.content ?? {}))
        t.ok(Object.keys(schema).length > 0, `${method} ${path}, ${type}: the schema says something`)

  for (const [path, body, component] of ASKED) {
    const method = body === undefined ? 'get' : 'post'
    const said = document.paths[path]?.[method]?.responses['2XX']?.content?.['application/json']?.schema.$ref
    t.equal(said, `#/components/schemas/${component}`, `${method} ${path}`)
    const model = path.includes('mbed') ? 'sim-embed' : 'sim-text'
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(origin + path.replace('{model}', model), {
      method,
      headers: path.startsWith('/v1beta') ? { ...headers, 'x-goog-api-key': key } : headers,
      ...sent,
    })
    const got = (await answer.json()) as object
    t.ok(answer.status < 300, `${path}: ${answer.status} ${JSON.stringify(got).slice(0, 300)}`)
    const check = ajv.getSchema(`document#/components/schemas/${component}`)
    t.ok(check?.(got), `${path}: ${JSON.stringify(check?.errors)} ${JSON.stringify(got).slice(0, 300)}`)
    t.notOk(check?.('a text'), `${component} refuses something`)
  }
})

t.test('a stream says how it ends, and bytes are bytes', async t => {
  const { origin, key } = await startTestGateway(t, FILE)
  const headers = { authorization: `Bearer ${key}` }
  const document = (await (await fetch(`${origin}/v1/openapi.json`, { headers })).json()) as Document
  const contentOf = (path: string): Content | undefined => document.paths[path]?.post?.responses['2XX']?.content
  t.match(contentOf('/v1/chat/completions')?.['text/event-stream']?.schema, {
    description: /ends with `?the data \[DONE\]/,
  })
  t.strictSame(contentOf('/v1/audio/speech'), {
    'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
  })
  t.strictSame(contentOf('/v1beta/models/{model}:streamGenerateContent')?.['application/json']?.schema, {
    type: 'array',
    items: { $ref: '#/components/schemas/generate.answer' },
  })
})

const MANY = 1200

t.test('a key with more than 1,000 models has them described, or as the pattern of what it may use', async t => {
  const names = Array.from({ length: MANY }, (_, at) => `text-${at}`)
  const file = `version: 1
store: { type: memory }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  part: { secret: { env: PART_KEY }, models: ["text-*", "late.one"] }
  few: { secret: { env: FEW_KEY }, models: ["text-1", "late.one"] }
upstreams:
  chat: { kind: simulator-chat }
  all: { kind: simulator }
models:
${names.map(name => `  ${name}: { upstream: chat, as: sim-text }`).join('\n')}
  late.one: { upstream: all, as: sim-embed }
`
  const env = { PART_KEY: 'gw-part-part-part-part', FEW_KEY: 'gw-few-few-few-few-few' }
  const { origin, key } = await startTestGateway(t, file, { env })
  const modelsOf = async (secret: string): Promise<Readonly<Record<string, object>>> => {
    const answer = await fetch(`${origin}/v1/openapi.json`, { headers: { authorization: `Bearer ${secret}` } })
    const { paths, components } = (await answer.json()) as Document
    t.ok(paths['/v1/moderations'], 'the last model alone is served there')
    return Object.fromEntries(Object.entries(components.schemas).filter(([name]) => /^Models\d+$/.test(name)))
  }
  const described = `One of the ${MANY + 1} models of this key, which GET /v1/models lists.`
  t.strictSame(
    [...new Set(Object.values(await modelsOf(key)).map(one => JSON.stringify(one)))],
    [JSON.stringify({ type: 'string', description: described })],
  )
  const [part] = Object.values(await modelsOf(env.PART_KEY))
  t.strictSame(part, { type: 'string', pattern: '^text-.*$|^late\\.one$', description: described })
  const few = JSON.stringify(await modelsOf(env.FEW_KEY))
  t.match(few, '"enum":["text-1","late.one"]', 'few are still listed')
})
