import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { KIND_CALLS, type KindCall, THEIRS } from '../helpers/kind-calls.js'
import { startTaskUpstream, type TaskAnswer, type TaskRequest, type TaskUpstream } from '../helpers/task-upstream.js'

// Each shipped kind through a gateway to an upstream that checks what it gets: where it is called, with which credential, and
// with which body.

relaysAnything() // the shapes here are the providers' own

const kinds = [...new Set(KIND_CALLS.map(({ kind }) => kind))]

/** An upstream for each kind below a path of its own, and a model of the kind's name on each. */
async function stage(t: Test): Promise<{ gateway: TestGateway; upstream: TaskUpstream }> {
  const upstream = await startTaskUpstream(t, usual)
  const upstreams = kinds.map(
    kind => `  ${kind}: { kind: ${kind}, base: "${upstream.origin}/at-${kind}", secret: { env: UPSTREAM_KEY } }`,
  )
  const models = kinds.map(kind => `  ${kind}: { upstream: ${kind}, as: "${THEIRS}" }`)
  const yaml = ['version: 1', CALLER, 'upstreams:', ...upstreams, 'models:', ...models].join('\n')
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

/** Answers in the shape of the operation that the path names. */
function usual({ target, body }: TaskRequest): TaskAnswer {
  if (/chat_stream/.test(target) || body.includes('"stream":true')) {
    const chunk = {
      id: 'c',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }],
    }
    const events = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`
    return { body: Buffer.from(events), headers: { 'content-type': 'text/event-stream' } }
  }
  if (/chat/.test(target))
    return { body: { id: 'c', choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] } }
  if (/messages/.test(target))
    return { body: { type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' } }
  if (/embed/.test(target)) return { body: { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 1 } } }
  if (/rerank/.test(target)) return { body: { results: [{ index: 0, relevance_score: 1 }] } }
  if (/image/.test(target)) return { body: { data: [{ url: 'https://media.example/a.png' }] } }
  return { body: Buffer.from('sound'), headers: { 'content-type': 'audio/mpeg' } }
}

async function check(t: Test, gateway: TestGateway, upstream: TaskUpstream, call: KindCall): Promise<void> {
  const [path, more] = call.asked
  const before = upstream.requests.items.length
  upstream.script = call.answer === undefined ? usual : () => ({ body: call.answer })
  const answer = await gateway.request(path, { body: { model: call.kind, ...more } })
  t.equal(answer.status, 200, answer.text)
  const [request, ...others] = upstream.requests.items.slice(before)
  t.equal(others.length, 0)
  const [method, target] = call.sent.split(' ')
  t.equal(`${request?.method} ${request?.target}`, `${method} /at-${call.kind}${target}`)
  t.same(request?.json(), call.body ?? { model: THEIRS, ...more })
  const [place, prefix] = call.credential ?? ['authorization', 'Bearer ']
  t.match(request?.headers[place], prefix)
  t.notOk(JSON.stringify(request?.headers).includes(gateway.key), 'the key of the caller stays here')
  t.match(request?.headers, call.headers ?? {})
  if (call.got !== undefined) t.match(answer.json(), call.got)
}

t.test('requests reach each kind as its reference says', async t => {
  const { gateway, upstream } = await stage(t)
  for (const call of KIND_CALLS) {
    await t.test(`kind ${call.kind}: ${call.asked[0]} at ${call.sent}`, t => check(t, gateway, upstream, call))
  }
})

/** Kinds whose calls other tests follow. */
const ELSEWHERE =
  /^(simulator|bearer|openai|azure-openai|anthropic|messages|gemini|native-generate|cohere|deepseek|fireworks|groq|jina|llama-cpp|lm-studio|midjourney-proxy|mistral|new-api|ollama|one-api|openrouter|runway|together|vllm|voyage|xai)/

t.test('each kind that comes with the gateway has a test', async t => {
  const shipped = readdirSync(join(packageRoot(), 'routes', 'kinds')).map(file => file.replace(/\.yaml$/, ''))
  t.same(
    shipped.filter(kind => !ELSEWHERE.test(kind) && !kinds.includes(kind)),
    [],
  )
  t.ok(shipped.filter(kind => !kind.startsWith('simulator') && kind !== 'bearer').length >= 60)
})

proveNoLeak(t)
