import t from 'tap'
import type { Traits } from '../../../src/core/codec.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { CallPart, Part, ReasoningWish, ResultPart, TextRequest, Turn } from '../../../src/core/text.js'
import { encode } from './support.js'

function user(...parts: Part[]): Turn {
  return { role: 'user', parts }
}

function model(...parts: Part[]): Turn {
  return { role: 'assistant', parts }
}

const ASK = user({ type: 'text', text: 'Hi' })

function call(id: string, more: Partial<CallPart> = {}): CallPart {
  return { type: 'call', id, name: 'f', arguments: '{"a":1}', ...more }
}

function result(id: string, text: string, more: Partial<ResultPart> = {}): ResultPart {
  return { type: 'result', id, parts: [{ type: 'text', text }], ...more }
}

function contents(turns: readonly Turn[], traits: Traits = {}): JsonObject[] {
  return encode({ turns }, traits).body.contents as unknown as JsonObject[]
}

function config(members: Partial<TextRequest>, traits: Traits = {}): unknown {
  return encode(members, traits).body.generationConfig
}

t.test('turns take turns', async t => {
  t.same(contents([ASK, ASK, model({ type: 'text', text: 'Hello.' }), ASK]), [
    { role: 'user', parts: [{ text: 'Hi' }, { text: 'Hi' }] },
    { role: 'model', parts: [{ text: 'Hello.' }] },
    { role: 'user', parts: [{ text: 'Hi' }] },
  ])
})

t.test('the user begins', async t => {
  t.match(contents([model({ type: 'text', text: 'Hello.' }), ASK]), [
    { role: 'user' },
    { role: 'model' },
    { role: 'user' },
  ])
  t.match(contents([]), [{ role: 'user', parts: [{ text: ' ' }] }])
})

t.test('instructions come before the first turn, wherever they came', async t => {
  const { body } = encode({
    system: [{ type: 'text', text: 'One.' }],
    turns: [ASK, { role: 'system', parts: [{ type: 'text', text: 'Two.' }] }],
  })
  t.same(body, {
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    systemInstruction: { parts: [{ text: 'One.' }, { text: 'Two.' }] },
  })
})

t.test('results come first, together, with the name of their call', async t => {
  const turns = [
    ASK,
    model(call('1'), call('2', { name: 'g' })),
    user(result('2', 'b')),
    user({ type: 'text', text: 'Well?' }, result('1', 'a')),
  ]
  t.same(contents(turns, { reasoning: 'budget' }).slice(1), [
    {
      role: 'model',
      parts: [
        { functionCall: { name: 'f', args: { a: 1 }, id: '1' } },
        { functionCall: { name: 'g', args: { a: 1 }, id: '2' } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'g', response: { output: 'b' }, id: '2' } },
        { functionResponse: { name: 'f', response: { output: 'a' }, id: '1' } },
        { text: 'Well?' },
      ],
    },
  ])
})

t.test('made-up ids are left out', async t => {
  const parts = JSON.stringify(contents([ASK, model(call('gwcall_x_0')), user(result('gwcall_x_0', 'a'))]))
  t.notMatch(parts, /"id"/)
})

t.test('what a tool answered is an object', async t => {
  const responses = (results: readonly Partial<ResultPart>[]): unknown[] =>
    results.map(more => {
      const [, , turn] = contents([ASK, model(call('1')), user(result('1', '', more))])
      const [part] = (turn?.parts ?? []) as unknown as { functionResponse: { response: unknown } }[]
      return part?.functionResponse.response
    })
  t.same(
    responses([
      { parts: [{ type: 'text', text: 'Rain.' }] },
      { parts: [{ type: 'text', text: '{"city":"Bonn"}' }] },
      { parts: [{ type: 'text', text: '{"output":"x"}' }] },
      { parts: [{ type: 'text', text: '{"broken' }] },
      { parts: [{ type: 'text', text: 'No.' }], error: true },
      { object: { a: [1] } },
      { parts: [] },
    ]),
    [
      ...[{ output: 'Rain.' }, { city: 'Bonn' }, { output: '{"output":"x"}' }, { output: '{"broken' }],
      ...[{ error: 'No.' }, { a: [1] }, { output: '' }],
    ],
  )
})

t.test('a result without its call is an error', async t => {
  t.throws(() => contents([ASK, user(result('9', 'a', { at: 'messages[1]' }))]), {
    code: 'invalid_parameter',
    details: { param: 'messages[1]' },
  } as unknown as Error)
})

t.test('arguments that are not objects go along as text', async t => {
  const args = (text: string): unknown =>
    JSON.parse(JSON.stringify(contents([ASK, model(call('1', { arguments: text }))])))[1].parts[0].functionCall.args
  t.same([args(''), args('{"a":'), args('[1]')], [{}, { _raw: '{"a":' }, { _raw: '[1]' }])
})

t.test('signatures go back on the part that had them; those of others do not', async t => {
  const own = { by: 'generate', value: 'YQ==' }
  const turns = [
    ASK,
    model(
      { type: 'reasoning', text: 'Hm.', seal: { by: 'messages', value: 'x' } },
      { type: 'reasoning', text: '', seal: { by: 'messages', value: 'x' }, at: 'messages[1].content[1]' },
      { type: 'text', text: '', seal: own },
      call('1', { seal: own }),
      call('2'),
    ),
  ]
  const { body, lost } = encode({ turns })
  t.same((body.contents as unknown as JsonObject[])[1]?.parts, [
    { text: 'Hm.', thought: true },
    { text: '', thoughtSignature: 'YQ==' },
    { functionCall: { name: 'f', args: { a: 1 }, id: '1' }, thoughtSignature: 'YQ==' },
    { functionCall: { name: 'f', args: { a: 1 }, id: '2' } },
  ])
  t.same(lost, ['reasoningParts messages[1].content[1]'])
})

t.test('the first call of a turn that no one signed says that there is nothing to check', async t => {
  const turns = [ASK, model(call('1'), call('2')), user(result('1', 'a'), result('2', 'b')), model(call('3'))]
  const signatures = (traits: Traits): unknown[] =>
    contents(turns, traits).flatMap(({ parts }) =>
      (parts as unknown as JsonObject[]).map(part => part.thoughtSignature),
    )
  const skip = 'skip_thought_signature_validator'
  t.same(signatures({}), [undefined, skip, undefined, undefined, undefined, skip])
  t.same(signatures({ reasoning: 'level' }), signatures({}))
  t.same(new Set(signatures({ reasoning: 'budget' })), new Set([undefined]))
  t.same(new Set(signatures({ reasoning: 'none' })), new Set([undefined]))
})

t.test('media', async t => {
  const parts: Part[] = [
    { type: 'media', kind: 'image', source: { base64: 'iVBORw0KGgoAAA' } },
    { type: 'media', kind: 'audio', source: { base64: 'UklGRgAA' } },
    { type: 'media', kind: 'document', mime: 'application/pdf', source: { base64: 'JVBERi0' }, name: 'a.pdf' },
    { type: 'media', kind: 'document', source: { text: 'é' } },
    { type: 'media', kind: 'video', mime: 'video/mp4', source: { url: 'https://example.com/a.mp4' } },
    { type: 'media', kind: 'image', source: { file: 'files/1', of: 'generate' } },
  ]
  t.same(contents([user(...parts)])[0]?.parts, [
    { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgoAAA' } },
    { inlineData: { mimeType: 'audio/wav', data: 'UklGRgAA' } },
    { text: 'a.pdf' },
    { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0' } },
    { inlineData: { mimeType: 'text/plain', data: 'w6k=' } },
    { fileData: { fileUri: 'https://example.com/a.mp4', mimeType: 'video/mp4' } },
    { fileData: { fileUri: 'files/1' } },
  ])
  t.throws(() => contents([user({ type: 'media', kind: 'image', source: { file: 'file-1', of: 'chat' } })]), /fileId/)
})

t.test('one resolution for all images: the highest that was asked for', async t => {
  const image = (detail?: string): Part => ({
    type: 'media',
    kind: 'image',
    mime: 'image/png',
    source: { base64: 'AAAA' },
    ...(detail !== undefined && { detail }),
  })
  const resolution = (...details: (string | undefined)[]): unknown => config({ turns: [user(...details.map(image))] })
  t.same(resolution('low', 'low'), { mediaResolution: 'MEDIA_RESOLUTION_LOW' })
  t.same(resolution('low', 'high'), { mediaResolution: 'MEDIA_RESOLUTION_HIGH' })
  t.equal(resolution('low', 'auto'), undefined)
  t.equal(resolution(undefined), undefined)
})

t.test('media in results are placed where the model looks at them', async t => {
  const image: Part = { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'AAAA' } }
  const turns = [
    ASK,
    model(call('1')),
    user(result('1', 'A map.', { parts: [{ type: 'text', text: 'A map.' }, image] })),
  ]
  const inlineData = { mimeType: 'image/png', data: 'AAAA' }
  t.match(contents(turns)[2]?.parts, [{ functionResponse: { parts: undefined } }, { inlineData }])
  t.match(contents(turns, { reasoning: 'level' })[2]?.parts, [{ functionResponse: { parts: [{ inlineData }] } }])
})

t.test('names that the protocol does not take are rewritten', async t => {
  const { body } = encode({
    tools: [{ type: 'function', name: '7 up' }],
    turns: [ASK, model(call('1', { name: '7 up' })), user(result('1', 'a'))],
    toolChoice: { type: 'tool', name: '7 up' },
  })
  const names = [...JSON.stringify(body).matchAll(/gw__[A-Za-z0-9_:.-]+/g)].map(([name]) => name)
  t.same(new Set(names), new Set(['gw__7_x20_up']))
  t.equal(names.length, 4)
})

t.test('functions: schemas as JSON Schema, and none where there are no arguments', async t => {
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: {} } }
  const { body } = encode({
    tools: [
      { type: 'function', name: 'a', description: 'A', schema },
      { type: 'function', name: 'b', schema: { type: 'object', properties: {}, additionalProperties: false } },
      { type: 'function', name: 'c', schema: { type: 'object', additionalProperties: true } },
    ],
  })
  t.same(body.tools, [
    {
      functionDeclarations: [
        { name: 'a', description: 'A', parametersJsonSchema: schema },
        { name: 'b' },
        { name: 'c', parametersJsonSchema: { type: 'object', additionalProperties: true } },
      ],
    },
  ])
})

t.test('tools that take free text are functions with one text', async t => {
  const { body } = encode({
    tools: [{ type: 'custom', name: 'shell' }],
    toolChoice: { type: 'tool', name: 'shell' },
    turns: [ASK, model({ type: 'call', id: '1', name: 'shell', arguments: 'ls -l', custom: true })],
  })
  t.match(body, {
    tools: [{ functionDeclarations: [{ name: 'gwc__shell', parametersJsonSchema: { required: ['input'] } }] }],
    toolConfig: { functionCallingConfig: { allowedFunctionNames: ['gwc__shell'] } },
    contents: [{}, { parts: [{ functionCall: { name: 'gwc__shell', args: { input: 'ls -l' } } }] }],
  })
})

t.test('tools that run at the upstream', async t => {
  const of = 'messages'
  const { body, lost } = encode({
    tools: [
      { type: 'hosted', kind: 'web_search', name: 'web_search_20250305', of, value: {}, at: 'tools[0]' },
      { type: 'hosted', kind: 'other', name: 'fileSearch', of: 'generate', value: { fileSearch: { topK: 1 } } },
    ],
  })
  t.same(body.tools, [{ googleSearch: {} }, { fileSearch: { topK: 1 } }])
  t.same(lost, [])
  const memory = { type: 'hosted', kind: 'other', name: 'memory', of, value: {}, at: 'tools[1]' } as const
  t.equal(encode({ tools: [memory] }).body.tools, undefined)
})

t.test('which tool to call', async t => {
  const tools: TextRequest['tools'] = [{ type: 'function', name: 'a' }]
  const calling = (members: Partial<TextRequest>): unknown =>
    (encode({ tools, ...members }).body.toolConfig as { functionCallingConfig?: unknown } | undefined)
      ?.functionCallingConfig
  t.equal(calling({}), undefined)
  t.same(calling({ toolChoice: { type: 'auto' } }), { mode: 'AUTO' })
  t.same(calling({ toolChoice: { type: 'none' } }), { mode: 'NONE' })
  t.same(calling({ toolChoice: { type: 'required' } }), { mode: 'ANY' })
  t.same(calling({ toolChoice: { type: 'tool', name: 'a' } }), { mode: 'ANY', allowedFunctionNames: ['a'] })
  t.same(calling({ toolChoice: { type: 'subset', mode: 'auto', names: ['a'] } }), {
    mode: 'VALIDATED',
    allowedFunctionNames: ['a'],
  })
  t.same(calling({ tools: [{ type: 'function', name: 'a', strict: true }] }), { mode: 'VALIDATED' })
  t.same(encode({ tools, parallelTools: false }).lost, ['parallelTools'])
  t.same(encode({ toolChoice: { type: 'required' } }).lost, ['toolChoice'])
  t.same(encode({ toolChoice: { type: 'none' } }).lost, [])
})

t.test('sampling and limits', async t => {
  t.same(
    config({
      ...{ maxTokens: 9, temperature: 0, topP: 0.5, topK: 4, stop: ['a'], candidates: 2, seed: 7, logprobs: 0 },
      ...{ presencePenalty: 1, frequencyPenalty: -1 },
    }),
    {
      ...{ maxOutputTokens: 9, temperature: 0, topP: 0.5, topK: 4, presencePenalty: 1, frequencyPenalty: -1, seed: 7 },
      ...{ stopSequences: ['a'], candidateCount: 2, responseLogprobs: true },
    },
  )
  t.equal(config({ candidates: 1 }), undefined)
})

t.test('what goes beyond the protocol is said', async t => {
  const stop = ['1', '2', '3', '4', '5', '6']
  t.match(encode({ stop }), { body: { generationConfig: { stopSequences: stop.slice(0, 5) } }, lost: ['stop'] })
  t.same(encode({ seed: 2 ** 40 }).lost, ['seed'])
  t.same(encode({ temperature: 1, topP: 1, topK: 1 }, { sampling: false }).lost, ['temperature', 'topP', 'topK'])
  const nowhere: Partial<TextRequest> = {
    ...{
      logitBias: {},
      verbosity: 'low',
      user: 'u',
      safetyId: 's',
      metadata: {},
      cacheKey: 'k',
      cacheRetention: '24h',
    },
  }
  t.same(encode(nowhere).lost, Object.keys(nowhere))
  t.same(encode({ turns: [{ ...ASK, name: 'Ann', at: 'messages[0]' }] }).lost, ['participant messages[0].name'])
  t.same(encode({ serviceTier: 'scale' }).lost, ['serviceTier'])
})

t.test('tiers go by the names that the protocol has', async t => {
  const tier = (serviceTier: string): unknown => encode({ serviceTier }).body.serviceTier
  t.same(['auto', 'default', 'standard_only', 'flex', 'priority'].map(tier), [
    undefined,
    'standard',
    'standard',
    'flex',
    'priority',
  ])
})

t.test('structured answers', async t => {
  const schema = { type: 'object', properties: {} }
  t.same(config({ format: { type: 'json' } }), { responseMimeType: 'application/json' })
  t.same(config({ format: { type: 'schema', schema, name: 'x', description: 'A thing' } }), {
    responseMimeType: 'application/json',
    responseJsonSchema: { ...schema, description: 'A thing' },
  })
})

t.test('how much to think, as the model is told it', async t => {
  const thinking = (reasoning: ReasoningWish, traits: Traits = {}): unknown =>
    (config({ reasoning }, traits) as { thinkingConfig?: unknown } | undefined)?.thinkingConfig
  const level: Traits = { reasoning: 'level' }
  const hidden: ReasoningWish = { show: 'none' }
  t.same(thinking({ effort: 'medium', ...hidden }), { thinkingBudget: 8192 })
  t.same(thinking({ effort: 'max', ...hidden }), { thinkingBudget: 24_576 })
  t.same(thinking({ budget: 30_000, show: 'auto' }), { thinkingBudget: 30_000, includeThoughts: true })
  t.same(thinking({ adaptive: true, ...hidden }), { thinkingBudget: -1 })
  t.same(thinking({ effort: 'high', budget: 1024, ...hidden }), { thinkingBudget: 1024 })
  t.same(thinking({ show: 'detailed' }), { includeThoughts: true })
  t.equal(thinking(hidden), undefined)
  t.same(thinking({ effort: 'xhigh', ...hidden }, level), { thinkingLevel: 'HIGH' })
  t.same(thinking({ effort: 'minimal', show: 'auto' }, level), { thinkingLevel: 'MINIMAL', includeThoughts: true })
  t.same(thinking({ budget: 8192, ...hidden }, level), { thinkingLevel: 'MEDIUM' })
  t.equal(thinking({ budget: -1 }, level), undefined)
  t.same(encode({ reasoning: { effort: 'none' } }, level).lost, ['effort'])
  t.same(encode({ reasoning: { effort: 'high', show: 'auto' } }, { reasoning: 'none' }), {
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    lost: ['effort', 'showReasoning'],
  })
  t.same(encode({ reasoning: { effort: 'none' } }, { reasoning: 'none' }).lost, [])
})

t.test('thoughts are shown to who says how much to think, and not that they shall be hidden', async t => {
  const shown = (reasoning: ReasoningWish): unknown =>
    (config({ reasoning }) as { thinkingConfig: JsonObject }).thinkingConfig.includeThoughts
  t.same([shown({ effort: 'low' }), shown({ budget: 2048 }), shown({ adaptive: true })], [true, true, true])
  t.equal(shown({ effort: 'low', show: 'none' }), undefined)
  t.equal(shown({ effort: 'none', show: 'auto' }), undefined)
})

t.test('output other than text', async t => {
  const { body, lost } = encode({ modalities: ['text', 'audio'], audio: { voice: 'Kore', format: 'wav' } })
  t.match(body.generationConfig, {
    responseModalities: ['TEXT', 'AUDIO'],
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
  })
  t.same(lost, ['audioOutput'])
})

t.test('caching marks are named where they stood', async t => {
  const cache = {}
  const { lost } = encode({
    system: [{ type: 'text', text: 'x', cache, at: 'system[0]' }],
    tools: [{ type: 'function', name: 'f', cache, at: 'tools[0]' }],
    turns: [user({ type: 'text', text: 'x', cache, at: 'messages[0].content[0]' })],
  })
  t.same(lost, ['cacheMarks system[0]', 'cacheMarks messages[0].content[0]', 'cacheMarks tools[0]'])
})

t.test('a conversation of many messages takes time in proportion', async t => {
  const turns = Array.from({ length: 100_000 }, () => ASK)
  t.equal((contents(turns)[0]?.parts as unknown as unknown[] | undefined)?.length, 100_000)
})
