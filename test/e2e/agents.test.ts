import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { eventsOf } from '../helpers/expect.js'
import { startTestGateway } from '../helpers/gateway.js'

// What coding agents send at their defaults, in the shape in which it was recorded, to the text models of the shipped file:
// a tool loop of two streamed requests, in which the second one brings the first answer back unchanged.

type Members = Readonly<Record<string, unknown>>
// biome-ignore lint/suspicious/noExplicitAny: answers of several protocols, read where a test looks
type Loose = any

/** How one of them speaks. */
interface Agent {
  readonly name: string
  /** What calls of its tool say besides the name. */
  readonly group?: Members
  readonly path: (model: string) => string
  readonly headers: Readonly<Record<string, string>>
  readonly first: (model: string) => Members
  /** The call in an answer: what is called, with which arguments. */
  readonly called: (events: readonly Loose[]) => Members
  readonly second: (first: Members, events: readonly Loose[]) => Members
  readonly text: (events: readonly Loose[]) => string
}

const JSON_BODY = { 'content-type': 'application/json' }
const KEY = 'a-key-of-sixteen-letters'
const MODELS = ['sim-text', 'sim-responses', 'sim-messages', 'sim-generate']
const SHIPPED = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8').replace(
  'type: file, path: ./data',
  'type: memory',
)

const READ = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    filePath: { type: 'string', description: 'The absolute path to the file to read' },
    offset: { minimum: 0, type: 'integer', maximum: Number.MAX_SAFE_INTEGER },
    limit: { minimum: Number.MIN_SAFE_INTEGER, exclusiveMinimum: 0, type: 'integer', maximum: Number.MAX_SAFE_INTEGER },
  },
  required: ['filePath'],
}
const ENVIRONMENT = '<environment_context>\n  <shell>read</shell>\n  filePath=/etc/hosts\n</environment_context>'
const CALL = { filePath: '/tmp/note.txt' }
const CONTENT = 'The key is under the third stone.'

const message = (role: string, ...texts: readonly string[]): Members => ({
  type: 'message',
  id: `msg_${role}_${texts.length}`,
  role,
  content: texts.map(text => ({ type: 'input_text', text })),
})
const functionTool = (name: string, parameters: Members): Members => ({
  type: 'function',
  name,
  description: `The tool ${name}.`,
  strict: false,
  parameters,
})

/** The answer's items, as the client keeps them: each as it was done. */
const itemsOf = (events: readonly Loose[]): readonly Loose[] =>
  events.flatMap(event => (event.type === 'response.output_item.done' ? [event.item] : []))

const codex: Agent = {
  name: 'codex',
  group: { namespace: 'mcp__files' },
  path: () => '/v1/responses',
  headers: {
    authorization: `Bearer ${KEY}`,
    originator: 'codex_exec',
    'x-codex-beta-features': 'remote_compaction_v2',
  },
  first: model => ({
    model,
    stream: true,
    input: [
      message('developer', 'You are a coding agent.'),
      message('developer', '<skills_instructions>', '<permissions instructions>'),
      message('user', ENVIRONMENT),
      message('user', 'Use mcp__files__read with filePath=/tmp/note.txt'),
    ],
    tools: [
      functionTool('exec_command', {
        type: 'object',
        properties: { cmd: { type: 'string' }, max_output_tokens: { type: 'number' } },
        required: ['cmd'],
        additionalProperties: false,
      }),
      {
        type: 'namespace',
        name: 'mcp__files',
        description: 'Tools in the mcp__files namespace.',
        tools: [functionTool('read', READ), functionTool('list', { type: 'object', properties: {} })],
      },
      functionTool('get_goal', { type: 'object', properties: {}, required: [], additionalProperties: false }),
      { type: 'web_search', external_web_access: false },
    ],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { summary: 'auto' },
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: '01a20409-4c0c-7ff0-8192-3380f9f74c2e',
    client_metadata: { session_id: '01a20409', 'x-codex-turn-metadata': '{"request_kind":"turn"}' },
  }),
  called: events => {
    const { namespace, name, arguments: text } = itemsOf(events).find(({ type }) => type === 'function_call') ?? {}
    return { namespace, name, arguments: JSON.parse(text ?? 'null') }
  },
  second: (first, events) => {
    const items = itemsOf(events).map(item => (item.type === 'reasoning' ? { content: null, ...item } : item))
    const { call_id } = items.find(({ type }) => type === 'function_call')
    const output = [
      { type: 'input_text', text: 'Wall time: 0.0030 seconds\nOutput:' },
      { type: 'input_text', text: CONTENT },
    ]
    const result = { type: 'function_call_output', id: 'fco_01a2', call_id, output }
    return { ...first, input: [...(first.input as unknown[]), ...items, result] }
  },
  text: events => itemsOf(events).findLast(({ type }) => type === 'message')?.content[0].text,
}

const partsOf = (events: readonly Loose[]): readonly Loose[] =>
  events.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])

const GEMINI_ID = 'read_1795362259098_0'

const gemini: Agent = {
  name: 'gemini',
  path: model => `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
  headers: { 'x-goog-api-key': KEY, 'x-goog-api-client': 'google-genai-sdk/1.30.0 gl-node/v20.20.2' },
  first: () => ({
    contents: [{ role: 'user', parts: [{ text: ENVIRONMENT }, { text: 'Use read with filePath=/tmp/note.txt' }] }],
    systemInstruction: { role: 'user', parts: [{ text: 'You are an autonomous agent.' }] },
    tools: [
      {
        functionDeclarations: [
          { name: 'read', description: 'Reads a file.', parametersJsonSchema: READ },
          { name: 'list', description: 'Lists a folder.', parametersJsonSchema: { type: 'object', properties: {} } },
        ],
      },
    ],
    generationConfig: { temperature: 1, topP: 0.95, topK: 64, thinkingConfig: { includeThoughts: true } },
  }),
  called: events => {
    const { name, args } = partsOf(events).find(({ functionCall }) => functionCall !== undefined)?.functionCall ?? {}
    return { name, arguments: args }
  },
  second: (first, events) => {
    // Its history has the calls without the thoughts, and ids of its own.
    const parts = partsOf(events).filter(({ thought }) => thought !== true)
    const renamed = (part: Loose): Loose =>
      part.functionCall === undefined ? part : { ...part, functionCall: { ...part.functionCall, id: GEMINI_ID } }
    const response = { output: CONTENT }
    const result = { functionResponse: { id: GEMINI_ID, name: 'read', response } }
    const turns = [
      { role: 'model', parts: parts.map(renamed) },
      { role: 'user', parts: [result] },
    ]
    return { ...first, contents: [...(first.contents as unknown[]), ...turns] }
  },
  text: events =>
    partsOf(events)
      .filter(({ thought }) => thought !== true)
      .map(({ text = '' }) => text)
      .join(''),
}

const callsOf = (events: readonly Loose[]): readonly Loose[] =>
  events.flatMap(({ choices }) => choices?.[0]?.delta?.tool_calls ?? [])

const opencode: Agent = {
  name: 'opencode',
  path: () => '/v1/chat/completions',
  headers: { authorization: `Bearer ${KEY}`, 'x-session-affinity': 'ses_dfc1', 'x-session-id': 'ses_dfc1' },
  first: model => ({
    model,
    max_tokens: 32_000,
    messages: [
      { role: 'system', content: 'You are an interactive tool.' },
      { role: 'user', content: '"Use read with filePath=/tmp/note.txt"' },
    ],
    tools: [{ type: 'function', function: { name: 'read', description: 'Reads a file.', parameters: READ } }],
    tool_choice: 'auto',
    stream: true,
    stream_options: { include_usage: true },
  }),
  called: events => {
    const calls = callsOf(events)
    const text = calls.map(({ function: part }) => part?.arguments ?? '').join('')
    return { name: calls[0]?.function.name, arguments: JSON.parse(text === '' ? 'null' : text) }
  },
  second: (first, events) => {
    const calls = callsOf(events)
    const { id } = calls[0]
    const text = calls.map(({ function: part }) => part?.arguments ?? '').join('')
    const call = { id, type: 'function', function: { name: 'read', arguments: text } }
    const turns = [
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', tool_call_id: id, content: CONTENT },
    ]
    return { ...first, messages: [...(first.messages as unknown[]), ...turns] }
  },
  text: events => events.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join(''),
}

t.test('tool loops of coding agents come to their end on each text model of the shipped file', async t => {
  const { origin } = await startTestGateway(t, SHIPPED, { env: { GATEWAY_KEY: KEY } })
  const ask = async ({ path, headers }: Agent, model: string, body: Members): Promise<readonly Loose[]> => {
    const answer = await fetch(origin + path(model), {
      method: 'POST',
      headers: { ...headers, ...JSON_BODY },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    t.equal(answer.status, 200, text)
    return eventsOf(text).flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data)]))
  }
  for (const model of MODELS) {
    for (const agent of [codex, gemini, opencode]) {
      const first = agent.first(model)
      const events = await ask(agent, model, first)
      t.same(agent.called(events), { name: 'read', arguments: CALL, ...agent.group }, `${agent.name} on ${model}`)
      t.match(agent.text(await ask(agent, model, agent.second(first, events))), CONTENT, `${agent.name} on ${model}`)
    }
  }
})

proveNoLeak(t)
