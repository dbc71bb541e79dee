import t from 'tap'
import { seal } from '../../../simulator/src/seals.js'
import { dataOf, post, type Received, simulator } from '../support.js'

const MODEL = '/v1beta/models/sim-generate'
const WHOLE = `${MODEL}:generateContent`
const STREAM = `${MODEL}:streamGenerateContent?alt=sse`
const WEATHER = {
  name: 'get_weather',
  parameters: { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] },
}
const TIME = { name: 'get_time' }
const QUESTION = { role: 'user', parts: [{ text: 'get_weather city=Oslo' }] }
const THINK = { thinkingConfig: { thinkingLevel: 'low', includeThoughts: true } }

// biome-ignore lint/suspicious/noExplicitAny: parsed answers are looked into freely here
type Json = any

function body(more: object = {}): object {
  return { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], ...more }
}

async function ask(t: Parameters<typeof simulator>[0], more: object): Promise<{ status: number; json: Json }> {
  const answer = await post(await simulator(t), WHOLE, body(more))
  return { status: answer.status, json: JSON.parse(answer.text) }
}

function documentsOf({ text }: Received): readonly Json[] {
  return dataOf(text.replaceAll('\r', '')).map(data => JSON.parse(data))
}

function answered(call: Json, response: object, more: object = {}): readonly object[] {
  return [
    QUESTION,
    { role: 'model', parts: [call] },
    { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response, ...more } }] },
  ]
}

t.test('an answer has one candidate and its usage, thoughts apart', async t => {
  const { json } = await ask(t, { generationConfig: THINK })
  t.match(json, {
    candidates: [
      {
        content: {
          parts: [
            { text: /\S/, thought: true },
            { text: /^You said: "Hello"/, thoughtSignature: /==$/ },
          ],
          role: 'model',
        },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    modelVersion: 'sim-generate',
    responseId: /^\w{22}$/,
  })
  const usage = json.usageMetadata
  t.equal(usage.thoughtsTokenCount, 32)
  t.equal(usage.totalTokenCount, usage.promptTokenCount + usage.candidatesTokenCount + 32)
  t.same(usage.promptTokensDetails, [{ modality: 'TEXT', tokenCount: usage.promptTokenCount }])
})

t.test('thoughts that were not requested are counted and not shown', async t => {
  const { json } = await ask(t, { generationConfig: { thinkingConfig: { thinkingBudget: 1024 } } })
  t.match(json.candidates[0].content.parts, [{ text: /^You said/ }])
  t.equal(json.usageMetadata.thoughtsTokenCount, 32)
  const off = await ask(t, { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } })
  t.notOk('thoughtsTokenCount' in off.json.usageMetadata)
})

t.test('alt=sse: events end with CRLF, each a document of its own, and nothing marks the end', async t => {
  const answer = await post(await simulator(t), STREAM, body())
  t.equal(answer.headers['content-type'], 'text/event-stream')
  t.ok(answer.text.endsWith('\r\n\r\n'))
  t.notMatch(answer.text, /[^\r]\n|event:|\[DONE\]/)
  const documents = documentsOf(answer)
  t.match(documents.at(-1).candidates[0], { content: { parts: [{ text: '' }] }, finishReason: 'STOP' })
  t.same([...new Set(documents.map(({ responseId }) => responseId))].length, 1)
  const counts = documents.map(({ usageMetadata }) => usageMetadata.candidatesTokenCount)
  t.same(
    counts,
    counts.toSorted((a, b) => a - b),
  )
})

t.test('otherwise it is one array, element by element', async t => {
  const answer = await post(await simulator(t), `${MODEL}:streamGenerateContent`, body())
  t.equal(answer.headers['content-type'], 'application/json; charset=UTF-8')
  t.match(answer.text, /^\[\{\n {2}"candidates".*\}\n,\r\n\{.*\}\n\]$/s)
  const events = documentsOf(await post(await simulator(t), STREAM, body()))
  t.same(
    JSON.parse(answer.text).map(({ candidates }: Json) => candidates),
    events.map(({ candidates }) => candidates),
  )
})

t.test('functions are called whole, several at once, and the reason is STOP', async t => {
  const asked = {
    contents: [{ parts: [{ text: 'get_time and get_weather city=Rome' }] }],
    tools: [{ functionDeclarations: [WEATHER] }, { function_declarations: [TIME] }],
  }
  const { json } = await ask(t, asked)
  t.match(json.candidates[0], {
    content: {
      parts: [
        { functionCall: { name: 'get_time' } },
        { functionCall: { name: 'get_weather', args: { city: 'Rome' } } },
      ],
    },
    finishReason: 'STOP',
  })
  t.notOk('id' in json.candidates[0].content.parts[0].functionCall)
  const calls = documentsOf(await post(await simulator(t), STREAM, asked)).flatMap(document =>
    document.candidates[0].content.parts.filter(({ functionCall }: Json) => functionCall),
  )
  t.same(calls, json.candidates[0].content.parts)
})

t.test('call-ids: calls have ids, which responses must name', async t => {
  const upstream = await simulator(t)
  const tools = [{ functionDeclarations: [WEATHER] }]
  const path = `${MODEL}%3Fcall-ids:generateContent`
  const first = JSON.parse((await post(upstream, path, { contents: [QUESTION], tools })).text)
  const [call] = first.candidates[0].content.parts
  t.match(call.functionCall.id, /^\w{16}$/)
  const next = (id: string) => post(upstream, path, { contents: answered(call, { result: '4' }, { id }), tools })
  t.equal((await next(call.functionCall.id)).status, 200)
  t.equal((await next('another')).status, 400)
})

t.test('responses are joined by name, and read', async t => {
  const call = { functionCall: { name: 'get_weather', args: {} } }
  const said = async (response: object) => {
    const { json } = await ask(t, { contents: answered(call, response), tools: [{ functionDeclarations: [WEATHER] }] })
    return json.candidates[0].content.parts[0].text
  }
  t.match(await said({ result: '4 degrees' }), 'The tool answered: "4 degrees".')
  t.match(await said({ error: 'no such city' }), 'The tool failed: "no such city".')
  t.match(await said({ degrees: 4, sky: 'blue' }), 'The tool answered: "{"degrees":4,"sky":"blue"}".')
})

t.test('the first call is signed when the model thinks, and the signature is asked for', async t => {
  const upstream = await simulator(t)
  const turn = { tools: [{ functionDeclarations: [WEATHER, TIME] }], generationConfig: THINK }
  const both = { role: 'user', parts: [{ text: 'get_weather city=Oslo, get_time' }] }
  const first = JSON.parse((await post(upstream, WHOLE, { contents: [both], ...turn })).text)
  const calls = first.candidates[0].content.parts.filter(({ functionCall }: Json) => functionCall)
  t.match(calls[0], { thoughtSignature: /==$/ })
  t.notOk('thoughtSignature' in calls[1])
  const next = async (call: object) => {
    const { status, text } = await post(upstream, WHOLE, { contents: answered(call, { result: '4' }), ...turn })
    return { status, message: JSON.parse(text).error?.message }
  }
  const [{ thoughtSignature: signature, ...bare }] = calls
  t.match(await next(calls[0]), { status: 200 })
  for (const placeholder of ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']) {
    const encoded = Buffer.from(placeholder).toString('base64')
    for (const thoughtSignature of [placeholder, encoded, encoded.replace(/=+$/, '')]) {
      t.match(await next({ ...bare, thoughtSignature }), { status: 200 }, thoughtSignature)
    }
  }
  t.match(await next({ ...bare, thought_signature: signature.replace(/=+$/, '') }), { status: 200 })
  t.match(await next(bare), { status: 400, message: /missing a thought_signature .* function call `get_weather`/ })
  t.match(await next({ ...bare, thoughtSignature: 'Zm9yZWlnbg==' }), { status: 400, message: /not valid/ })
  t.match(await next({ ...bare, thoughtSignature: seal('generate.part', 'call get_time') }), { status: 400 })
  t.match(await next({ ...bare, thoughtSignature: seal('messages.thinking', 'call get_weather') }), { status: 400 })
})

t.test('calls of earlier turns, and those of a model that does not think, need no signature', async t => {
  const call = { functionCall: { name: 'get_weather' } }
  const contents = answered(call, { result: '4' })
  t.equal((await ask(t, { contents })).status, 200)
  const more = [...contents, { role: 'model', parts: [{ text: 'Four.' }] }, { role: 'user', parts: [{ text: 'And?' }] }]
  t.equal((await ask(t, { contents: more, generationConfig: THINK })).status, 200)
})

t.test('the mode decides which functions are called', async t => {
  const names = async (functionCallingConfig: object, text = 'Hello') => {
    const { json } = await ask(t, {
      contents: [{ parts: [{ text }] }],
      tools: [{ functionDeclarations: [WEATHER, TIME] }],
      toolConfig: { functionCallingConfig },
    })
    return json.candidates[0].content.parts.flatMap(({ functionCall }: Json) => functionCall?.name ?? [])
  }
  t.same(await names({ mode: 'AUTO' }), [])
  t.same(await names({ mode: 'ANY' }), ['get_weather'])
  t.same(await names({ mode: 'any', allowedFunctionNames: ['get_time'] }), ['get_time'])
  t.same(await names({ mode: 'NONE' }, 'get_time'), [])
})

t.test('structured output, in either dialect of schemas', async t => {
  const made = async (generationConfig: object) => {
    const { json } = await ask(t, { contents: [{ parts: [{ text: 'name=Ada' }] }], generationConfig })
    return json.candidates[0].content.parts[0].text
  }
  const type = 'application/json'
  const own = { type: 'OBJECT', properties: { name: { type: 'STRING' }, age: { type: 'INTEGER', nullable: true } } }
  t.match(JSON.parse(await made({ responseMimeType: type, responseSchema: own })), { name: 'Ada' })
  const standard = {
    type: 'object',
    properties: { name: { $ref: '#/$defs/name' } },
    $defs: { name: { type: 'string' } },
  }
  t.match(JSON.parse(await made({ response_mime_type: type, response_json_schema: standard })), { name: String })
  t.match(JSON.parse(await made({ responseMimeType: type })), { simulated: true })
  const choice = { type: 'STRING', format: 'enum', enum: ['red'] }
  t.equal(await made({ responseMimeType: 'text/x.enum', responseSchema: choice }), 'red')
})

t.test('images, sounds and documents are acknowledged and counted, whichever names their fields have', async t => {
  const data = Buffer.alloc(3200).toString('base64')
  const { json } = await ask(t, {
    system_instruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      {
        parts: [
          { text: 'What is all this?' },
          { inlineData: { mimeType: 'image/png', data } },
          { inline_data: { mime_type: 'audio/wav', data } },
          { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
          { fileData: { fileUri: 'https://example.com/a.png', mimeType: 'image/png' } },
        ],
      },
    ],
  })
  const { text } = json.candidates[0].content.parts[0]
  t.match(text, 'I see 2 images (image/png, 3200 bytes; image/png).')
  t.match(text, 'I hear 1 audio clip (audio/wav, 3200 bytes).')
  t.match(text, 'I have 1 file (application/pdf, 3 bytes).')
  t.match(json.usageMetadata.promptTokensDetails, [
    { modality: 'TEXT' },
    { modality: 'IMAGE', tokenCount: 170 },
    { modality: 'AUDIO', tokenCount: 3 },
    { modality: 'DOCUMENT', tokenCount: 1 },
  ])
})

t.test('an image beside a response, or in it, belongs to it', async t => {
  const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } }
  const call = { role: 'model', parts: [{ functionCall: { name: 'f' } }] }
  const response = (more: object = {}) => ({ functionResponse: { name: 'f', response: { result: 'x' }, ...more } })
  for (const parts of [[response(), image], [response({ parts: [image] })]]) {
    const { json } = await ask(t, { contents: [QUESTION, call, { role: 'user', parts }] })
    t.match(json.candidates[0].content.parts[0].text, 'The tool answered: "x". I see 1 image (image/png, 3 bytes).')
  }
})

t.test('several candidates, and their turns in a stream', async t => {
  const asked = { generationConfig: { candidateCount: 2 } }
  const { json } = await ask(t, asked)
  t.match(json.candidates, [{ index: 0 }, { index: 1 }])
  const documents = documentsOf(await post(await simulator(t), STREAM, body(asked)))
  const finished = documents.flatMap(({ candidates }) => candidates.filter(({ finishReason }: Json) => finishReason))
  t.equal(finished.length, 2)
})

t.test('limits and stop sequences are obeyed, and thoughts count', async t => {
  t.match((await ask(t, { generationConfig: { maxOutputTokens: 3 } })).json, {
    candidates: [{ finishReason: 'MAX_TOKENS' }],
    usageMetadata: { candidatesTokenCount: 3 },
  })
  const spent = await ask(t, { generationConfig: { maxOutputTokens: 5, ...THINK } })
  t.match(spent.json, { candidates: [{ finishReason: 'MAX_TOKENS' }], usageMetadata: { thoughtsTokenCount: 5 } })
  const stopped = await ask(t, { generationConfig: { stopSequences: ['simulator'] } })
  t.match(stopped.json.candidates[0], { finishReason: 'STOP', content: { parts: [{ text: /I am the $/ }] } })
})

t.test('a prompt that is blocked has no candidates; a refusal has no parts', async t => {
  const blocked = await ask(t, { contents: [{ parts: [{ text: 'simulate_block' }] }] })
  t.match(blocked.json, { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: Number } })
  t.notOk('candidates' in blocked.json)
  const refused = await ask(t, { contents: [{ parts: [{ text: 'simulate_refusal' }] }] })
  t.match(refused.json.candidates, [{ content: { role: 'model' }, finishReason: 'SAFETY' }])
})

t.test('a page that is cited, by places in bytes', async t => {
  const { json } = await ask(t, { contents: [{ parts: [{ text: 'simulate_citation ö' }] }] })
  const [{ content, groundingMetadata }] = json.candidates
  const [{ segment }] = groundingMetadata.groundingSupports
  t.match(groundingMetadata.groundingChunks, [{ web: { uri: /^https:/, title: String } }])
  t.equal(Buffer.from(content.parts[0].text).subarray(0, segment.endIndex).toString(), segment.text)
})

t.test('tokens are counted, of contents or of a whole request', async t => {
  const upstream = await simulator(t)
  const spent = JSON.parse((await post(upstream, WHOLE, body())).text).usageMetadata
  const contents = JSON.parse((await post(upstream, `${MODEL}:countTokens`, body())).text)
  t.match(contents, { totalTokens: spent.promptTokenCount, promptTokensDetails: [{ modality: 'TEXT' }] })
  const generateContentRequest = { model: 'models/sim-generate', ...body() }
  const whole = JSON.parse((await post(upstream, `${MODEL}:countTokens`, { generateContentRequest })).text)
  t.same(whole, contents)
  t.equal((await post(upstream, `${MODEL}:countTokens`, { ...body(), generateContentRequest })).status, 400)
})

t.test('embeddings are those of the other protocol, alone or in a batch', async t => {
  const upstream = await simulator(t)
  const path = '/v1beta/models/sim-embed'
  const content = { parts: [{ text: 'Hello' }] }
  const one = JSON.parse((await post(upstream, `${path}:embedContent`, { content, outputDimensionality: 8 })).text)
  const asked = { model: 'sim-embed', input: 'Hello', dimensions: 8 }
  const other = JSON.parse((await post(upstream, '/v1/embeddings', asked)).text)
  t.same(one.embedding.values, other.data[0].embedding)
  const request = { model: 'models/sim-embed', content, outputDimensionality: 8 }
  const batch = JSON.parse((await post(upstream, `${path}:batchEmbedContents`, { requests: [request, request] })).text)
  t.same(batch.embeddings, [one.embedding, one.embedding])
  const stray = await post(upstream, `${path}:batchEmbedContents`, { requests: [{ ...request, model: 'models/b' }] })
  t.equal(stray.status, 400)
})

t.test('models are listed page by page, with what they can do', async t => {
  const { origin } = await simulator(t)
  const get = async (path: string) => (await (await fetch(`${origin}/v1beta/models${path}`)).json()) as Json
  const pages = []
  let token = ''
  do {
    const { models, nextPageToken } = await get(`?pageSize=1${token}`)
    pages.push(...models)
    token = nextPageToken && `&pageToken=${nextPageToken}`
  } while (token)
  t.match(pages, [
    { name: 'models/sim-video', supportedGenerationMethods: ['predictLongRunning'] },
    { name: 'models/sim-generate', supportedGenerationMethods: ['generateContent', 'countTokens'] },
    { name: 'models/sim-embed', supportedGenerationMethods: ['embedContent'] },
    { name: 'models/sim-image', supportedGenerationMethods: ['predict'] },
  ])
  t.equal(pages.length, 4)
  t.match(await get('/sim-a/b'), { name: 'models/sim-a/b' })
  t.match(await get('/other%3Fstatus=404'), { error: { code: 404, status: 'NOT_FOUND' } })
})

t.test('errors have the code, the status and, where asked for, the time to wait', async t => {
  const upstream = await simulator(t)
  const limited = await post(upstream, `${MODEL}%3Fstatus=429&retry-info=7:generateContent`, body())
  t.match(limited, { status: 429, headers: { 'retry-after': undefined } })
  t.match(JSON.parse(limited.text), {
    error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ '@type': /RetryInfo$/, retryDelay: '7s' }] },
  })
  const unknown = await post(upstream, '/v1beta/models/other%3Fstatus=404:generateContent', body())
  t.match(JSON.parse(unknown.text), {
    error: { code: 404, status: 'NOT_FOUND' },
  })
  const path = await post(upstream, '/v1beta/other', {})
  t.match(JSON.parse(path.text), { error: { code: 404, status: 'NOT_FOUND' } })
  const method = await post(upstream, `${MODEL}:another`, {})
  t.match(JSON.parse(method.text), { error: { code: 405, status: 'INVALID_ARGUMENT' } })
})

t.test('the error of a stream that would be an array is one', async t => {
  const answer = await post(await simulator(t), `${MODEL}:streamGenerateContent`, {})
  t.match(JSON.parse(answer.text), [{ error: { code: 400, status: 'INVALID_ARGUMENT' } }])
})

t.test('logprobs', async t => {
  const { json } = await ask(t, { generationConfig: { responseLogprobs: true, logprobs: 3 } })
  const { logprobsResult, avgLogprobs } = json.candidates[0]
  t.match(logprobsResult.chosenCandidates[0], { token: 'You', logProbability: Number })
  t.equal(logprobsResult.topCandidates[0].candidates.length, 3)
  t.type(avgLogprobs, 'number')
})

const CALL = { role: 'model', parts: [{ functionCall: { name: 'f' } }] }
const RESPONSE = { functionResponse: { name: 'f', response: {} } }

const BAD: readonly (readonly [title: string, more: object, message: string | RegExp])[] = [
  ['no contents', { contents: undefined }, /contents is not specified/],
  ['an unknown member', { foo: 1 }, 'Invalid JSON payload received. Unknown name "foo": Cannot find field.'],
  [
    'an unknown member within',
    { generationConfig: { maxTokens: 1 } },
    /Unknown name "maxTokens" at 'generation_config'/,
  ],
  [
    'a member of another type',
    { generationConfig: { temperature: 'x' } },
    /'generation_config.temperature' \(TYPE_FLOAT\)/,
  ],
  ['an unknown role', { contents: [{ role: 'assistant', parts: [{ text: 'a' }] }] }, /valid role: user, model/],
  ['no parts', { contents: [{ role: 'user', parts: [] }] }, /parts must not be empty/],
  ['a part without data', { contents: [{ parts: [{}] }] }, /required oneof field 'data'/],
  ['a part with two', { contents: [{ parts: [{ text: 'a', functionCall: { name: 'f' } }] }] }, /already set/],
  ['a model that begins', { contents: [{ role: 'model', parts: [{ text: 'a' }] }] }, /first content/],
  ['a hot model', { generationConfig: { temperature: 3 } }, /must be at most 2/],
  ['six stops', { generationConfig: { stopSequences: ['1', '2', '3', '4', '5', '6'] } }, /at most 5 stop sequences/],
  [
    'a budget and a level',
    { generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: 'LOW' } } },
    /only one of/,
  ],
  [
    'a budget too large',
    { generationConfig: { thinkingConfig: { thinkingBudget: 99_999 } } },
    /budget 99999 is invalid/,
  ],
  ['an unknown level', { generationConfig: { thinkingConfig: { thinkingLevel: 'max' } } }, /"max" is not a level/],
  ['a schema without its type', { generationConfig: { responseSchema: { type: 'STRING' } } }, /only allowed with/],
  [
    'a schema of the other dialect',
    { generationConfig: { responseMimeType: 'application/json', responseSchema: { $ref: '#' } } },
    /Unknown name "\$ref" at 'generation_config.response_schema'/,
  ],
  ['films for output', { generationConfig: { responseModalities: ['VIDEO'] } }, /response modalities: VIDEO/],
  ['a cache', { cachedContent: 'cachedContents/a' }, /CachedContent not found/],
  ['a bad name', { tools: [{ functionDeclarations: [{ name: '1 f' }] }] }, /Invalid function name/],
  [
    'names without ANY',
    { toolConfig: { functionCallingConfig: { allowedFunctionNames: ['f'] } } },
    /only when .* is ANY/,
  ],
  [
    'bytes that are none',
    { contents: [{ parts: [{ inlineData: { mimeType: 'a/b', data: '%' } }] }] },
    /Base64 decoding/,
  ],
  ['a response of no call', { contents: [{ parts: [RESPONSE] }] }, /immediately after a function call turn/],
  ['a call without a response', { contents: [QUESTION, CALL, QUESTION] }, /number of function response parts/],
  ['a call at the end', { contents: [QUESTION, CALL] }, /number of function response parts/],
  [
    'a response of another name',
    { contents: [QUESTION, CALL, { parts: [{ functionResponse: { name: 'g', response: {} } }] }] },
    /matches no function call/,
  ],
  [
    'a response that is text',
    { contents: [QUESTION, CALL, { parts: [{ functionResponse: { name: 'f', response: 'x' } }] }] },
    /function_response.response' \(Struct\)/,
  ],
]

for (const [title, more, message] of BAD) {
  t.test(`refused as a provider would: ${title}`, async t => {
    const { status, json } = await ask(t, more)
    t.equal(status, title === 'a cache' ? 403 : 400)
    t.match(json, { error: { code: status, message } })
  })
}
