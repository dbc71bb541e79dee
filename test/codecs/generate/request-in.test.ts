import t from 'tap'
import type { JsonObject } from '../../../src/core/json.js'
import type { Part, TextRequest } from '../../../src/core/text.js'
import { decode } from './support.js'

const ASK = { role: 'user', parts: [{ text: 'Hi' }] }

function partsOf({ turns }: TextRequest): Part[] {
  return turns.flatMap(({ parts }) => parts)
}

function decodeParts(parts: readonly JsonObject[], role = 'user'): Part[] {
  return partsOf(decode({ contents: [{ role, parts }] }))
}

function config(generationConfig: JsonObject): TextRequest {
  return decode({ contents: [ASK], generationConfig })
}

function whyInvalid(body: JsonObject): string | undefined {
  try {
    decode(body)
  } catch (error) {
    return (error as { details: { param?: string } }).details.param
  }
  return undefined
}

t.test('turns of text', async t => {
  const { turns, stream, streamUsage, left } = decode({
    contents: [ASK, { role: 'model', parts: [{ text: 'Hello.' }] }, { parts: [{ text: 'Bye' }] }],
  })
  t.same(
    turns.map(({ role, parts, at }) => [role, at, parts]),
    [
      ['user', 'contents[0]', [{ type: 'text', text: 'Hi', at: 'contents[0].parts[0]' }]],
      ['assistant', 'contents[1]', [{ type: 'text', text: 'Hello.', at: 'contents[1].parts[0]' }]],
      ['user', 'contents[2]', [{ type: 'text', text: 'Bye', at: 'contents[2].parts[0]' }]],
    ],
  )
  t.same({ stream, streamUsage, left }, { stream: false, streamUsage: true, left: [] })
})

t.test('snake_case is camelCase, everywhere but in what the client made itself', async t => {
  const args = { some_key: { inner_key: 1 } }
  const camel = {
    systemInstruction: { parts: [{ text: 'Be kind.' }] },
    contents: [
      { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
      { role: 'model', parts: [{ functionCall: { name: 'f_g', args }, thoughtSignature: 'c2ln' }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f_g', response: args } }] },
    ],
    generationConfig: { maxOutputTokens: 5, thinkingConfig: { thinkingBudget: 7, includeThoughts: true } },
    tools: [{ functionDeclarations: [{ name: 'f_g', parametersJsonSchema: { properties: { some_key: {} } } }] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f_g'] } },
  }
  const snake = {
    system_instruction: { parts: [{ text: 'Be kind.' }] },
    contents: [
      { role: 'user', parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
      { role: 'model', parts: [{ function_call: { name: 'f_g', args }, thought_signature: 'c2ln' }] },
      { role: 'user', parts: [{ function_response: { name: 'f_g', response: args } }] },
    ],
    generation_config: { max_output_tokens: 5, thinking_config: { thinking_budget: 7, include_thoughts: true } },
    tools: [{ function_declarations: [{ name: 'f_g', parameters_json_schema: { properties: { some_key: {} } } }] }],
    tool_config: { function_calling_config: { mode: 'ANY', allowed_function_names: ['f_g'] } },
  }
  t.same(decode(snake), decode(camel))
  t.match(JSON.stringify(decode(snake)), /some_key.*inner_key.*some_key/)
})

t.test('instructions are texts, or one string', async t => {
  const systemInstruction = { role: 'system', parts: [{ text: 'One.' }, { text: 'Two.' }] }
  t.same(
    decode({ contents: [ASK], systemInstruction }).system.map(({ text }) => text),
    ['One.', 'Two.'],
  )
  t.same(
    decode({ contents: [ASK], systemInstruction: 'One.' }).system.map(({ text }) => text),
    ['One.'],
  )
})

t.test('one object stands for a list of one', async t => {
  t.same(decode({ contents: { parts: { text: 'Hi' } } }).turns.length, 1)
})

t.test('media: bytes, addresses, and files that the upstream alone has', async t => {
  const media = decodeParts([
    { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
    { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } },
    { fileData: { fileUri: 'https://example.com/v1beta/files/abc-1' } },
    { fileData: { mimeType: 'video/mp4', fileUri: 'gs://bucket/a.mp4' } },
    { fileData: { fileUri: 'https://example.com/a.mp3?x=1' } },
  ])
  t.match(media, [
    { kind: 'audio', mime: 'audio/wav', source: { base64: 'AAAA' } },
    { kind: 'image', source: { url: 'https://example.com/a.png' } },
    { kind: 'document', source: { file: 'https://example.com/v1beta/files/abc-1', of: 'generate' } },
    { kind: 'video', source: { file: 'gs://bucket/a.mp4', of: 'generate' } },
    { kind: 'audio', source: { url: 'https://example.com/a.mp3?x=1' } },
  ])
})

t.test('base64 in the URL-safe alphabet becomes the usual one', async t => {
  t.match(decodeParts([{ inlineData: { mimeType: 'image/png', data: '-_-_-w' } }]), [
    { source: { base64: '+/+/+w==' } },
  ])
})

t.test('the resolution of media is the detail of images', async t => {
  const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
  const own = { ...image, mediaResolution: { level: 'MEDIA_RESOLUTION_HIGH' } }
  const contents = [{ parts: [image, own, { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } }] }]
  const parts = partsOf(decode({ contents, generationConfig: { mediaResolution: 'MEDIA_RESOLUTION_LOW' } }))
  t.same(
    parts.map(part => (part.type === 'media' ? part.detail : undefined)),
    ['low', 'high', undefined],
  )
})

t.test('thoughts and signatures stay where they are', async t => {
  t.match(
    decodeParts(
      [
        { text: 'Hm.', thought: true },
        { text: 'Yes.', thoughtSignature: 'YQ==' },
        { text: '', thoughtSignature: 'Yg==' },
        { functionCall: { name: 'f' }, thoughtSignature: 'Yw==' },
        { thoughtSignature: 'ZA==' },
      ],
      'model',
    ),
    [
      { type: 'reasoning', text: 'Hm.', summary: true },
      { type: 'text', text: 'Yes.', seal: { by: 'generate', value: 'YQ==' } },
      { type: 'text', text: '', seal: { by: 'generate', value: 'Yg==' } },
      { type: 'call', arguments: '{}', seal: { by: 'generate', value: 'Yw==' } },
      { type: 'text', text: '', seal: { by: 'generate', value: 'ZA==' } },
    ],
  )
})

t.test('calls without ids get one, and their results find it by the name', async t => {
  const call = (name: string): JsonObject => ({ functionCall: { name, args: {} } })
  const result = (name: string, id?: string): JsonObject => ({
    functionResponse: { name, response: { output: name }, ...(id !== undefined && { id }) },
  })
  const parts = partsOf(
    decode({
      contents: [
        { role: 'model', parts: [call('a'), call('b'), call('a')] },
        { role: 'tool', parts: [result('b'), result('a', 'unknown'), result('a')] },
        { role: 'model', parts: [call('a'), { functionCall: { name: 'c', id: 'mine' } }] },
        { role: 'function', parts: [result('c', 'mine'), result('a')] },
      ],
    }),
  ) as { type: string; id: string }[]
  const [calls, results] = [parts.filter(({ type }) => type === 'call'), parts.filter(({ type }) => type === 'result')]
  t.same(
    results.map(({ id }) => calls.findIndex(each => each.id === id)),
    [1, 0, 2, 4, 3],
  )
  t.equal(new Set(calls.map(({ id }) => id)).size, 5)
  t.equal(calls.filter(({ id }) => id.startsWith('gwcall_')).length, 4)
})

t.test('results without ids find calls that have one', async t => {
  const call = (id?: string): JsonObject => ({ functionCall: { name: 'f', ...(id !== undefined && { id }) } })
  const result = (id?: string): JsonObject => ({ functionResponse: { name: 'f', ...(id !== undefined && { id }) } })
  const resultsOf = (...parts: readonly [calls: JsonObject[], results: JsonObject[]][]): readonly string[] => {
    const contents = parts.flatMap(([calls, results]) => [
      { role: 'model', parts: calls },
      { role: 'user', parts: results },
    ])
    return partsOf(decode({ contents })).flatMap(part => (part.type === 'result' ? [part.id] : []))
  }
  t.same(resultsOf([[call('1')], [result()]], [[call('2')], [result()]]), ['1', '2'], 'turn after turn')
  t.same(
    resultsOf([
      [call('1'), call('2')],
      [result(), result()],
    ]),
    ['1', '2'],
    'in the order of the calls',
  )
  t.same(
    resultsOf([
      [call('1'), call('2'), call()],
      [result('1'), result(), result()],
    ]),
    ['1', '2', 'gwcall_0'],
    'a call that is answered by its id is answered',
  )
  t.same(resultsOf([[call('1')], [result('other')]]), ['1'], 'an id that no call has does not count')
  t.same(resultsOf([[call('1')], [result(), result()]]), ['1', 'gwcall_0'], 'a call has one result')
})

t.test('what a tool answered: one text, an error, or an object', async t => {
  const answers = [{ output: 'Rain.' }, { result: 'Sun.' }, { error: 'Broken.' }, { city: 'Bonn', days: 1 }, {}]
  const parts = decodeParts(answers.map(response => ({ functionResponse: { name: 'f', response } })))
  t.match(parts, [
    { parts: [{ type: 'text', text: 'Rain.' }], object: undefined, error: undefined },
    { parts: [{ type: 'text', text: 'Sun.' }] },
    { parts: [{ type: 'text', text: 'Broken.' }], error: true },
    { parts: [{ type: 'text', text: '{"city":"Bonn","days":1}' }], object: { city: 'Bonn', days: 1 } },
    { parts: [] },
  ])
})

t.test('media in results', async t => {
  const functionResponse = {
    name: 'f',
    response: { output: 'A map.' },
    parts: [{ inline_data: { mime_type: 'image/png', data: 'AAAA' } }],
  }
  t.match(decodeParts([{ functionResponse }]), [{ parts: [{ type: 'text' }, { type: 'media', kind: 'image' }] }])
})

t.test('parts that this protocol alone knows stay whole', async t => {
  const executableCode = { language: 'PYTHON', code: '1' }
  t.match(decodeParts([{ executable_code: executableCode, thoughtSignature: 'YQ==' }], 'model'), [
    { type: 'hosted', of: 'generate', value: { executableCode }, seal: { value: 'YQ==' } },
  ])
})

t.test('functions, in either dialect of schema', async t => {
  const { tools } = decode({
    contents: [ASK],
    tools: [
      {
        functionDeclarations: [
          { name: 'a', description: 'A', parameters: { type: 'OBJECT', properties: { x: { type: 'STRING' } } } },
          { name: 'b', parametersJsonSchema: { type: 'object', $defs: {} } },
          { name: 'c' },
        ],
      },
    ],
  })
  t.match(tools, [
    {
      type: 'function',
      name: 'a',
      description: 'A',
      schema: { type: 'object', properties: { x: { type: 'string' } } },
    },
    { name: 'b', schema: { type: 'object', $defs: {} }, at: 'tools[0].functionDeclarations[1]' },
    { name: 'c', schema: undefined },
  ])
})

t.test('tools that run at the upstream', async t => {
  const { tools } = decode({
    contents: [ASK],
    tools: [{ googleSearch: {} }, { code_execution: {}, urlContext: {} }, { fileSearch: { topK: 3 } }],
  })
  t.same(
    tools.map(tool => (tool.type === 'hosted' ? [tool.kind, tool.name, tool.value, tool.at] : undefined)),
    [
      ['web_search', 'googleSearch', { googleSearch: {} }, 'tools[0].googleSearch'],
      ['code_execution', 'codeExecution', { codeExecution: {} }, 'tools[1].codeExecution'],
      ['web_fetch', 'urlContext', { urlContext: {} }, 'tools[1].urlContext'],
      ['other', 'fileSearch', { fileSearch: { topK: 3 } }, 'tools[2].fileSearch'],
    ],
  )
})

t.test('which tool to call', async t => {
  const choice = (functionCallingConfig: JsonObject): unknown =>
    decode({ contents: [ASK], toolConfig: { functionCallingConfig } }).toolChoice
  t.same(choice({ mode: 'AUTO' }), { type: 'auto' })
  t.same(choice({ mode: 'none' }), { type: 'none' })
  t.same(choice({ mode: 'ANY' }), { type: 'required' })
  t.same(choice({ mode: 'VALIDATED' }), { type: 'auto' })
  t.same(choice({ mode: 'ANY', allowedFunctionNames: ['a'] }), { type: 'tool', name: 'a' })
  t.same(choice({ mode: 'ANY', allowedFunctionNames: ['a', 'b'] }), {
    type: 'subset',
    mode: 'required',
    names: ['a', 'b'],
  })
  t.same(choice({ mode: 'VALIDATED', allowedFunctionNames: ['a'] }), { type: 'subset', mode: 'auto', names: ['a'] })
  t.equal(choice({}), undefined)
})

t.test('sampling and limits', async t => {
  t.match(
    config({
      ...{ temperature: 0, topP: 0.5, topK: 40, candidateCount: 2, maxOutputTokens: 9, stopSequences: ['END'] },
      ...{ seed: -7, presencePenalty: 1, frequencyPenalty: -1, responseLogprobs: true, logprobs: 3 },
    }),
    {
      ...{ temperature: 0, topP: 0.5, topK: 40, candidates: 2, maxTokens: 9, stop: ['END'], seed: -7 },
      ...{ presencePenalty: 1, frequencyPenalty: -1, logprobs: 3 },
    },
  )
})

t.test('the form of the answer', async t => {
  const json = 'application/json'
  const native = { type: 'OBJECT', properties: { a: { type: 'INTEGER', nullable: true } } }
  const schema = { type: 'object', properties: { a: { type: ['integer', 'null'] } } }
  t.same(config({ responseMimeType: json }).format, { type: 'json' })
  t.same(config({ responseMimeType: json, responseSchema: native }).format, { type: 'schema', schema })
  t.same(config({ responseMimeType: json, responseJsonSchema: schema }).format, { type: 'schema', schema })
  t.same(config({ responseFormat: { text: { mimeType: 'APPLICATION_JSON', schema } } }).format, {
    type: 'schema',
    schema,
  })
  t.equal(config({ responseMimeType: 'text/plain' }).format, undefined)
  t.match(config({ responseMimeType: 'text/x.enum', responseSchema: { enum: ['a'] } }), {
    format: undefined,
    left: [{ field: 'generationConfig.responseMimeType' }],
  })
})

t.test('thinking', async t => {
  const thinking = (thinkingConfig: JsonObject): unknown => config({ thinkingConfig }).reasoning
  t.same(thinking({ thinkingBudget: -1 }), { budget: -1 })
  t.same(thinking({ thinkingBudget: 0, includeThoughts: false }), { budget: 0, show: 'none' })
  t.same(thinking({ thinkingLevel: 'HIGH', includeThoughts: true }), { effort: 'high', show: 'auto' })
  t.same(thinking({ thinkingLevel: 'minimal' }), { effort: 'minimal' })
  t.equal(thinking({}), undefined)
})

t.test('output other than text', async t => {
  const speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } }
  t.match(config({ responseModalities: ['TEXT', 'Image'], speechConfig }), {
    modalities: ['text', 'image'],
    audio: { voice: 'Kore' },
  })
  t.equal(config({ responseModalities: ['TEXT'] }).modalities, undefined)
})

t.test('what no field holds is named, with its reason', async t => {
  const { left } = decode({
    contents: [{ parts: [{ fileData: { fileUri: 'https://example.com/a.mp4' }, videoMetadata: { fps: 1 } }] }],
    safetySettings: [{ category: 'X', threshold: 'OFF' }],
    labels: { a: 'b' },
    generation_config: { image_config: { aspect_ratio: '1:1' }, no_such: 1 },
    nonsense: true,
    empty: [],
  })
  t.same(left.map(({ field }) => field).sort(), [
    ...['contents[0].parts[0].videoMetadata', 'generationConfig.imageConfig'],
    ...['generationConfig.noSuch', 'labels', 'nonsense', 'safetySettings'],
  ])
  t.ok(left.every(({ why }) => why.length > 5))
})

t.test('tier and store', async t => {
  t.match(decode({ contents: [ASK], serviceTier: 'PRIORITY', store: false }), { serviceTier: 'priority', store: false })
})

t.test('errors name the member at fault', async t => {
  t.equal(whyInvalid({}), 'contents')
  t.equal(whyInvalid({ contents: 'Hi' }), 'contents')
  t.equal(whyInvalid({ contents: [{ role: 'system', parts: [{ text: 'x' }] }] }), 'contents[0].role')
  t.equal(whyInvalid({ contents: [{ parts: [{ text: 1 }] }] }), 'contents[0].parts[0].text')
  t.equal(
    whyInvalid({ contents: [{ role: 'model', parts: [{ functionCall: {} }] }] }),
    'contents[0].parts[0].functionCall.name',
  )
  t.equal(
    whyInvalid({ contents: [{ role: 'user', parts: [{ functionCall: { name: 'f' } }] }] }),
    'contents[0].parts[0].functionCall',
  )
  t.equal(
    whyInvalid({ contents: [ASK], generation_config: { max_output_tokens: 'x' } }),
    'generationConfig.maxOutputTokens',
  )
  t.equal(
    whyInvalid({ contents: [ASK], generationConfig: { thinkingConfig: { thinkingLevel: 'LOTS' } } }),
    'generationConfig.thinkingConfig.thinkingLevel',
  )
})

t.test('values that are nested without end are an error, not a crash', async t => {
  const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`) as JsonObject
  t.equal(
    whyInvalid({ contents: [{ role: 'model', parts: [{ functionCall: { name: 'f', args: deep } }] }] }),
    'contents[0].parts[0]',
  )
  t.equal(whyInvalid({ contents: [ASK], tools: [{ googleSearch: deep }] }), 'tools[0]')
  t.equal(whyInvalid({ contents: [ASK], generationConfig: { responseSchema: deep } }), 'generationConfig')
})

t.test('names with many underscores take no longer than others', async t => {
  const name = '_'.repeat(200_000)
  t.same(
    decode({ contents: [ASK], [name]: 1 }).left.map(({ field }) => field.length),
    [200_000],
  )
})
