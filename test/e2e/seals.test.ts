import t, { type Test } from 'tap'
import { type Simulator, startSimulator } from '../../simulator/src/index.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { eventsOf } from '../helpers/expect.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'

// A plain chat client knows nothing of sealed thoughts, and upstreams that seal them want them back with the results of
// tools. The simulator checks what comes back, as the real servers do.

t.setTimeout(120_000)

interface Called {
  readonly id: string
  readonly type: string
  readonly function: { readonly name: string; readonly arguments: string }
}

interface Said {
  readonly text: string
  readonly calls: readonly Called[]
}

interface Delta {
  readonly content?: string | null
  readonly tool_calls?: readonly {
    readonly index: number
    readonly id?: string
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }[]
}

const TOOLS = ['get_weather', 'get_time'].map(name => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
}))

const user = (content: string): object => ({ role: 'user', content })

/** All that the SDKs of other makers send back of an answer. */
const spoken = ({ text, calls }: Said): object => ({
  role: 'assistant',
  content: text === '' ? null : text,
  ...(calls.length > 0 && { tool_calls: calls }),
})
const resultOf = ({ id }: Called): object => ({ role: 'tool', tool_call_id: id, content: 'sunny' })

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: Simulator
  say(t: Test, model: string, stream: boolean, messages: readonly object[]): Promise<Said>
  /** What the upstream received last. */
  sent(): string
}

async function startStage(t: Test, keys = CALLER, env: Readonly<Record<string, string>> = {}): Promise<Stage> {
  const upstream = await startSimulator({})
  t.teardown(() => upstream.close())
  const at = `base: "${upstream.origin}"`
  const gateway = await startTestGateway(
    t,
    `version: 1
${keys}
upstreams:
  responses: { kind: simulator-responses, ${at} }
  messages: { kind: simulator-messages, ${at}, traits: { max_output: 64000, reasoning: budget } }
  generate: { kind: simulator-generate, ${at}, traits: { reasoning: level } }
models:
  sim-responses: responses
  sim-messages: messages
  sim-generate: generate
`,
    { env },
  )
  return {
    gateway,
    upstream,
    say: async (t, model, stream, messages) => {
      const more = { reasoning_effort: 'high', tools: TOOLS }
      const answer = await gateway.chat({ model, stream, messages, ...more })
      t.equal(answer.status, 200, answer.text.slice(0, 500))
      if (answer.status !== 200) return { text: '', calls: [] }
      return stream ? added(answer.text) : whole(answer.json())
    },
    sent: () => String(upstream.received.at(-1)?.body),
  }
}

function whole(answer: unknown): Said {
  const { message } = (
    answer as { choices: readonly { message: { content: string | null; tool_calls?: readonly Called[] } }[] }
  ).choices[0]!
  const calls = message.tool_calls ?? []
  // Nothing of what a client of this protocol need not know.
  return {
    text: message.content ?? '',
    calls: calls.map(({ id, type, function: called }) => ({ id, type, function: called })),
  }
}

function added(stream: string): Said {
  let text = ''
  const calls: Called[] = []
  for (const { data } of eventsOf(stream)) {
    if (data === '[DONE]') continue
    const { choices } = JSON.parse(data) as { choices: readonly { delta: Delta }[] }
    const delta = choices[0]?.delta
    text += delta?.content ?? ''
    for (const { index, id, function: piece } of delta?.tool_calls ?? []) {
      const before = calls[index]
      const name = (before?.function.name ?? '') + (piece?.name ?? '')
      const written = (before?.function.arguments ?? '') + (piece?.arguments ?? '')
      calls[index] = { id: before?.id ?? id ?? '', type: 'function', function: { name, arguments: written } }
    }
  }
  return { text, calls }
}

/** What shows in a request that thoughts of the upstream's own making are in it. */
const PROOFS: Readonly<Record<string, RegExp>> = {
  'sim-responses': /"encrypted_content":"[\w+/=]{40,}"/g,
  'sim-messages': /"(?:signature|data)":"[\w+/=]{40,}"/g,
  'sim-generate': /"thoughtSignature":"[\w+/=]{40,}"/g,
}

const MODELS = Object.keys(PROOFS)
const proofs = (model: string, sent: string): number => sent.match(PROOFS[model]!)?.length ?? 0

for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'whole'

  t.test(`${how} answers of a model that thinks: the conversation goes on behind its calls`, async t => {
    const stage = await startStage(t)
    for (const model of MODELS) {
      await t.test(model, async t => {
        const messages: object[] = [user('Think, then call get_weather.')]
        const asked = await stage.say(t, model, stream, messages)
        t.match(asked.calls, [{ function: { name: 'get_weather' } }])
        messages.push(spoken(asked), ...asked.calls.map(resultOf))
        const told = await stage.say(t, model, stream, messages)
        t.not(told.text, '')
        t.equal(proofs(model, stage.sent()), 1, stage.sent())

        // The next question calls again: both thoughts stand where they stood.
        messages.push(spoken(told), user('Think again, then call get_time.'))
        const again = await stage.say(t, model, stream, messages)
        t.match(again.calls, [{ function: { name: 'get_time' } }])
        messages.push(spoken(again), ...again.calls.map(resultOf))
        await stage.say(t, model, stream, messages)
        t.equal(proofs(model, stage.sent()), 2, stage.sent())
      })

      await t.test(`${model}, two calls at once`, async t => {
        const messages: object[] = [user('Think, then call get_weather and get_time.')]
        const asked = await stage.say(t, model, stream, messages)
        t.equal(asked.calls.length, 2)
        messages.push(spoken(asked), ...asked.calls.map(resultOf))
        t.not((await stage.say(t, model, stream, messages)).text, '')
        t.ok(proofs(model, stage.sent()) >= 1)
      })

      await t.test(`${model}, thoughts that are hidden`, async t => {
        const messages: object[] = [user('simulate_redacted_thinking, then call get_weather.')]
        const asked = await stage.say(t, model, stream, messages)
        messages.push(spoken(asked), ...asked.calls.map(resultOf))
        t.not((await stage.say(t, model, stream, messages)).text, '')
        t.ok(proofs(model, stage.sent()) >= 1, stage.sent())
      })
    }
  })
}

t.test('a conversation that moves to an upstream of another protocol loses nothing that the client sent', async t => {
  // Where nothing may be lost, any loss would be an error.
  const stage = await startStage(t, 'keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], strict: true } }')
  for (const from of MODELS) {
    const messages: object[] = [user('Think, then call get_weather.')]
    const asked = await stage.say(t, from, false, messages)
    messages.push(spoken(asked), ...asked.calls.map(resultOf))
    for (const to of MODELS.filter(model => model !== from)) {
      const { status, header, text } = await stage.gateway.chat({ model: to, messages, tools: TOOLS })
      t.equal(status, 200, `${from} → ${to}: ${text}`)
      t.equal(header('x-gateway-dropped'), undefined, `${from} → ${to}`)
      t.equal(proofs(to, stage.sent()), 0)
    }
  }
})

t.test('F-A4 the calls of one owner find nothing of another', async t => {
  const keys =
    'keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] }, bob: { secret: { env: BOB_KEY }, models: ["*"] } }'
  const bob = 'bob-secret-key-of-some-length'
  const stage = await startStage(t, keys, { BOB_KEY: bob })
  for (const model of MODELS) {
    const messages: object[] = [user('Think, then call get_weather.')]
    const asked = await stage.say(t, model, false, messages)
    messages.push(spoken(asked), ...asked.calls.map(resultOf))
    await stage.gateway.request('/v1/chat/completions', { key: bob, body: { model, messages, tools: TOOLS } })
    t.match(stage.sent(), asked.calls[0]!.function.arguments.slice(2, 6))
    t.equal(proofs(model, stage.sent()), 0, model)
  }
})

proveNoLeak(t)
