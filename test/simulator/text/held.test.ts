import t from 'tap'
import type { JsonObject } from '../../../simulator/src/json.js'
import { Seed } from '../../../simulator/src/seed.js'
import type { Tool } from '../../../simulator/src/text/conversation.js'
import { compose } from '../../../simulator/src/text/engine.js'

function tool(name: string, properties: JsonObject, required = Object.keys(properties), description = ''): Tool {
  return { kind: 'function', name, description, schema: { type: 'object', properties, required } }
}

/** The calls that a prompt leads to, with their arguments. */
function called(text: string, tools: readonly Tool[], mode: 'auto' | 'required' = 'auto'): readonly unknown[] {
  const reply = compose({
    turns: [{ role: 'user', parts: [{ type: 'text', text }] }],
    tools,
    choice: { mode, names: undefined },
    parallel: true,
    format: { type: 'text' },
    limit: undefined,
    stop: [],
    effort: undefined,
    length: undefined,
    seed: new Seed('test'),
  })
  return reply.parts.flatMap(part => (part.type === 'call' ? [[part.tool.name, JSON.parse(part.tokens.join(''))]] : []))
}

const TEXT = { type: 'string' }
const NUMBER = { type: 'number' }
const WEATHER = tool(
  'get_weather',
  { location: TEXT, unit: { type: 'string', enum: ['celsius', 'fahrenheit'] } },
  ['location'],
  'Get the current weather in a given location',
)
const TIME = tool('get_current_time', {}, [], 'The time of day')
const ADD = tool('add', { a: NUMBER, b: NUMBER }, undefined, 'Add two numbers')
const CALCULATE = tool('calculator', { expression: TEXT })
const FETCH = tool('fetch_page', { url: { type: 'string', format: 'uri' } })
const MAIL = tool('send_email', { to: { type: 'string', format: 'email' }, subject: TEXT })
const FLIGHTS = tool('search_flights', { origin: TEXT, destination: TEXT, date: { type: 'string', format: 'date' } })
const SEARCH = tool('web_search', { query: TEXT })
const READ = tool('read_file', { path: TEXT })
const LIGHTS = tool('set_lights', { state: { type: 'string', enum: ['on', 'off'] } })
const STRICT = tool('weather', { city: TEXT, days: { type: ['integer', 'null'] } })
const ALL = [WEATHER, TIME, CALCULATE, FETCH, MAIL, FLIGHTS, SEARCH, READ, LIGHTS]

const FITTING: readonly (readonly [prompt: string, tools: readonly Tool[], call: readonly [string, object]])[] = [
  ["What's the weather in San Francisco?", ALL, ['get_weather', { location: 'San Francisco' }]],
  ['What is the weather like in Paris, France today?', ALL, ['get_weather', { location: 'Paris, France' }]],
  ["what's the weather in tokyo in celsius?", ALL, ['get_weather', { location: 'tokyo', unit: 'celsius' }]],
  ['How is the weather in "New York"?', [WEATHER], ['get_weather', { location: 'New York' }]],
  ['What time is it?', ALL, ['get_current_time', {}]],
  ['What is 17 + 25?', [ADD, WEATHER], ['add', { a: 17, b: 25 }]],
  ['What is (3 + 4) * 12?', ALL, ['calculator', { expression: '(3 + 4) * 12' }]],
  ['Summarise https://example.com/a.html, please.', ALL, ['fetch_page', { url: 'https://example.com/a.html' }]],
  [
    'Send an email to bob@example.com with the subject "Lunch".',
    ALL,
    ['send_email', { to: 'bob@example.com', subject: 'Lunch' }],
  ],
  [
    'Find flights from Paris to Berlin on 2026-03-01.',
    ALL,
    ['search_flights', { origin: 'Paris', destination: 'Berlin', date: '2026-03-01' }],
  ],
  ['Search the web for the tallest mountain of Norway', ALL, ['web_search', { query: 'tallest mountain of Norway' }]],
  ['Read the file notes/todo.md and sum it up', ALL, ['read_file', { path: 'notes/todo.md' }]],
  ['Turn the lights off', ALL, ['set_lights', { state: 'off' }]],
  ['Weather in Oslo?', [STRICT], ['weather', { city: 'Oslo' }]],
]

for (const [prompt, tools, call] of FITTING) {
  t.test(`"${prompt}" calls ${call[0]} without its name`, async t => {
    t.match(called(prompt, tools), [call])
    t.equal(called(prompt, tools).length, 1)
  })
}

const NONE: readonly (readonly [prompt: string, tools: readonly Tool[]])[] = [
  ['Hello!', ALL],
  ['How are you?', ALL],
  ['Tell me a joke about cats.', ALL],
  ['What is the weather?', [WEATHER]],
  ['Who won the World Cup in Qatar in 2022?', [WEATHER, ADD]],
  ['What is 17 + 25?', [ADD, tool('multiply', { a: NUMBER, b: NUMBER })]],
  [`${'A long text. '.repeat(50)} What is the weather in Paris?`, ALL],
]

for (const [prompt, tools] of NONE) {
  t.test(`"${prompt.slice(0, 60)}" calls nothing`, async t => {
    t.same(called(prompt, tools), [])
  })
}

t.test('where one must be called, it is the one that fits, else the first', async t => {
  t.match(called('What is the weather in Rome?', [SEARCH, WEATHER], 'required'), [
    ['get_weather', { location: 'Rome' }],
  ])
  t.match(called('Hello', [TIME, WEATHER], 'required'), [['get_current_time', {}]])
})

t.test('a tool that is named takes what the text holds', async t => {
  t.match(called('Use get_weather for Oslo', [WEATHER]), [['get_weather', { location: 'Oslo' }]])
  t.match(called('get_weather location=Rome, not Oslo', [WEATHER]), [['get_weather', { location: 'Rome' }]])
})
