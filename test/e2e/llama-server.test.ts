import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from '../cli/bin.js'
import { relaysAnything } from '../helpers/emitted.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { ALIAS, type LlamaServer, startLlama, withoutLlama } from '../helpers/llama/server.js'
import { CONTEXT_TOKENS as LONGEST_TOKENS, WIDTH } from '../helpers/llama/tiny-model.js'
import { type RawClient, request } from '../helpers/raw-client.js'
import { asking, EACH_CLIENT, type TextClient } from '../helpers/text-clients.js'
import { aiChat, aiGenerate, aiMessages, aiResponses } from './clients/ai.js'
import { anthropic } from './clients/anthropic.js'
import type { Ask, Client, Told } from './clients/ask.js'
import { converse } from './clients/converse.js'
import { genai } from './clients/genai.js'
import { openaiChat } from './clients/openai-chat.js'
import { openaiResponses, openaiResponsesStateful } from './clients/openai-responses.js'

// The server of llama.cpp with a model that is made here: what it does is real, what it says is babble.

// Its answers lack members that the documents of others call required.
relaysAnything()

const CLIENTS: Readonly<Record<string, Client>> = {
  'openai chat': openaiChat,
  'openai responses': openaiResponses,
  'openai responses, state kept': openaiResponsesStateful,
  anthropic,
  genai,
  converse,
  'ai, chat': aiChat,
  'ai, responses': aiResponses,
  'ai, messages': aiMessages,
  'ai, generate': aiGenerate,
}

const CITY = {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}

const FOUND = {
  ...{ max_completion_tokens: 'yes', max_tokens: 'yes', system: 'yes', developer: 'yes', sampling: 'yes' },
  ...{ reasoning_effort: 'yes', structured: 'yes', tools: 'yes', parallel_calls: 'yes', stream: 'yes' },
  ...{ stream_usage: 'yes', images: 'no', audio: 'no', responses: 'yes', structured_responses: 'no' },
  ...{
    kept_responses: 'no',
    messages: 'yes',
    count_tokens: 'yes',
    generate: 'no',
    converse: 'no',
    embeddings: `${WIDTH}`,
  },
  ...{ speech: 'no', generated_sound: 'no', image_objects: 'no', image_parts: 'no' },
  ...{ rerank: 'off', rerank_max_tokens_per_doc: 'off', rerank_priority: 'off' },
  ...{ max_output: 'not named', error: 'compatible' },
  ...{ https_urls: 'not asked', http_urls: 'not asked', moderations: 'no' },
  // It does not read these members.
  ...{ input_type_query: 'ignored', input_type_document: 'ignored', input_type_passage: 'ignored' },
  ...{ 'task_retrieval.query': 'ignored', 'task_retrieval.passage': 'ignored' },
  ...{ 'task_text-matching': 'ignored', task_classification: 'ignored' },
  ...{ makes_images: 'not asked', makes_images_generate: 'not asked', makes_images_predict: 'not asked' },
  ...{ makes_images_chat: 'not asked', several_images: 'not asked' },
}
const SPEAKS = {
  chat: 'POST /v1/chat/completions',
  messages: 'POST /v1/messages',
  'messages.count_tokens': 'POST /v1/messages/count_tokens',
  embeddings: 'POST /v1/embeddings',
}

const KEY = 'x'.repeat(40)
const CONTEXT_TOKENS = 4096
const ENOUGH_PAIRS = 50
const SLOTS = 2

if (withoutLlama === false) {
  const llama = await startLlama(t, {
    ...{ n_parallel: SLOTS, n_ctx: SLOTS * CONTEXT_TOKENS },
    ...{ embedding: true, pooling_type: 1 },
  })
  t.test('probe finds what llama.cpp does', t => finds(t, llama))
  t.test('what probe prints serves clients of every protocol', t => serves(t, llama))
  t.test('the shipped kind declares what llama.cpp does; drift is found', t => compares(t, llama))
  t.test("the cookbook's file does what it says", t => cookbook(t, llama))
  t.test('requests after streams, whose connections the server closes', t => closes(t, llama))
  t.test('a context that is too long is an error of status 400 to every client', t => tooLong(t, llama))
  t.test('an abandoned stream ends there, and the next in its queue begins', abandons)
} else {
  console.error(`# ${withoutLlama}`)
  t.pass('there is no such server here', { skip: withoutLlama })
}

async function probe(t: Test, llama: LlamaServer, upstream: string, ...args: string[]) {
  const local = `{ base: "${llama.origin}", ${upstream} }`
  const cwd = t.testdir({ 'gateway.yaml': fileOf(`  local: ${local}`) })
  return run(['probe', 'local', '--model', ALIAS, ...args], { cwd, env: { CALLER_KEY: KEY } })
}

function fileOf(upstreams: string): string {
  return `version: 1\n${CALLER}\nupstreams:\n${upstreams}\nmodels: { m: { upstream: local, as: ${ALIAS} } }\n`
}

async function finds(t: Test, llama: LlamaServer): Promise<void> {
  const { code, stdout } = await probe(t, llama, 'kind: openai-compatible', '--json')
  const { findings, traits, speaks, request } = JSON.parse(stdout) as {
    readonly findings: readonly { readonly name: string; readonly found: string }[]
    readonly traits: object
    readonly speaks: object
    readonly request: unknown
  }
  t.equal(code, 0)
  const { moderates, ...found } = Object.fromEntries(findings.map(({ name, found }) => [name, found]))
  t.strictSame(found, FOUND)
  // What this tiny model says of scores differs from run to run.
  t.match(moderates, /^(?:no|unknown)$/)
  t.strictSame({ traits, speaks, request }, { traits: {}, speaks: SPEAKS, request: [] })
}

async function serves(t: Test, llama: LlamaServer): Promise<void> {
  const { stdout } = await probe(t, llama, 'kind: openai-compatible')
  const pasted = stdout.replace(/^upstreams:\n/m, '')
  const gateway = await startTestGateway(t, fileOf(`${pasted.trimEnd()}\n    base: "${llama.origin}"`))
  for (const [name, client] of Object.entries(CLIENTS)) {
    for (const stream of [false, true]) {
      const title = `${name}${stream ? ', streamed' : ''}`
      await t.test(title, t => converses(t, client, gateway, stream, name !== 'anthropic' && name !== 'ai, messages'))
    }
  }
  const embedded = await gateway.request('/v1/embeddings', { body: { model: 'm', input: ['one', 'two'] } })
  const { data } = embedded.json() as { readonly data: readonly { readonly embedding: readonly number[] }[] }
  t.strictSame(
    data.map(({ embedding }) => embedding.length),
    [WIDTH, WIDTH],
  )
  const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }] }
  const counted = await gateway.request('/v1/messages/count_tokens', { body })
  const { usage } = (await gateway.chat(body)).json() as { readonly usage: { readonly prompt_tokens: number } }
  t.strictSame(counted.json(), { input_tokens: usage.prompt_tokens })
}

/** The server's own `messages` ignores schemas. */
async function converses(t: Test, client: Client, gateway: TestGateway, stream: boolean, hasSchema: boolean) {
  const { origin, key } = gateway
  const ask = (more: Partial<Ask>): Promise<readonly Told[]> =>
    client({ origin, key, model: 'm', stream, system: 'Be short.', turns: [{ role: 'user', text: 'hello' }], ...more })
  const [told, ...none] = await ask({})
  t.strictSame(none, [])
  t.match(told, { text: /./, calls: [], finish: 'stop', input: Number, output: Number })
  if (stream) t.ok((told?.deltas ?? 0) > 0, 'deltas')
  t.match(await ask({ maxTokens: 1 }), [{ text: /^.$/, finish: 'length', output: 1 }])

  const [called, ...others] = await ask({ tools: [CITY], run: () => 'sunny' })
  t.match(called, { calls: [{ name: CITY.name, input: { city: String } }], finish: 'tool' })
  t.match(others, [{ text: /./, calls: [], finish: 'stop' }])
  const named = await ask({ tools: [CITY], choice: { name: CITY.name } })
  t.match(named, [{ calls: [{ name: CITY.name, input: { city: String } }] }])

  if (!hasSchema) return
  const [structured] = await ask({ schema: CITY.schema })
  t.match(JSON.parse(structured?.text ?? ''), { city: String })
}

async function compares(t: Test, llama: LlamaServer): Promise<void> {
  const whole = await probe(t, llama, 'kind: llama-cpp', '--compare')
  t.strictSame([whole.code, whole.stdout], [0, 'the upstream does what is declared\n'])
  const declared =
    'traits: { structured: tool }, speaks: { responses: POST /v1/responses, generate: "POST /v1/{model}" }'
  const drift = await probe(t, llama, `kind: llama-cpp, ${declared}`, '--compare')
  t.strictSame(drift.stdout.trim().split('\n'), [
    'traits.structured: declared "tool", found nothing',
    'speaks.responses: declared, and it does less than chat',
    'speaks.generate: declared, and not found',
    'speaks.responses.stateful: declared true, found false',
  ])
  t.equal(drift.code, 1)
}

async function cookbook(t: Test, llama: LlamaServer): Promise<void> {
  const page = readFileSync(join(packageRoot(), 'docs/cookbook/llama-cpp.md'), 'utf8')
  const [, file = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
  t.match(file, 'http://127.0.0.1:8081')
  const yaml = file.replace('http://127.0.0.1:8081', llama.origin)
  const gateway = await startTestGateway(t, yaml, { env: { GATEWAY_KEY: KEY } })
  for (const client of EACH_CLIENT) {
    for (const stream of [false, true]) {
      const answer = await answerOf(t, gateway, client, 'small', stream)
      t.equal(answer.status, 200, `${client.protocol} ${answer.text}`)
    }
  }
}

type Members = Readonly<Record<string, unknown>>

function answerOf(
  t: Test,
  { origin }: TestGateway,
  client: TextClient,
  model: string,
  stream: boolean,
  more?: Members,
) {
  const [path, options] = asking(client, KEY, model, stream, more)
  return request(t, origin, path, options)
}

async function closes(t: Test, llama: LlamaServer): Promise<void> {
  const gateway = await startTestGateway(t, fileOf(`  local: { kind: llama-cpp, base: "${llama.origin}" }`))
  const statuses: number[] = []
  for (let i = 0; i < ENOUGH_PAIRS; i++) {
    statuses.push((await gateway.chat({ stream: true, max_tokens: 3 })).status)
    statuses.push((await gateway.chat({ max_tokens: 3 })).status)
  }
  t.strictSame([...new Set(statuses)], [200])
}

async function tooLong(t: Test, llama: LlamaServer): Promise<void> {
  const upstreams = `  local: { kind: llama-cpp, base: "${llama.origin}" }\n  sim: { kind: simulator }`
  const other = '{ targets: [{ upstream: local }], fallbacks: { context_too_long: [sim-text] } }'
  const yaml = fileOf(upstreams).replace('models: { m:', `models: { sim-text: sim, other: ${other}, m:`)
  const gateway = await startTestGateway(t, yaml, { env: { CALLER_KEY: KEY } })
  const text = 'a'.repeat(2 * CONTEXT_TOKENS)
  const messages = [{ role: 'user', content: text }]
  const contents = [{ role: 'user', parts: [{ text }] }]
  const converse = { messages: [{ role: 'user', content: [{ text }] }] }
  const long = {
    chat: { messages },
    messages: { messages },
    responses: { input: text },
    generate: { contents },
    converse,
  }
  for (const client of EACH_CLIENT) {
    for (const stream of [false, true]) {
      const answer = await answerOf(t, gateway, client, 'm', stream, long[client.protocol])
      t.match(answer.text, /exceeds the available context size/, client.name)
      // What is relayed is the server's own error.
      if (client.protocol === 'responses') t.equal(client.error(t, answer, 400).word, 'context_length_exceeded')
      else if (client.protocol === 'generate' || client.protocol === 'converse') client.error(t, answer, 400)
      else t.equal(answer.status, 400)
      const fallback = await answerOf(t, gateway, client, 'other', stream, long[client.protocol])
      t.equal(fallback.status, 200, `${client.name} by the fallback: ${fallback.text.slice(0, 200)}`)
    }
  }
}

/** Answers of this server may fill its context, which takes minutes. */
async function abandons(t: Test): Promise<void> {
  const llama = await startLlama(t, { n_parallel: SLOTS, n_ctx: SLOTS * LONGEST_TOKENS })
  const compared = await probe(t, llama, 'kind: llama-cpp', '--compare')
  t.equal(compared.stdout, 'the upstream does what is declared\n', 'what it was started without is not drift')
  const before = await llama.metric('n_decode_total')

  const gateway = await startTestGateway(t, fileOf(`  local: { kind: llama-cpp, base: "${llama.origin}" }`))
  const body = { model: 'm', stream: true, ignore_eos: true, messages: [{ role: 'user', content: 'hello' }] }
  const asked = () => gateway.open('/v1/chat/completions', { body })
  const [first, second] = [await asked(), await asked()]
  await Promise.all([begins(first), begins(second)])
  const third = await asked()
  await until(async () => (await llama.metric('requests_deferred')) === 1)
  t.equal(await llama.metric('requests_processing'), SLOTS)

  first.socket.destroy()
  await begins(third)
  t.equal(await llama.metric('requests_deferred'), 0)
  for (const { socket } of [second, third]) socket.destroy()
  await until(async () => (await llama.metric('requests_processing')) === 0)
  t.ok((await llama.metric('n_decode_total')) - before < LONGEST_TOKENS, 'no answer was finished')
}

/** Until an answer has text. No more of it is read then. */
async function begins(client: RawClient): Promise<void> {
  const head = await client.head()
  await client.body(head, body => body.includes('"content":"'))
  client.socket.pause()
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds()));
}
