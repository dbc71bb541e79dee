import { deflateSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { sample } from '../helpers/sample.js'
import { aiChat, aiGenerate, aiMessages, aiResponses } from './clients/ai.js'
import { anthropic } from './clients/anthropic.js'
import type { Ask, Client, Told, Tool } from './clients/ask.js'
import { converse } from './clients/converse.js'
import { genai } from './clients/genai.js'
import { openaiChat } from './clients/openai-chat.js'
import { openaiResponses, openaiResponsesStateful } from './clients/openai-responses.js'

// Libraries are free to leave out what the documents of their services call required.
relaysAnything()

/** Every client library reaches every text protocol, on real sockets: 10 clients × 5 upstreams × streamed or not × cases. */

const YAML = `version: 1
${CALLER}
upstreams:
  chat: { kind: simulator-chat }
  responses: { kind: simulator-responses }
  messages: { kind: simulator-messages, traits: { max_output: 16000 } }
  generate: { kind: simulator-generate }
  converse: { kind: simulator-converse }
models:
  sim-text: chat
  sim-responses: responses
  sim-messages: messages
  sim-generate: generate
  sim-converse: converse
  sim-text-busy: { upstream: chat, as: "sim-text?status=429" }
  sim-responses-busy: { upstream: responses, as: "sim-responses?status=429" }
  sim-messages-busy: { upstream: messages, as: "sim-messages?status=429" }
  sim-generate-busy: { upstream: generate, as: "sim-generate?status=429" }
  sim-converse-busy: { upstream: converse, as: "sim-converse?status=429" }
`

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

/** Libraries that do not look at `reasoning_content`. */
const BLIND: ReadonlySet<string> = new Set(['ai, chat'])

const UPSTREAMS = ['sim-text', 'sim-responses', 'sim-messages', 'sim-generate', 'sim-converse']

const CITY: Tool = {
  name: 'get_weather',
  description: 'The weather of a city',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
    required: ['city', 'unit'],
    additionalProperties: false,
  },
}

const CLOCK: Tool = {
  name: 'get_time',
  description: 'The time in a zone',
  schema: {
    type: 'object',
    properties: { zone: { type: 'string' } },
    required: ['zone'],
    additionalProperties: false,
  },
}

const PERSON = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer' },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['name', 'age', 'tags'],
  additionalProperties: false,
}

type Case = (
  t: Test,
  ask: (more: Omit<Ask, 'origin' | 'key' | 'model' | 'stream'>) => Promise<readonly Told[]>,
  showsReasoning: boolean,
) => Promise<void>

const user = (text: string) => ({ role: 'user' as const, text })

const CASES: Readonly<Record<string, Case>> = {
  plain: async (t, ask) => {
    const [told] = await ask({ turns: [user('Say hello to the gateway.')] })
    t.not(told!.text, '')
    t.match(told, { finish: 'stop', calls: [] })
    t.ok(told!.input! > 0 && told!.output! > 0, 'usage')
  },
  'several turns and instructions': async (t, ask) => {
    const turns = [user('What is 2 + 2?'), { role: 'assistant' as const, text: 'It is 4.' }, user('And doubled?')]
    const [told] = await ask({ system: 'You are terse.', turns })
    t.not(told!.text, '')
    t.equal(told!.finish, 'stop')
  },
  'two tools called at once, and their results': async (t, ask) => {
    const ran: string[] = []
    const told = await ask({
      turns: [user('Call get_weather and get_time.')],
      tools: [CITY, CLOCK],
      run: (name, input) => {
        ran.push(`${name} ${typeof input}`)
        return `the result of ${name}`
      },
    })
    t.same(ran, ['get_weather object', 'get_time object'])
    t.equal(told.length, 2)
    t.equal(told[0]!.finish, 'tool')
    t.same(
      told[0]!.calls.map(({ name }) => name),
      ['get_weather', 'get_time'],
    )
    t.equal(typeof (told[0]!.calls[0]!.input as { city: unknown }).city, 'string')
    t.equal(told[1]!.finish, 'stop')
    t.not(told[1]!.text, '')
  },
  'a tool that has to be called': async (t, ask) => {
    const [told] = await ask({ turns: [user('Hello.')], tools: [CITY, CLOCK], choice: { name: 'get_time' } })
    t.match(told!.calls, [{ name: 'get_time', input: { zone: String } }])
  },
  'structured output': async (t, ask) => {
    const [told] = await ask({ turns: [user('Who are you?')], schema: PERSON })
    const person = JSON.parse(told!.text) as Record<string, unknown>
    t.match(person, { name: String, age: Number, tags: Array })
    t.equal(told!.finish, 'stop')
  },
  reasoning: async (t, ask, showsReasoning) => {
    const [told] = await ask({ turns: [user('Think about the gateway.')], effort: 'high' })
    t.not(told!.text, '')
    if (showsReasoning) t.not(told!.reasoning, '')
  },
  'reasoning goes on behind a call, with its seals': async (t, ask) => {
    const told = await ask({
      turns: [user('Think, then call get_weather.')],
      tools: [CITY],
      effort: 'high',
      run: () => 'sunny',
    })
    t.equal(told.length, 2)
    t.match(told[0]!.calls, [{ name: 'get_weather' }])
    t.equal(told[1]!.finish, 'stop')
  },
  'an image and a document': async (t, ask) => {
    const [told] = await ask({ turns: [{ ...user('What is this?'), image: PNG, pdf: PDF }] })
    t.not(told!.text, '')
  },
  'a long prompt': async (t, ask) => {
    const [short] = await ask({ turns: [user('Say hello.')] })
    const [told] = await ask({ turns: [user(`${'long words '.repeat(30_000)}Say hello.`)] })
    t.ok(told!.input! > short!.input! + 10_000)
  },
  'a limit of tokens': async (t, ask) => {
    // 16 is the least that one of the protocols takes.
    const [told] = await ask({ turns: [user('Tell me a long story about gateways.')], maxTokens: 16 })
    t.equal(told!.finish, 'length')
  },
}

const PNG = Buffer.concat([
  Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  chunk('IHDR', Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0])),
  chunk('IDAT', deflateSync(Buffer.from([0, 255, 0, 0]))),
  chunk('IEND', Buffer.alloc(0)),
]).toString('base64')

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  // No one here draws it, so its checksum may be anything.
  return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
}

const PDF = Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n').toString('base64')

t.jobs = 1
t.setTimeout(600_000)

/** Each case of each client at each model, streamed and not, as `client model stream case`. */
const combinations = Object.keys(CLIENTS).flatMap(client =>
  UPSTREAMS.flatMap(model =>
    ['whole', 'streamed'].flatMap(way => Object.keys(CASES).map(title => `${client} ${model} ${way} ${title}`)),
  ),
)
const drawn = new Set(sample('cases of client libraries at upstreams', combinations, combinations.length / 2))

for (const [clientName, client] of Object.entries(CLIENTS)) {
  t.test(clientName, async t => {
    const gateway = await startTestGateway(t, YAML)
    const { origin, key } = gateway
    for (const model of UPSTREAMS) {
      for (const stream of [false, true]) {
        for (const [title, run] of Object.entries(CASES)) {
          if (!drawn.has(`${clientName} ${model} ${stream ? 'streamed' : 'whole'} ${title}`)) continue
          await t.test(`${model}${stream ? ', streamed' : ''}: ${title}`, async t => {
            await run(t, more => client({ origin, key, model, stream, ...more }), !BLIND.has(clientName))
          })
        }
        await t.test(`${model}${stream ? ', streamed' : ''}: a refusal is the library's own error`, async t => {
          const error = await client({
            origin,
            key,
            model: `${model}-busy`,
            stream,
            turns: [user('Hello.')],
          }).then(
            () => undefined,
            (reason: unknown) => reason as { status?: number; statusCode?: number },
          )
          t.equal(error?.status ?? error?.statusCode, 429)
        })
      }
      await t.test(`${model}: streamed or not, it is the same answer`, async t => {
        const ask = { origin, key, model, turns: [user('Say hello to the gateway.')] }
        const [whole] = await client({ ...ask, stream: false })
        const [streamed] = await client({ ...ask, stream: true })
        const { deltas, ...rest } = streamed!
        t.match(rest, { ...whole, deltas: undefined })
        t.ok(deltas > 1, 'it came in pieces')
      })
    }
  })
}

proveNoLeak(t)
