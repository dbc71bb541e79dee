import t from 'tap'
import { Seed } from '../../../simulator/src/seed.js'
import type { TextRequest, Tool, Turn } from '../../../simulator/src/text/conversation.js'
import { compose } from '../../../simulator/src/text/engine.js'
import { countTokens } from '../../../simulator/src/text/tokens.js'

function user(text: string): Turn {
  return { role: 'user', parts: [{ type: 'text', text }] }
}

function ask(text: string, more: Partial<TextRequest> = {}): TextRequest {
  return {
    turns: [user(text)],
    tools: [],
    choice: { mode: 'auto', names: undefined },
    parallel: true,
    format: { type: 'text' },
    limit: undefined,
    stop: [],
    effort: undefined,
    length: undefined,
    seed: new Seed('test'),
    ...more,
  }
}

function tool(name: string, properties: object = {}): Tool {
  return { kind: 'function', name, schema: JSON.parse(JSON.stringify({ type: 'object', properties })) }
}

function textOf(request: TextRequest): string {
  return compose(request)
    .parts.flatMap(part => (part.type === 'text' ? part.tokens : []))
    .join('')
}

function calledBy(request: TextRequest): readonly string[] {
  return compose(request).parts.flatMap(part => (part.type === 'call' ? [part.tool.name] : []))
}

/** The arguments of the first call. */
function argumentsOf(request: TextRequest): unknown {
  const call = compose(request).parts.find(part => part.type === 'call')
  return JSON.parse(call?.tokens.join('') ?? 'null')
}

const WEATHER = tool('get_weather', { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } })
const TIME = tool('get_time')

t.test('an answer quotes what was said and owns that a simulator gives it', async t => {
  t.match(textOf(ask('Good morning!')), /^You said: "Good morning!"\. I am the simulator/)
  t.match(textOf(ask('')), /^You sent no text\./)
})

t.test('a long text is quoted in part', async t => {
  t.ok(textOf(ask('long '.repeat(100_000))).length < 1000)
})

t.test('what came besides text is acknowledged', async t => {
  const turns: Turn[] = [
    {
      role: 'user',
      parts: [
        { type: 'media', media: { kind: 'image', type: 'image/png', bytes: 68 } },
        { type: 'media', media: { kind: 'image', type: undefined, bytes: undefined } },
        { type: 'media', media: { kind: 'audio', type: 'audio/wav', bytes: 1000 } },
        { type: 'media', media: { kind: 'file', type: 'application/pdf', bytes: 5 } },
      ],
    },
  ]
  const text = textOf(ask('', { turns }))
  t.match(text, 'I see 2 images (image/png, 68 bytes; by reference).')
  t.match(text, 'I hear 1 audio clip (audio/wav, 1000 bytes).')
  t.match(text, 'I have 1 file (application/pdf, 5 bytes).')
})

t.test('the limit cuts the answer, and says so', async t => {
  const reply = compose(ask('Hello', { limit: 5 }))
  t.match(reply, { finish: 'length', output: 5, reasoning: 0 })
  t.ok(textOf(ask('Hello')).startsWith(textOf(ask('Hello', { limit: 5 }))))
})

t.test('reasoning is counted, comes first, and can use up the limit', async t => {
  const free = compose(ask('Hello', { effort: 'low' }))
  t.equal(free.reasoning, 32)
  t.equal(free.parts[0]?.type, 'reasoning')
  t.ok(free.output > 32)
  const tight = compose(ask('Hello', { effort: 'low', limit: 10 }))
  t.match(tight, { finish: 'length', output: 10, reasoning: 10 })
  t.equal(textOf(ask('Hello', { effort: 'low', limit: 10 })), '')
  t.equal(compose(ask('Hello', { effort: 'none' })).reasoning, 0)
})

t.test('the first stop sequence that comes ends the text before it', async t => {
  const reply = compose(ask('one two three', { stop: ['three', 'two', ''] }))
  t.match(reply, { finish: 'stop', stopped: 'two' })
  t.equal(textOf(ask('one two three', { stop: ['three', 'two'] })), 'You said: "one ')
})

t.test('an exact length is met exactly', async t => {
  for (const length of [0, 1, 7, 200]) {
    const text = textOf(ask('Hello', { length }))
    t.equal(countTokens(text), length)
  }
})

t.test('left to choose, it calls the tools that the text names, in the order of the text', async t => {
  const tools = [WEATHER, TIME]
  t.same(calledBy(ask('Use get_time, then get weather.', { tools })), ['get_time', 'get_weather'])
  t.same(calledBy(ask('Use get_time, then get_weather.', { tools, parallel: false })), ['get_time'])
  t.same(calledBy(ask('How are you?', { tools })), [])
  t.same(calledBy(ask('forget_timeless', { tools })), [])
})

t.test('texts that programs add to the question, in the same turn, are not the question', async t => {
  const added = '<environment> shell: get_weather, city=Oslo </environment>'
  const files = ['\n--- Content of files ---', 'get_weather', '\n--- End of content ---']
  for (const parts of [
    [added, 'Use get_time', ' \n'],
    ['get_weather.md says what to do.', 'Use get_time', added],
    [added, 'Use get_time', ...files],
  ]) {
    const turns: Turn[] = [{ role: 'user', parts: parts.map(text => ({ type: 'text', text })) }]
    t.same(calledBy(ask('', { turns, tools: [WEATHER, TIME] })), ['get_time'])
    t.match(textOf(ask('', { turns })), /^You said: "Use get_time"\./)
  }
  t.match(textOf(ask('<p>Hello</p>')), /^You said: "<p>Hello/)
  t.match(textOf(ask('--- Hello')), /^You said: "--- Hello/)
})

t.test('arguments that a tool does not require are given only where the text says them', async t => {
  const properties = { path: { type: 'string' }, offset: { type: 'integer' }, limit: { type: 'integer' } }
  const read: Tool = { kind: 'function', name: 'read', schema: { type: 'object', properties, required: ['path'] } }
  t.same(argumentsOf(ask('read path=/tmp/note.txt', { tools: [read] })), { path: '/tmp/note.txt' })
  t.same(argumentsOf(ask('read path=a.txt limit=3', { tools: [read] })), { path: 'a.txt', limit: 3 })
})

t.test('where it must call, it calls what is named, else the first', async t => {
  const tools = [WEATHER, TIME]
  const required = { mode: 'required', names: undefined } as const
  t.same(calledBy(ask('How are you?', { tools, choice: required })), ['get_weather'])
  t.same(calledBy(ask('get_time', { tools, choice: required })), ['get_time'])
  t.same(calledBy(ask('How?', { tools, choice: { mode: 'required', names: ['get_time'] } })), ['get_time'])
})

t.test('where it may not call, it does not', async t => {
  t.same(calledBy(ask('get_time', { tools: [TIME], choice: { mode: 'none', names: undefined } })), [])
  t.same(calledBy(ask('get_time', { tools: [TIME, WEATHER], choice: { mode: 'auto', names: ['get_weather'] } })), [])
})

t.test('arguments follow the schema, and take the values that the text gives', async t => {
  const reply = compose(ask('get_weather with city="New York" and days=3.', { tools: [WEATHER] }))
  t.equal(reply.finish, 'calls')
  const [part] = reply.parts
  t.same(JSON.parse(part?.tokens.join('') ?? ''), { city: 'New York', days: 3 })
})

t.test('a value that the schema does not allow is not taken', async t => {
  const [part] = compose(ask('get_weather days=0 city=Rome', { tools: [WEATHER] })).parts
  t.match(JSON.parse(part?.tokens.join('') ?? ''), { city: 'Rome', days: /^[1-9]/ })
})

t.test('a custom tool gets the text', async t => {
  const custom: Tool = { kind: 'custom', name: 'shell', schema: undefined }
  const [part] = compose(ask('shell: ls -l', { tools: [custom] })).parts
  t.equal(part?.tokens.join(''), 'shell: ls -l')
})

t.test('called to read results, it answers with them', async t => {
  const turns: Turn[] = [
    user('get_weather, please'),
    { role: 'assistant', parts: [{ type: 'call', id: 'a', name: 'get_weather', arguments: '{}' }] },
    { role: 'tool', parts: [{ type: 'result', id: 'a', text: '21 degrees' }] },
  ]
  t.match(textOf(ask('', { turns, tools: [WEATHER] })), /^The tool answered: "21 degrees"\./)
  t.same(calledBy(ask('', { turns: [...turns, user('get_weather again')], tools: [WEATHER] })), ['get_weather'])
})

t.test('JSON is an object; a schema is filled', async t => {
  t.match(JSON.parse(textOf(ask('Hi', { format: { type: 'json' } }))), { simulated: true, reply: String })
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  t.match(JSON.parse(textOf(ask('Hi', { format: { type: 'schema', schema } }))), { ok: Boolean })
})

t.test('other seeds say other words', async t => {
  const said = new Set(Array.from({ length: 20 }, (_, seed) => textOf(ask('Hi', { seed: new Seed(seed) }))))
  t.ok(said.size > 1)
})
