import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { formOf, sending } from '../helpers/forms.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'

/** Errors that say what is wrong, and not something else. */

relaysAnything()

const YAML = `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
  narrow: { secret: { env: NARROW_KEY }, models: [sim-embed] }
upstreams:
  sim: { kind: simulator }
  chat: { kind: simulator-chat }
  responses: { kind: simulator-responses }
  messages: { kind: simulator-messages, traits: { max_output: 4096 } }
  generate: { kind: simulator-generate }
  absent: { kind: openai, secret: { env: ABSENT } }
models:
  sim-chat: { upstream: chat, as: sim-text, protocols: [chat, responses, generate] }
  sim-responses: { upstream: responses, as: sim-text }
  sim-messages: { upstream: messages, as: sim-text }
  sim-generate: { upstream: generate, as: sim-text }
  sim-embed: { upstream: sim, protocols: [embeddings] }
  sim-image: { upstream: sim, protocols: [images] }
  "any-*": { upstream: sim, as: "sim-embed", protocols: [embeddings] }
  off: absent
`
const NARROW = 'narrow-key-of-the-tests'
const TRANSLATED = ['sim-chat', 'sim-messages', 'sim-generate'] as const

const stage = (test: Test): Promise<TestGateway> => startTestGateway(test, YAML, { env: { NARROW_KEY: NARROW } })

interface Told {
  readonly status: number
  readonly error: {
    readonly message: string
    readonly code?: unknown
    readonly param?: unknown
    readonly type?: unknown
  }
}

async function asked(gateway: TestGateway, path: string, body: unknown, key = gateway.key): Promise<Told> {
  const answer = await gateway.request(path, { body: body as Record<string, unknown>, key })
  return { status: answer.status, ...(answer.json() as Omit<Told, 'status'>) }
}

const MESSAGES = [{ role: 'user', content: 'hi' }]

t.test('a model that is listed says what it is for where it is used for something else', async t => {
  const gateway = await stage(t)
  const cases = [
    ['/v1/embeddings', { model: 'sim-chat', input: 'a' }, 404, 'POST /v1/chat/completions'],
    ['/v1/chat/completions', { model: 'sim-embed', messages: MESSAGES }, 404, 'POST /v1/embeddings'],
    ['/v1/chat/completions', { model: 'any-thing', messages: MESSAGES }, 404, 'POST /v1/embeddings'],
    ['/v1/responses', { model: 'sim-image', input: 'a' }, 400, 'POST /v1/images/generations'],
    ['/v1/messages', { model: 'sim-embed', max_tokens: 9, messages: MESSAGES }, 404, 'POST /v1/embeddings'],
    [
      '/v1beta/models/sim-embed:generateContent',
      { contents: [{ parts: [{ text: 'a' }] }] },
      404,
      'POST /v1/embeddings',
    ],
    ['/v1/rerank', { model: 'sim-chat', query: 'a', documents: ['a'] }, 404, 'POST /v1/chat/completions'],
    ['/v1/videos', { model: 'sim-image', prompt: 'a' }, 404, 'POST /v1/images/generations'],
  ] as const
  for (const [path, body, status, instead] of cases) {
    const { status: told, error } = await asked(gateway, path, body)
    t.equal(told, status, path)
    t.match(
      error.message,
      new RegExp(`cannot be used with POST ${path.replace(/sim-embed:/, '{model}:').replace(/[{}]/g, '.')}`),
      path,
    )
    t.ok(error.message.includes(instead), `${path}: ${error.message}`)
    t.notMatch(error.message, /does not exist|not found/, path)
  }
  const { error } = await asked(gateway, '/v1/embeddings', { model: 'sim-chat', input: 'a' })
  t.match(error, { code: 'model_not_supported', param: 'model', type: 'invalid_request_error' })
})

t.test('models that no one has, that the key may not use and that are off still answer alike', async t => {
  const gateway = await stage(t)
  const messages = new Set<string>()
  for (const [model, key] of [
    ['nobody', gateway.key],
    ['off', gateway.key],
    ['sim-chat', NARROW],
  ] as const) {
    const { status, error } = await asked(gateway, '/v1/embeddings', { model, input: 'a' }, key)
    t.match({ status, error }, { status: 404, error: { code: 'model_not_found' } }, model)
    messages.add(error.message.replace(model, 'X'))
  }
  t.equal(messages.size, 1)
})

t.test('a control parameter in another spelling is not a second one', async t => {
  const gateway = await stage(t)
  for (const body of [
    '{"Model":"sim-chat","messages":[]}',
    '{"MODEL":"sim-chat"}',
    '{"model":"sim-chat","Stream":true}',
  ]) {
    const answer = await gateway.request('/v1/chat/completions', { method: 'POST', body })
    const { error } = answer.json() as Told
    t.equal(answer.status, 400)
    t.match(error, { code: 'unknown_parameter', message: /^Unknown parameter. Did you mean '(model|stream)'\?/ }, body)
    t.notMatch(error.message, /only once/)
  }
  const twice = await gateway.request('/v1/chat/completions', { method: 'POST', body: '{"model":"a","model":"b"}' })
  t.match(twice.json(), { error: { code: 'duplicate_parameter', message: /only once/ } })
  const form = formOf(['Model', 'sim-image'], ['prompt', 'a'], ['image', Buffer.from('x'), 'image/png'])
  const refused = await gateway.request('/v1/images/edits', sending(form, { method: 'POST' }))
  t.match(refused.json(), { error: { code: 'unknown_parameter', param: 'model', message: /Did you mean 'model'\?/ } })
})

t.test('a stored prompt is not a file', async t => {
  const gateway = await stage(t)
  for (const model of TRANSLATED) {
    const { status, error } = await asked(gateway, '/v1/responses', { model, prompt: { id: 'pmpt_1' } })
    t.equal(status, 400)
    t.match(error, { code: 'untranslatable', param: 'prompt', message: /stored prompt/ }, model)
    t.notMatch(error.message, /file/, model)
  }
  const native = await gateway.request('/v1beta/models/sim-chat:generateContent', {
    body: { contents: [{ parts: [{ text: 'a' }] }], cachedContent: 'cachedContents/1' },
  })
  t.match(native.json(), { error: { status: 'INVALID_ARGUMENT', message: /'cachedContent': cached content/ } })
  const spoken = {
    model: 'sim-generate',
    messages: [...MESSAGES, { role: 'assistant', audio: { id: 'audio_1' } }, ...MESSAGES],
  }
  t.match(await asked(gateway, '/v1/chat/completions', spoken), {
    error: { code: 'untranslatable', param: 'messages[1].audio', message: /audio of an earlier answer/ },
  })
})

t.test('a response without input is told that input is missing', async t => {
  const gateway = await stage(t)
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })
  for (const model of [...TRANSLATED, 'sim-responses']) {
    for (const body of [{ model }, { model, input: null }, { model, instructions: 'Be brief.', stream: true }]) {
      const { status, error } = await asked(gateway, '/v1/responses', body)
      t.equal(status, 400)
      t.match(error, { code: 'missing_required_parameter', param: 'input', type: 'invalid_request_error' }, model)
    }
    const error = await sdk.responses.create({ model }).catch((cause: unknown) => cause)
    t.match(error, { status: 400, code: 'missing_required_parameter', param: 'input' })
    const first = await sdk.responses.create({ model, input: 'hi' })
    const next = await sdk.responses.create({ model, previous_response_id: first.id, input: 'more' })
    t.equal(next.status, 'completed')
  }
})

proveNoLeak(t)
