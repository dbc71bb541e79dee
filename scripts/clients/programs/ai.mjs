import { readFileSync } from 'node:fs'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, Output, stepCountIs, streamText, tool } from 'ai'
import { DOG, expect, isDog, SECRET, streamed } from '../stage.mjs'

const { version } = JSON.parse(readFileSync(new URL('../../../node_modules/ai/package.json', import.meta.url), 'utf8'))
const GREETING = 'You said: "Say hello"'

/** A library: it runs in this process, with what package.json names. */
const speaking = (protocol, example, make) => ({
  name: 'Vercel AI SDK',
  protocol,
  source: { version },
  command: () => [],
  configure: () => ({ environment: {} }),
  ...(protocol === 'responses' ? { example } : { differs: example }),
  quiet: {},
  capabilities: {
    async text(stage, model) {
      const { text } = await generateText({ ...plain(make, stage, model), prompt: 'Say hello' })
      expect(text.includes(GREETING), 'has no answer', { out: text })
      await stage.requests()
    },
    async stream(stage, model) {
      const pieces = []
      const { textStream } = streamText({ ...plain(make, stage, model), prompt: 'Say hello' })
      for await (const piece of textStream) pieces.push(piece)
      expect(pieces.length > 1 && pieces.join('').includes(GREETING), 'has no pieces', { out: pieces.join('|') })
      streamed({ requests: await stage.requests() })
    },
    async tools(stage, model) {
      const inputSchema = jsonSchema({ type: 'object', properties: {}, required: [], additionalProperties: false })
      const read_note = tool({ description: 'Reads the note', inputSchema, execute: async () => SECRET })
      const settings = { ...plain(make, stage, model), tools: { read_note }, stopWhen: stepCountIs(3) }
      const { text, steps } = await generateText({ ...settings, prompt: 'Use read_note' })
      expect(steps.length === 2 && text.includes(SECRET), 'has no result', { out: text })
      await stage.requests()
    },
    async structured(stage, model) {
      const output = Output.object({ schema: jsonSchema(DOG) })
      const result = await generateText({ ...plain(make, stage, model), output, prompt: 'Invent a dog' })
      isDog(result.output, { out: result.text })
      await stage.requests()
    },
  },
})

const plain = (make, { origin, key }, model) => ({ model: make(origin, key)(model), maxRetries: 0 })

const compatible = (origin, apiKey) => createOpenAI({ baseURL: `${origin}/v1`, apiKey })
const OPENAI = "createOpenAI({ baseURL: 'http://127.0.0.1:8080/v1', apiKey: process.env.GATEWAY_KEY })"

export const ai = [
  speaking('responses', `${OPENAI}('sim-text')`, compatible),
  speaking('chat', "`createOpenAI({ … }).chat('sim-text')`", (origin, apiKey) => compatible(origin, apiKey).chat),
  speaking('messages', "`createAnthropic({ … })('sim-text')`, of `@ai-sdk/anthropic`", (origin, apiKey) =>
    createAnthropic({ baseURL: `${origin}/v1`, apiKey }),
  ),
  speaking(
    'generate',
    "`createGoogleGenerativeAI({ … })('sim-text')`, of `@ai-sdk/google`, and a `baseURL` that ends in `/v1beta`",
    (origin, apiKey) => createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey }),
  ),
]
