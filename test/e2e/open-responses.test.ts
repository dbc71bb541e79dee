import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { packageRoot } from '../../src/core/package-root.js'
import { relaysAnything } from '../helpers/emitted.js'
import { eventsOf } from '../helpers/expect.js'
import { startTestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { compactionFaults, eventFaults, responseFaults } from '../helpers/open-responses.js'
import { type OpenApiName, openApi, openApiFolder } from '../helpers/openapi.js'

// The cases of the Open Responses specification's conformance suite, with its prompts as they are, on the four text models
// of the shipped file. No registry has that suite, so its cases are written anew here.

t.setTimeout(120_000)
// A picture without its `detail`, as the suite sends it.
relaysAnything()

const MODELS = ['sim-text', 'sim-responses', 'sim-messages', 'sim-generate']
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const said = (role: string, content: unknown, more: object = {}): object => ({
  type: 'message',
  role,
  content,
  ...more,
})
const user = (content: unknown): object => said('user', content)
const WEATHER = {
  input: [user("What's the weather like in San Francisco?")],
  tools: [
    {
      ...{ type: 'function', name: 'get_weather', description: 'Get the current weather for a location' },
      parameters: {
        type: 'object',
        properties: { location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' } },
        required: ['location'],
      },
    },
  ],
}

interface Item {
  readonly type: string
  readonly content?: readonly { readonly text?: string }[]
}
interface Response {
  readonly id: string
  readonly status: string
  readonly output: readonly Item[]
  readonly error?: { readonly code?: string } | null
}
interface Event {
  readonly type: string
  readonly sequence_number?: number
  readonly output_index?: number
  readonly delta?: string
  readonly item?: Item
  readonly response?: Response
  readonly error?: { readonly code?: string }
}

const gateway = await startTestGateway(t, readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8'), {
  env: { GATEWAY_KEY: 'conformance-key-of-some-length' },
})
const key = 'conformance-key-of-some-length'
const post = (path: string, body: object) => gateway.request(path, { key, body: { ...body } })

/** Faults by the OpenAPI document of the protocol's first server, where that is at hand. */
const reference = (name: OpenApiName, document: unknown): readonly string[] =>
  openApiFolder() === undefined ? [] : openApi(name)(document)

function sound(t: Test, response: Response, status = 'completed'): void {
  t.same(responseFaults(response), [])
  t.same(reference('responses.response', response), [])
  t.equal(response.status, status)
}

async function whole(t: Test, model: string, body: object): Promise<Response> {
  const answer = await post('/v1/responses', { model, stream: false, ...body })
  t.equal(answer.status, 200, answer.text.slice(0, 300))
  const response = answer.json() as Response
  sound(t, response)
  t.ok(response.output.length > 0, 'there is output')
  return response
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])

/** The events of one response: each as it has to be, in an order in which a client can put them together. */
function ladder(t: Test, events: readonly Event[], socket = false): Response | undefined {
  t.same([...new Set(events.flatMap(event => eventFaults(event, socket)))], [])
  // One event of each type is enough for the larger document, which takes its time.
  const kinds = new Map(events.map(event => [event.type, event]))
  if (!socket) for (const event of kinds.values()) t.same(reference('responses.event', event), [])
  t.same(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, i) => i),
  )
  t.same(
    events.slice(0, 2).map(({ type }) => type),
    ['response.created', 'response.in_progress'],
  )
  t.same(
    events.filter(({ type }) => ENDS.has(type)).map(({ type }) => type),
    ['response.completed'],
  )
  const { response } = events.at(-1) ?? {}
  if (response === undefined) return undefined
  sound(t, response)
  const ofItems = (type: string): readonly Event[] =>
    events.filter(event => event.type === `response.output_item.${type}`)
  const places = response.output.map((_, i) => i)
  t.same(
    ofItems('added').map(({ output_index }) => output_index),
    places,
  )
  t.same(
    ofItems('done').map(({ output_index }) => output_index),
    places,
    'an item is done before the next one begins to be',
  )
  t.same(
    ofItems('done').map(({ item }) => item),
    response.output,
  )
  const text = events.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [delta] : [])).join('')
  t.equal(
    text,
    response.output
      .flatMap(({ content }) => content ?? [])
      .map(part => part.text ?? '')
      .join(''),
  )
  return response
}

async function streamed(t: Test, model: string, body: object): Promise<readonly Event[]> {
  const answer = await post('/v1/responses', { model, stream: true, ...body })
  t.equal(answer.status, 200, answer.text.slice(0, 300))
  const documents = eventsOf(answer.text).filter(({ data }) => data !== '[DONE]')
  const events = documents.map(({ data }) => JSON.parse(data) as Event)
  t.same(
    documents.map(({ event }) => event),
    events.map(({ type }) => type),
  )
  ladder(t, events)
  return events
}

/** Asks on one socket, one response after the other; each step may build on the response before. */
async function session(
  t: Test,
  steps: readonly (object | ((before: Response | undefined) => object))[],
): Promise<readonly (readonly Event[])[]> {
  const socket = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${key}` },
  })
  t.teardown(() => socket.terminate())
  const events = new Journal<Event>('events of the socket')
  socket.on('message', data => events.push(JSON.parse(String(data)) as Event))
  await once(socket, 'open')
  const turns: (readonly Event[])[] = []
  for (const step of steps) {
    const before = turns[0]?.at(-1)?.response
    const from = events.items.length
    socket.send(JSON.stringify({ type: 'response.create', ...(typeof step === 'function' ? step(before) : step) }))
    await events.count(turns.length + 1, ({ type }) => ENDS.has(type))
    turns.push(events.items.slice(from))
  }
  socket.close()
  return turns
}

const codeOf = (turn: readonly Event[] | undefined): string | undefined =>
  turn?.at(-1)?.error?.code ?? turn?.at(-1)?.response?.error?.code

/** A turn that came to nothing, with an error of this code. */
function refused(t: Test, turn: readonly Event[] | undefined, code?: string): void {
  t.same(
    turn?.flatMap(event => eventFaults(event, true)),
    [],
  )
  if (code === undefined) t.equal(turn?.at(-1)?.type, 'error')
  else t.equal(codeOf(turn), code)
}

const CASES: Readonly<Record<string, (t: Test, model: string) => Promise<void>>> = {
  'basic response': async (t, model) => {
    await whole(t, model, { input: [user('Say hello in exactly 3 words.')] })
  },
  'assistant phase': async (t, model) => {
    const input = [
      said('assistant', 'I should answer with the saved number.', { phase: 'commentary' }),
      said('assistant', 'The number is four.', { phase: 'final_answer' }),
      user('Repeat only the number.'),
    ]
    await whole(t, model, { input })
  },
  'streaming response': async (t, model) => {
    await streamed(t, model, { input: [user('Count from 1 to 5.')] })
  },
  'system prompt': async (t, model) => {
    const pirate = said('system', 'You are a pirate. Always respond in pirate speak.')
    await whole(t, model, { input: [pirate, user('Say hello.')] })
  },
  'tool calling': async (t, model) => {
    const { output } = await whole(t, model, WEATHER)
    t.match(
      output.filter(({ type }) => type === 'function_call'),
      [{ name: 'get_weather', arguments: /San Francisco/ }],
    )
  },
  'tool calling, streamed': async (t, model) => {
    const events = await streamed(t, model, WEATHER)
    const types = new Set(events.map(({ type, item }) => `${type} ${item?.type ?? ''}`.trim()))
    for (const type of [
      ...['response.output_item.added function_call', 'response.output_item.done function_call'],
      ...['response.function_call_arguments.delta', 'response.function_call_arguments.done'],
    ])
      t.ok(types.has(type), type)
  },
  'image input': async (t, model) => {
    const question = { type: 'input_text', text: 'What do you see in this image? Answer in one sentence.' }
    await whole(t, model, { input: [user([question, { type: 'input_image', image_url: PNG }])] })
  },
  'multi-turn': async (t, model) => {
    const hello = said('assistant', 'Hello Alice! Nice to meet you. How can I help you today?')
    await whole(t, model, { input: [user('My name is Alice.'), hello, user('What is my name?')] })
  },
  compaction: async (t, model) => {
    const input = [
      user('We agreed to launch on Tuesday and notify support first.'),
      said('assistant', 'Understood. The launch is Tuesday, with support notified beforehand.'),
    ]
    const cached = { prompt_cache_key: 'openresponses-compact-test' }
    const answer = await post('/v1/responses/compact', { model, input, ...cached })
    t.equal(answer.status, 200, answer.text.slice(0, 300))
    t.same(compactionFaults(answer.json()), [])
    t.ok((answer.json() as Response).output.some(({ type }) => type === 'compaction'))
  },
  'compaction without a model': async t => {
    const { status } = await post('/v1/responses/compact', { input: [user('Compact this conversation.')] })
    t.equal(status, 400)
  },
  'a socket': async (t, model) => {
    const [turn = []] = await session(t, [{ model, input: [user('Count from 1 to 3.')] }])
    ladder(t, turn, true)
  },
  'a socket, one response after another': async (t, model) => {
    const exactly = (word: string): object => ({ model, store: false, input: `Reply with exactly: ${word}` })
    for (const turn of await session(t, [exactly('first'), exactly('second')])) ladder(t, turn, true)
  },
  'a socket, going on': async (t, model) => {
    const [first = [], second = []] = await session(t, [
      { model, store: false, input: 'Remember the code word: cobalt. Reply with OK.' },
      before => ({
        ...{ model, store: false, previous_response_id: before?.id },
        input: 'What is the code word? Reply with only the code word.',
      }),
    ])
    ladder(t, first, true)
    ladder(t, second, true)
  },
  'a socket, connected anew': async (t, model) => {
    const [first = []] = await session(t, [
      { model, store: false, input: 'Remember the code word: copper. Reply with OK.' },
    ])
    const id = ladder(t, first, true)?.id
    const why = 'The previous store:false chain could not continue after reconnect.'
    const [again, recovered = []] = await session(t, [
      {
        ...{ model, store: false, previous_response_id: id },
        input: 'Try to continue after reconnect. Reply with exactly: reconnected',
      },
      { model, store: false, input: [user(`${why} Start a new response and reply with exactly: recovered`)] },
    ])
    refused(t, again, 'previous_response_not_found')
    ladder(t, recovered, true)
  },
  'a socket, what was never there': async (t, model) => {
    const input = 'This should fail because the previous response is missing.'
    const [turn] = await session(t, [{ model, store: false, previous_response_id: 'resp_missing', input }])
    refused(t, turn, 'previous_response_not_found')
  },
  'a socket, what failed is forgotten': async (t, model) => {
    const goOn = (input: unknown) => (before: Response | undefined) => ({
      ...{ model, store: false, previous_response_id: before?.id, input },
    })
    const output = 'No matching tool call exists in the previous response.'
    const [first = [], failed, stale] = await session(t, [
      { model, store: false, input: 'Remember the code word: ember. Reply with OK.' },
      goOn([{ type: 'function_call_output', call_id: 'call_openresponses_missing', output }]),
      goOn('Try to continue after the failed turn. Reply with exactly: stale'),
    ])
    ladder(t, first, true)
    refused(t, failed)
    refused(t, stale, 'previous_response_not_found')
  },
  'a socket that is warmed': async (t, model) => {
    const [warm = [], turn = []] = await session(t, [
      { model, store: false, generate: false, input: 'Prepare to answer with exactly: warmed' },
      before => ({ model, store: false, previous_response_id: before?.id, input: 'Go on.' }),
    ])
    t.same(
      warm.flatMap(event => eventFaults(event, true)),
      [],
    )
    const response = warm.at(-1)?.response
    if (response !== undefined) sound(t, response)
    t.same(response?.output, [])
    ladder(t, turn, true)
  },
  'a socket, behind a compaction': async (t, model) => {
    const content = (type: string, text: string): object[] => [{ type, text }]
    const input = [
      user(content('input_text', 'Remember the compaction code word: slate.')),
      said('assistant', content('output_text', 'OK.')),
      user(content('input_text', 'Compress this conversation for later continuation.')),
    ]
    const answer = await post('/v1/responses/compact', { model, input })
    t.equal(answer.status, 200, answer.text.slice(0, 300))
    const { output } = answer.json() as Response
    const next = user('Continue from here. Reply with exactly: compacted')
    const [turn = []] = await session(t, [{ model, store: false, tools: [], input: [...output, next] }])
    ladder(t, turn, true)
  },
}

for (const model of MODELS)
  for (const [name, run] of Object.entries(CASES)) t.test(`${model}: ${name}`, async t => await run(t, model))

// The members that answers repeat of a request, each said in another way than the cases do.
const PLACE = { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] }
const BARE = { type: 'function', name: 'get_weather', parameters: { ...PLACE, additionalProperties: false } }
const WISHES: Readonly<Record<string, object>> = {
  'a function without a description': { input: 'Hello.', tools: [BARE] },
  'a forced call': { input: 'Hello.', tools: [BARE], tool_choice: { type: 'function', name: 'get_weather' } },
  'some of the tools': {
    ...{ input: 'Hello.', tools: [BARE, { ...BARE, name: 'other' }] },
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'other' }] },
  },
  'a schema': {
    input: 'Hello.',
    text: { format: { type: 'json_schema', name: 'place', schema: { ...PLACE, additionalProperties: false } } },
  },
  'thoughts and calls': { input: 'Think, then call get_weather.', reasoning: { effort: 'high' }, tools: [BARE] },
  settings: {
    ...{ input: 'Hello.', instructions: 'Be brief.', metadata: { a: 'b' }, store: false, truncation: 'auto' },
    ...{ temperature: 0.5, top_p: 0.9, parallel_tool_calls: false, safety_identifier: 'u', prompt_cache_key: 'k' },
  },
}

for (const model of MODELS)
  for (const [name, wishes] of Object.entries(WISHES)) {
    t.test(`${model}: ${name}`, async t => {
      await whole(t, model, wishes)
      await streamed(t, model, wishes)
    })
  }
