import t from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { EACH_CLIENT, type Protocol } from '../helpers/text-clients.js'
import { streams, upstreamOf } from '../helpers/text-upstreams.js'
import { type Stage, startStage } from '../helpers/translation-stage.js'

// Tools, results and users that upstreams of other protocols do not take as clients send them.

type Members = Readonly<Record<string, unknown>>

const responses = EACH_CLIENT.find(({ protocol }) => protocol === 'responses')!
const messages = EACH_CLIENT.find(({ protocol }) => protocol === 'messages')!
const generate = EACH_CLIENT.find(({ protocol }) => protocol === 'generate')!
const sse = (event: Members): string => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`

/** An answer that calls one tool, whole and streamed, by each protocol that is not the client's. */
const CALLS: Readonly<Record<string, (name: string, args: Members) => readonly [whole: Members, streamed: string[]]>> =
  {
    chat: (name, args) => {
      const call = { id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(args) } }
      const chunk = (delta: Members, finish_reason: string | null): Members => ({
        id: 'c',
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, finish_reason }],
      })
      const message = { role: 'assistant', content: null, tool_calls: [call] }
      return [
        { id: 'c', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] },
        [chunk({ tool_calls: [{ index: 0, ...call }] }, null), chunk({}, 'tool_calls')].map(
          one => `data: ${JSON.stringify(one)}\n\n`,
        ),
      ]
    },
    messages: (name, input) => {
      const message = {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'u',
        usage: { input_tokens: 1, output_tokens: 1 },
      }
      const text = JSON.stringify(input)
      const half = Math.floor(text.length / 2)
      const delta = (partial_json: string): Members => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json },
      })
      return [
        { ...message, stop_reason: 'tool_use', content: [{ type: 'tool_use', id: 'toolu_1', name, input }] },
        [
          { type: 'message_start', message: { ...message, content: [] } },
          {
            type: 'content_block_start',
            index: 0,
            content_block: { type: 'tool_use', id: 'toolu_1', name, input: {} },
          },
          delta(text.slice(0, half)),
          delta(text.slice(half)),
          { type: 'content_block_stop', index: 0 },
          { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
          { type: 'message_stop' },
        ].map(sse),
      ]
    },
    generate: (name, args) => {
      const parts = [{ functionCall: { name, args } }]
      const answer = { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }], modelVersion: 'u' }
      return [answer, [`data: ${JSON.stringify(answer)}\n\n`]]
    },
    converse: (name, input) => {
      const call = { toolUseId: 'tooluse_1', name }
      const content = [{ toolUse: { ...call, input } }]
      const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
      const metrics = { latencyMs: 1 }
      const { piece } = upstreamOf('converse')
      const events: readonly (readonly [string, Members])[] = [
        ['messageStart', { role: 'assistant' }],
        ['contentBlockStart', { contentBlockIndex: 0, start: { toolUse: call } }],
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { toolUse: { input: JSON.stringify(input) } } }],
        ['contentBlockStop', { contentBlockIndex: 0 }],
        ['messageStop', { stopReason: 'tool_use' }],
        ['metadata', { usage, metrics }],
      ]
      return [
        { output: { message: { role: 'assistant', content } }, stopReason: 'tool_use', usage, metrics },
        events.map(([event, payload]) => piece(JSON.stringify(payload), event)),
      ]
    },
  }

const OTHERS = ['chat', 'messages', 'generate', 'converse'] as const

type Item = Members & { readonly name?: string; readonly input?: string }

/** The items of the answer to this request, whole and out of the last event of a stream, and what the upstream got. */
async function answers(stage: Stage, protocol: Protocol, call: readonly [string, Members], request: Members) {
  const [whole, streamed] = CALLS[protocol]!(...call)
  const found: { items: readonly Item[]; sent: string; dropped: string | undefined; events: string }[] = []
  for (const isStream of [false, true]) {
    const model = stage.play(protocol, isStream ? streams(upstreamOf(protocol), streamed) : json(whole))
    const answer = await stage.ask(responses, model, isStream, request)
    if (answer.status !== 200) throw new Error(answer.text)
    const last = answer.text.trimEnd().split('data: ').at(-1) ?? ''
    const { output } = (isStream ? JSON.parse(last).response : answer.json()) as { output: readonly Item[] }
    const sent = String(stage.asked(model)[0]?.body)
    found.push({ items: output, sent, dropped: answer.header('x-gateway-dropped'), events: answer.text })
  }
  return found
}

const PATCH = { type: 'custom', name: 'apply_patch', description: 'Patches.' }

t.test('tools that take free text keep their name', async t => {
  const stage = await startStage(t)
  for (const protocol of ['messages', 'generate', 'converse'] as const) {
    const input = [
      { role: 'user', content: 'hi' },
      { type: 'custom_tool_call', call_id: 'call_0', name: 'apply_patch', input: 'before' },
      { type: 'custom_tool_call_output', call_id: 'call_0', output: 'ok' },
    ]
    const request = { tools: [PATCH], input, tool_choice: { type: 'custom', name: 'apply_patch' } }
    for (const { items, sent } of await answers(stage, protocol, ['apply_patch', { input: '*** "go"\n' }], request)) {
      t.match(items.at(-1), { type: 'custom_tool_call', name: 'apply_patch', input: '*** "go"\n' }, protocol)
      t.notMatch(sent, /gw1?c_/, `${protocol} is told the client's name`)
      t.match(sent, /"input":"before"/)
    }
    for (const { items } of await answers(stage, protocol, ['apply_patch', { patch: 1 }], request)) {
      t.match(items.at(-1), { type: 'custom_tool_call', input: '{"patch":1}' }, 'what is no such text comes whole')
    }
    const both = { tools: [PATCH, { type: 'function', name: 'apply_patch', parameters: null, strict: false }] }
    const sent = (await answers(stage, protocol, ['apply_patch', { a: 1 }], both))[0]?.sent ?? ''
    const [, own = ''] = /"name":"((?:gw1?c_+apply|apply_patch_)\w+)"/.exec(sent) ?? []
    t.not(own, '', `${protocol}: where a function has the name, it is another one`)
    for (const { items } of await answers(stage, protocol, [own, { input: '*** go' }], both))
      t.match(items.at(-1), { type: 'custom_tool_call', name: 'apply_patch', input: '*** go' })
    for (const { items } of await answers(stage, protocol, ['apply_patch', { a: 1 }], both))
      t.match(items.at(-1), { type: 'function_call', name: 'apply_patch', arguments: '{"a":1}' })
  }
})

const WEATHER = {
  type: 'function',
  name: 'get',
  description: 'Reads it.',
  parameters: { type: 'object' },
  strict: false,
}
const GROUP = {
  type: 'namespace',
  name: 'weather',
  description: 'The weather.',
  tools: [WEATHER, { ...WEATHER, name: 'set' }],
}

t.test('a group of tools becomes one list, and its calls come back as the client has them', async t => {
  const stage = await startStage(t)
  for (const protocol of OTHERS) {
    const input = [
      { role: 'user', content: 'hi' },
      { type: 'function_call', call_id: 'call_0', namespace: 'weather', name: 'set', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_0', output: 'ok' },
    ]
    const request = { tools: [GROUP, { ...WEATHER, name: 'other' }], input }
    for (const { items, sent, dropped } of await answers(
      stage,
      protocol,
      ['weather__get', { city: 'Oslo' }],
      request,
    )) {
      const call = { type: 'function_call', namespace: 'weather', name: 'get', arguments: '{"city":"Oslo"}' }
      t.match(items.at(-1), call, protocol)
      t.equal(dropped, undefined, 'nothing is lost')
      t.match(sent, /"name":"weather__get","description":"The weather\.\\n\\nReads it\."/)
      t.match(sent, /"name":"weather__set"/g, 'the call of the turn before has the same name')
    }
    for (const { items } of await answers(stage, protocol, ['other', {}], request)) {
      t.match(items.at(-1), { name: 'other', namespace: undefined })
    }
    const chosen = { ...request, tool_choice: { type: 'function', namespace: 'weather', name: 'get' } }
    for (const { sent } of await answers(stage, protocol, ['weather__get', {}], chosen)) {
      t.match(sent, /("tool_choice":|"allowedFunctionNames":|"toolChoice":)[^}]*"weather__get"/)
    }
  }
})

t.test('names that would be one name are told apart', async t => {
  const stage = await startStage(t)
  const tools = [{ ...WEATHER, name: 'weather__get' }, GROUP]
  const [plain] = await answers(stage, 'chat', ['weather__get', {}], { tools })
  t.match(plain?.items.at(-1), { name: 'weather__get', namespace: undefined })
  const [, own = ''] = /"name":"(weather__get_[0-9a-f]{8})"/.exec(plain?.sent ?? '') ?? []
  const [grouped] = await answers(stage, 'chat', [own, {}], { tools })
  t.match(grouped?.items.at(-1), { name: 'get', namespace: 'weather' })
})

t.test(
  'a tool without counterpart is dropped and named; refused where it is forced, or nothing may be lost',
  async t => {
    const strict = '  "strict-*": { upstream: messages, strict: true }\n'
    const stage = await startStage(t, { models: strict })
    const tools = [{ type: 'computer_use_preview', display_width: 1, display_height: 1, environment: 'linux' }, WEATHER]
    for (const protocol of OTHERS) {
      for (const { dropped, sent } of await answers(stage, protocol, ['get', {}], { tools })) {
        t.match(dropped, /tools\[0\]/, protocol)
        t.notMatch(sent, /computer_use/)
      }
      const model = stage.play(protocol, json({}))
      const forced = [
        { tools, tool_choice: { type: 'computer_use_preview' } },
        { tools: tools.slice(0, 1), tool_choice: 'required' },
        { tools, tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'computer_use_preview' }] } },
      ]
      for (const request of forced) {
        const answer = await stage.ask(responses, model, false, request)
        t.equal(answer.status, 400)
        t.match(answer.json(), { error: { param: 'tool_choice', message: /'computer_use_preview'/ } })
      }
      t.same(stage.asked(model), [], 'nothing was asked')
    }
    const answer = await stage.ask(responses, 'strict-1', false, { tools })
    t.match(answer.json(), { error: { param: 'tools[0]', message: /'computer_use_preview'/ } })
  },
)

t.test('a result that names its function alone goes with the call that has an id', async t => {
  const stage = await startStage(t)
  const contents = [
    { role: 'user', parts: [{ text: 'Weather?' }] },
    { role: 'model', parts: [{ functionCall: { id: 'call_7', name: 'get', args: { city: 'Oslo' } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'get', response: { result: 'Rain.' } } }] },
  ]
  for (const protocol of ['chat', 'messages', 'responses', 'converse'] as const) {
    const model = stage.play(protocol, json(CALLS[protocol]?.('get', {})[0] ?? { output: [], status: 'completed' }))
    await stage.ask(generate, model, false, { contents })
    const sent = String(stage.asked(model)[0]?.body)
    t.match(sent, /"(tool_call_id|tool_use_id|call_id|toolUseId)":"call_7"[^[]*(\[[^[]*)?Rain/, protocol)
    t.notMatch(sent, /gwcall_/, `${protocol}: no id is made up`)
  }
})

t.test('an end user whose name is too long for the upstream is sent as a digest, the same each time', async t => {
  const stage = await startStage(t)
  const metadata = { user_id: `user_${'a'.repeat(64)}_account__session_${'b'.repeat(36)}` }
  for (const protocol of ['chat', 'responses']) {
    const model = stage.play(protocol, json(CALLS[protocol]?.('get', {})[0] ?? { output: [], status: 'completed' }))
    const answer = await stage.ask(messages, model, false, { metadata })
    await stage.ask(messages, model, false, { metadata })
    t.equal(answer.header('x-gateway-dropped'), undefined, 'it is not lost')
    const users = stage.asked(model).map(({ body }) => JSON.parse(String(body)).user)
    t.match(users, [/^[0-9a-f]{64}$/, users[0]], protocol)
  }
})

proveNoLeak(t)
