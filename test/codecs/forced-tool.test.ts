import t from 'tap'
import { fold, unfold } from '../../src/codecs/fold.js'
import { forceTool, UnforceStream, unforceResult } from '../../src/codecs/forced-tool.js'
import type { Format, FunctionTool, Part, TextEvent, TextRequest, TextResult } from '../../src/core/text.js'
import { faultsOf, requestOf } from './support.js'

const FORCED_TOOL = 'gateway_json_answer'

const SCHEMA: Format = { type: 'schema', schema: { type: 'object', properties: {} }, name: 'answer', strict: true }
const WEATHER: FunctionTool = { type: 'function', name: 'weather' }

/** What goes out, where nothing may be lost. */
function forceWhole(request: TextRequest): TextRequest {
  return forceTool(request, {
    lose: field => {
      throw new Error(`${field} is lost`)
    },
  })
}

t.test('the answer is a function that has to be called', async t => {
  const { format, tools, toolChoice } = forceWhole(requestOf({ format: SCHEMA }))
  t.equal(format, undefined)
  t.match(tools, [{ type: 'function', name: FORCED_TOOL, schema: { type: 'object' }, strict: true }])
  t.same(toolChoice, { type: 'tool', name: FORCED_TOOL })
  t.match(forceWhole(requestOf({ format: { type: 'json' } })).tools, [{ schema: { type: 'object' } }])
})

t.test('a request without a format is the same', async t => {
  const request = requestOf({ tools: [WEATHER] })
  t.equal(forceWhole(request), request)
})

t.test('beside tools of the client it is one of them, and some tool has to be called', async t => {
  const force = (toolChoice?: 'auto' | 'none'): unknown =>
    forceWhole(requestOf({ format: SCHEMA, tools: [WEATHER], ...(toolChoice && { toolChoice: { type: toolChoice } }) }))
      .toolChoice
  t.same(force(), { type: 'required' })
  t.same(force('auto'), { type: 'required' })
  t.same(force('none'), { type: 'tool', name: FORCED_TOOL })
  const subset = { type: 'subset', mode: 'auto', names: ['weather'] } as const
  t.same(forceWhole(requestOf({ format: SCHEMA, tools: [WEATHER], toolChoice: subset })).toolChoice, {
    ...{ type: 'subset', mode: 'required', names: ['weather', FORCED_TOOL] },
  })
})

t.test('a call that the client itself demands goes before, and the form of the answer is lost aloud', async t => {
  for (const [format, field] of [
    [SCHEMA, 'formatSchema'],
    [{ type: 'json' }, 'formatJson'],
  ] as const) {
    const lost: unknown[] = []
    const sent = forceTool(requestOf({ format, tools: [WEATHER], toolChoice: { type: 'required' } }), {
      lose: (...loss) => lost.push(loss),
    })
    t.same([sent.tools, sent.toolChoice, sent.format], [[WEATHER], { type: 'required' }, undefined])
    t.match(lost, [[field, undefined, /requires another call/]])
  }
})

t.test('an answer that cannot be arguments is refused', async t => {
  const format: Format = { type: 'schema', schema: { type: 'array' } }
  t.throws(() => forceWhole(requestOf({ format })), { code: 'untranslatable' })
})

const forced = (text: string): Part => ({ type: 'call', id: 'c1', name: FORCED_TOOL, arguments: text })
const other: Part = { type: 'call', id: 'c2', name: 'weather', arguments: '{}' }
const text = (text: string): Part => ({ type: 'text', text })
const thought: Part = { type: 'reasoning', text: 'Hm.' }

function resultOf(parts: readonly Part[], reason: 'tool' | 'length' | 'stop' = 'tool'): TextResult {
  return { id: 'a', model: 'b', candidates: [{ parts, end: { reason } }], usage: { input: 1, output: 2 } }
}

const CASES: Readonly<Record<string, readonly [readonly Part[], readonly Part[], string]>> = {
  alone: [[forced('{"a":1}')], [text('{"a":1}')], 'stop'],
  'with empty arguments': [[forced('')], [text('{}')], 'stop'],
  'with words around it': [
    [thought, text('Here:'), forced('{"a":1}'), text('Done.')],
    [thought, text('{"a":1}')],
    'stop',
  ],
  twice: [[forced('{"a":1}'), forced('{"a":2}')], [text('{"a":1}')], 'stop'],
  'beside a call of the client’s': [[forced('{"a":1}'), other], [text('{"a":1}'), other], 'tool'],
  'not at all, but another call': [[text('I look.'), other], [text('I look.'), other], 'tool'],
  'not at all': [[text('[1, 2]')], [text('[1, 2]')], 'stop'],
}

for (const [name, [sent, expected, reason]] of Object.entries(CASES)) {
  const result = resultOf(sent, name === 'not at all' ? 'stop' : 'tool')
  t.test(`the forced tool is called ${name}`, async t => {
    t.same(unforceResult(result), { ...result, candidates: [{ parts: expected, end: { reason } }] })
  })

  t.test(`in a stream the forced tool is called ${name}`, async t => {
    const stream = new UnforceStream()
    const events = unfold(result).flatMap(event => [...stream.push(event)])
    t.same(faultsOf(events), [])
    t.same(fold(events).candidates, [{ parts: expected, end: { reason } }])
  })
}

t.test('prose in place of the call is an error, and a refusal is not one', async t => {
  const prose = resultOf([thought, text('No.')], 'stop')
  t.throws(() => unforceResult(prose), { code: 'bad_upstream_response' })
  const stream = new UnforceStream()
  const events = unfold(prose).flatMap(event => [...stream.push(event)])
  t.equal(events.at(-1)?.type, 'error')
  t.notOk(JSON.stringify(events).includes('No.'), 'nothing of it is shown')
  const refusal = resultOf([{ type: 'refusal', text: 'No.' }], 'stop')
  t.same(unforceResult(refusal), refusal)
})

t.test('an answer that was cut off says so', async t => {
  t.match(unforceResult(resultOf([forced('{"a":')], 'length')).candidates, [
    { parts: [text('{"a":')], end: { reason: 'length' } },
  ])
})

t.test('pieces of the forced call are reported when they come', async t => {
  const stream = new UnforceStream()
  const call: TextEvent = { type: 'part-start', candidate: 0, index: 0, part: forced('') }
  t.match(stream.push(call), [{ type: 'part-start', index: 0, part: { type: 'text', text: '' } }])
  t.match(stream.push({ type: 'part-delta', candidate: 0, index: 0, text: '{"a"' }), [
    { type: 'part-delta', text: '{"a"' },
  ])
})
