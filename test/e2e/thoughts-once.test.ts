import t, { type Test } from 'tap'
import { startSimulator } from '../../simulator/src/index.js'
import type { JsonObject } from '../../src/core/json.js'
import { assembled, nextTurn } from '../codecs/next-turn.js'
import { messagesOf } from '../helpers/eventstream.js'
import { eventsOf } from '../helpers/expect.js'
import { startTestGateway } from '../helpers/gateway.js'
import { EACH_CLIENT, PROTOCOLS, type Protocol, type TextClient } from '../helpers/text-clients.js'

// What a model thought is shown once in each member that clients read, never as an empty thought; and a client that sends
// back what it got, sends back what the upstream sealed.

t.setTimeout(120_000)

const ALICE = 'alice-secret-key-of-some-length'
const BOB = 'bob-secret-key-of-some-length'
const MODELS: Readonly<Record<Protocol, string>> = {
  chat: 'sim-text',
  responses: 'sim-responses',
  messages: 'sim-messages',
  generate: 'sim-generate',
  converse: 'sim-converse',
}
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const TOOL = { name: 'get_weather', description: 'The weather.' }

/** What asks each family to think aloud, and to let calls be made. */
const SETTINGS: Readonly<Record<Protocol, JsonObject>> = {
  chat: { reasoning_effort: 'high', tools: [{ type: 'function', function: { ...TOOL, parameters: CITY } }] },
  responses: {
    ...{ store: false, include: ['reasoning.encrypted_content'], reasoning: { effort: 'high', summary: 'auto' } },
    tools: [{ type: 'function', ...TOOL, parameters: CITY, strict: false }],
  },
  messages: {
    ...{ max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: 2000 } },
    tools: [{ ...TOOL, input_schema: CITY }],
  },
  generate: {
    generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: 'high' } },
    tools: [{ functionDeclarations: [{ ...TOOL, parameters: CITY }] }],
  },
  converse: {
    ...{ inferenceConfig: { maxTokens: 4000 }, outputConfig: { effort: 'high' } },
    toolConfig: { tools: [{ toolSpec: { ...TOOL, inputSchema: { json: CITY } } }] },
  },
}

/** The thought in each member that a client may read it from, and in each event that brings it. */
function thoughtsShown(protocol: Protocol, answer: JsonObject, frames: readonly JsonObject[]): Record<string, string> {
  const found: Record<string, string> = {}
  const add = (where: string, text: unknown): void => {
    if (typeof text === 'string') found[where] = (found[where] ?? '') + text
  }
  switch (protocol) {
    case 'chat':
      for (const message of frames.length > 0 ? frames.map(deltaOf) : [messageOf(answer)]) {
        add('reasoning_content', message.reasoning_content)
        // Clients join what a chunk has in either member.
        for (const detail of message.reasoning_details ?? []) add('reasoning_details', detail.text ?? detail.summary)
      }
      break
    case 'responses':
      for (const item of itemsOf(answer)) for (const { text } of item.summary ?? []) add('summary', text)
      for (const { type, delta } of frames) if (type === 'response.reasoning_summary_text.delta') add('deltas', delta)
      break
    case 'messages':
      for (const block of blocksOf(answer)) add('thinking', block.thinking)
      break
    case 'generate':
      for (const part of partsOf(answer)) if (part.thought === true) add('thought', part.text)
      break
    case 'converse':
      for (const { reasoningContent } of listOf(loose(loose(loose(answer).output).message).content))
        add('reasoningText', loose(loose(reasoningContent).reasoningText).text)
  }
  return found
}

/** Thoughts that hold nothing: a client would show them as an empty one. */
function emptyThoughts(protocol: Protocol, answer: JsonObject, frames: readonly JsonObject[]): unknown[] {
  if (protocol !== 'responses') return []
  const done = frames.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item as Loose] : []))
  return [...itemsOf(answer), ...done].filter(({ type, summary }) => type === 'reasoning' && summary?.length === 0)
}

interface Loose {
  readonly [name: string]: unknown
  readonly type?: string
  readonly summary?: readonly Loose[]
  readonly reasoning_details?: readonly Loose[]
}
const loose = (value: unknown): Loose => (value ?? {}) as Loose
const listOf = (value: unknown): readonly Loose[] => (value ?? []) as readonly Loose[]
const choiceOf = (answer: unknown): Loose => loose(listOf(loose(answer).choices)[0])
const messageOf = (answer: unknown): Loose => loose(choiceOf(answer).message)
const deltaOf = (chunk: unknown): Loose => loose(choiceOf(chunk).delta)
const itemsOf = (answer: unknown): readonly Loose[] => listOf(loose(answer).output)
const blocksOf = (answer: unknown): readonly Loose[] => listOf(loose(answer).content)
const partsOf = (answer: unknown): readonly Loose[] =>
  listOf(loose(loose(listOf(loose(answer).candidates)[0]).content).parts)

/** What shows in a request that a thing of the upstream's own sealing is in it. The simulator checks that it is whole. */
const PROOFS: Readonly<Partial<Record<Protocol, RegExp>>> = {
  responses: /"encrypted_content":"[\w+/=]{40,}"/g,
  messages: /"signature":"[\w+/=]{40,}"/g,
  generate: /"thoughtSignature":"[\w+/=]{40,}"/g,
  converse: /"signature":"[\w+/=]{40,}"/g,
}

const upstream = await startSimulator({})
t.teardown(() => upstream.close())
const at = `base: "${upstream.origin}"`
const gateway = await startTestGateway(
  t,
  `version: 1
keys:
  alice: { secret: { env: ALICE }, models: ["*"] }
  bob: { secret: { env: BOB }, models: ["*"] }
upstreams:
  chat: { kind: simulator-chat, ${at} }
  responses: { kind: simulator-responses, ${at} }
  messages: { kind: simulator-messages, ${at}, traits: { max_output: 64000, reasoning: budget } }
  generate: { kind: simulator-generate, ${at}, traits: { reasoning: level } }
  converse: { kind: simulator-converse, ${at} }
models:
  sim-text: chat
  sim-responses: responses
  sim-messages: messages
  sim-generate: generate
  sim-converse: converse
`,
  { env: { ALICE, BOB } },
)

async function ask(t: Test, client: TextClient, key: string, model: string, stream: boolean, more: JsonObject) {
  const body = client.body(model, stream, more)
  const version = { 'anthropic-version': '2023-06-01' }
  const answer = await gateway.request(client.path(model, stream), { key, headers: version, body })
  t.equal(answer.status, 200, answer.text.slice(0, 500))
  if (!stream) return { answer: answer.json() as JsonObject, frames: [] }
  const events =
    client.protocol === 'converse'
      ? messagesOf(answer.body).map(({ name, payload }) => ({ event: name, data: JSON.stringify(payload) }))
      : eventsOf(answer.text).filter(({ data }) => data !== '[DONE]')
  const frames = events.map(({ data }) => JSON.parse(data) as JsonObject)
  return { answer: assembled(client.protocol, events), frames }
}

/** The next request as {@link nextTurn} has it, with the settings of the first. */
function goingOn(protocol: Protocol, answer: JsonObject): JsonObject {
  const { model: _model, max_tokens: _max, ...turn } = nextTurn(protocol, answer)
  return { ...SETTINGS[protocol], ...turn }
}

const QUESTIONS = { 'says something': 'Think about rain.', calls: 'Think, then call get_weather.' }

for (const client of EACH_CLIENT) {
  for (const to of PROTOCOLS.filter(protocol => protocol !== client.protocol)) {
    for (const [what, question] of Object.entries(QUESTIONS)) {
      for (const stream of [false, true]) {
        const name = `${client.protocol} through ${to}, ${stream ? 'streamed' : 'whole'}: a model that thinks and then ${what}`
        t.test(name, async t => {
          const settings = { ...SETTINGS[client.protocol], ...askedOf(client.protocol, question) }
          const { answer, frames } = await ask(t, client, ALICE, MODELS[to], stream, settings)
          const shown = thoughtsShown(client.protocol, answer, frames)
          const [first = ''] = Object.values(shown)
          t.ok(first.length > 20, 'the thought is shown')
          for (const [where, text] of Object.entries(shown)) t.equal(text, first, where)
          if (client.protocol === 'chat' && stream) t.same(Object.keys(shown), ['reasoning_content'])
          t.same(emptyThoughts(client.protocol, answer, frames), [])

          // Another key: what the gateway keeps for the first one is not known to it.
          await ask(t, client, BOB, MODELS[to], stream, goingOn(client.protocol, answer))
          const sent = String(upstream.received.at(-1)?.body)
          const proof = PROOFS[to]
          if (proof !== undefined) t.equal(sent.match(proof)?.length, 1, sent)
          t.ok(sent.includes(JSON.stringify(first).slice(1, -1)), 'the upstream has its thought again, as it was')
        })
      }
    }
  }
}

for (const stream of [false, true]) {
  t.test(`a client of responses that knows reasoning items alone, ${stream ? 'streamed' : 'whole'}`, async t => {
    const client = EACH_CLIENT[1]
    const settings = { ...SETTINGS.responses, ...askedOf('responses', QUESTIONS.calls) }
    for (const to of ['messages', 'generate'] as const) {
      const { answer } = await ask(t, client, ALICE, MODELS[to], stream, settings)
      // Such clients make calls anew of the members that they know.
      const output = itemsOf(answer).map(({ encrypted_content: sealed, ...item }) =>
        item.type === 'reasoning' ? { ...item, encrypted_content: sealed } : item,
      )
      await ask(t, client, ALICE, MODELS[to], stream, goingOn('responses', { output } as unknown as JsonObject))
      t.equal(String(upstream.received.at(-1)?.body).match(PROOFS[to]!)?.length, 1, to)
    }
  })
}

function askedOf(protocol: Protocol, question: string): JsonObject {
  switch (protocol) {
    case 'responses':
      return { input: question }
    case 'generate':
      return { contents: [{ role: 'user', parts: [{ text: question }] }] }
    case 'converse':
      return { messages: [{ role: 'user', content: [{ text: question }] }] }
    default:
      return { messages: [{ role: 'user', content: question }] }
  }
}
