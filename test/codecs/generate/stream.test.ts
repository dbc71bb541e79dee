import t from 'tap'
import { fold, unfold } from '../../../src/codecs/fold.js'
import { generate } from '../../../src/codecs/generate/index.js'
import { GatewayError } from '../../../src/core/errors.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Part, TextEvent, TextResult } from '../../../src/core/text.js'
import { encodeStream, eventsOf, framesOf, resultOf } from './support.js'

const SAME = { modelVersion: 'up-1', responseId: 'r1' }

function chunk(parts: readonly JsonObject[], more: JsonObject = {}, rest: JsonObject = {}): JsonObject {
  return { candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }], ...rest, ...SAME }
}

const END = { finishReason: 'STOP' }

function errorOf(documents: readonly Json[]): GatewayError | undefined {
  const last = eventsOf(framesOf(documents)).at(-1)
  return last?.type === 'error' ? last.error : undefined
}

t.test('texts of one kind are one part that grows', async t => {
  const documents = [
    chunk([{ text: 'I ', thought: true }], {}, { usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 } }),
    chunk([{ text: 'think.', thought: true }, { text: 'Rain' }]),
    chunk([{ text: '.' }]),
    chunk([{ text: '' }], END, { usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 } }),
  ]
  t.same(eventsOf(framesOf(documents)), [
    { type: 'start', id: 'r1', model: 'up-1', usage: { input: 3, output: 0 } },
    { type: 'part-start', candidate: 0, index: 0, part: { type: 'reasoning', text: '', summary: true } },
    { type: 'part-delta', candidate: 0, index: 0, text: 'I ' },
    { type: 'part-delta', candidate: 0, index: 0, text: 'think.' },
    { type: 'part-end', candidate: 0, index: 0 },
    { type: 'part-start', candidate: 0, index: 1, part: { type: 'text', text: '' } },
    { type: 'part-delta', candidate: 0, index: 1, text: 'Rain' },
    { type: 'part-delta', candidate: 0, index: 1, text: '.' },
    { type: 'part-end', candidate: 0, index: 1 },
    { type: 'end', candidate: 0, end: { reason: 'stop' } },
    { type: 'finish', usage: { input: 3, output: 4 } },
  ])
})

t.test('each document says at once what it brings', async t => {
  const decoder = generate.client.decodeStream()
  const counts = framesOf([chunk([{ text: 'a' }]), chunk([{ functionCall: { name: 'f' } }]), chunk([], END)]).map(
    frame => decoder.push(frame).length,
  )
  t.same(counts, [3, 4, 0])
})

t.test('a signature seals the part at hand, and the next text is another part', async t => {
  const { candidates } = resultOf([
    chunk([{ text: 'a' }]),
    chunk([{ text: '', thoughtSignature: 'YQ==' }]),
    chunk([{ text: 'b', thoughtSignature: 'Yg==' }]),
    chunk([{ functionCall: { name: 'f' }, thoughtSignature: 'Yw==' }, { functionCall: { name: 'g' } }]),
    chunk([{ text: '', thoughtSignature: 'ZA==' }], END),
  ])
  const seal = (value: string): JsonObject => ({ by: 'generate', value })
  t.match(candidates[0]?.parts, [
    { type: 'text', text: 'a', seal: seal('YQ==') },
    { type: 'text', text: 'b', seal: seal('Yg==') },
    { type: 'call', name: 'f', seal: seal('Yw==') },
    { type: 'call', name: 'g', seal: undefined },
    { type: 'text', text: '', seal: seal('ZA==') },
  ])
})

t.test('the last usage counts', async t => {
  const usageMetadata = (n: number): JsonObject => ({
    promptTokenCount: 3,
    candidatesTokenCount: n,
    totalTokenCount: 3 + n,
  })
  const documents = [
    chunk([{ text: 'a' }], {}, { usageMetadata: usageMetadata(1) }),
    chunk([{ text: 'b' }], END, { usageMetadata: usageMetadata(2) }),
    { usageMetadata: { trafficType: 'ON_DEMAND' }, ...SAME },
  ]
  t.same(resultOf(documents).usage, { input: 3, output: 2 })
})

t.test('several candidates', async t => {
  const of = (index: number, text: string, more: JsonObject = {}): JsonObject => ({
    index,
    content: { parts: [{ text }] },
    ...more,
  })
  const documents = [
    { candidates: [of(1, 'b')], ...SAME },
    { candidates: [of(0, 'a'), of(1, 'B', END)], ...SAME },
    { candidates: [of(0, 'A', { finishReason: 'MAX_TOKENS' })], ...SAME },
  ]
  t.match(resultOf(documents).candidates, [
    { parts: [{ text: 'aA' }], end: { reason: 'length' } },
    { parts: [{ text: 'bB' }], end: { reason: 'stop' } },
  ])
  t.equal(errorOf(documents.slice(0, 2))?.code, 'upstream_truncated')
})

t.test('arguments in pieces', async t => {
  const piece = (call: JsonObject): JsonObject => chunk([{ functionCall: call }])
  const at = (jsonPath: string, value: JsonObject, willContinue = true): JsonObject =>
    piece({ partialArgs: [{ jsonPath, ...value }], willContinue })
  const { candidates } = resultOf([
    chunk([{ functionCall: { name: 'cook', willContinue: true }, thoughtSignature: 'YQ==' }]),
    at('$.name', { stringValue: 'Las', willContinue: true }),
    at('$.name', { stringValue: 'agne' }),
    at('$.steps[0].text', { stringValue: 'Boil.' }),
    at('$.steps[1]["a.b"]', { numberValue: 2 }),
    at('$.done', { boolValue: false }),
    at('$.none', { nullValue: 'NULL_VALUE' }, false),
    chunk([{ functionCall: { name: 'next', args: {} } }], END),
  ])
  const expected = { name: 'Lasagne', steps: [{ text: 'Boil.' }, { 'a.b': 2 }], done: false, none: null }
  t.match(candidates[0]?.parts, [
    { type: 'call', name: 'cook', arguments: JSON.stringify(expected), seal: { value: 'YQ==' } },
    { type: 'call', name: 'next', arguments: '{}' },
  ])
})

t.test('pieces of arguments reach nothing but the arguments', async t => {
  for (const jsonPath of [
    '$.__proto__.x',
    '$.a.__proto__',
    '$.a[0].__proto__.y',
    '$[0]["constructor"].z',
    '$.a[999999]',
    '$.a[2]',
    '$.a[2].b',
    '$.b[1]',
    '$.b[1].c',
    '$..',
    '$.a[',
  ]) {
    const first = {
      functionCall: { name: 'f', willContinue: true, partialArgs: [{ jsonPath: '$.a[0]', stringValue: 'x' }] },
    }
    const documents = [
      chunk([first]),
      chunk([{ functionCall: { partialArgs: [{ jsonPath, stringValue: 'x' }] } }], END),
    ]
    const isSound = jsonPath.includes('constructor')
    t.equal(errorOf(documents)?.code, isSound ? undefined : 'bad_upstream_response', jsonPath)
  }
  t.same([({} as JsonObject).x, ({} as JsonObject).y, Object.keys(Object.prototype)], [undefined, undefined, []])
})

t.test('sources that come at the end go to the text', async t => {
  const groundingMetadata = {
    groundingChunks: [{ web: { uri: 'https://a.example/' } }],
    groundingSupports: [{ segment: { startIndex: 2, endIndex: 4 }, groundingChunkIndices: [0] }],
  }
  const { candidates } = resultOf([
    chunk([{ text: 'é1' }], { groundingMetadata: { webSearchQueries: ['x'] } }),
    chunk([{ text: '23' }], { groundingMetadata }),
    chunk([{ text: '' }], { groundingMetadata, ...END }),
  ])
  t.match(candidates[0]?.parts, [{ text: 'é123', citations: [{ url: 'https://a.example/', start: 1, end: 3 }] }])
  const [part] = candidates[0]?.parts ?? []
  t.equal(part?.type === 'text' && part.citations?.length, 1)
})

t.test('a prompt that was refused ends the stream', async t => {
  t.same(eventsOf(framesOf([{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, ...SAME }])), [
    { type: 'start', id: 'r1', model: 'up-1' },
    { type: 'end', candidate: 0, end: { reason: 'filter', detail: 'PROHIBITED_CONTENT' } },
    { type: 'finish' },
  ])
})

t.test('what comes behind an end takes it back', async t => {
  const documents = [
    chunk([{ functionCall: { name: 'f' } }], END),
    chunk([{ functionResponse: { name: 'f' } }]),
    chunk([{ text: 'a' }]),
  ]
  t.equal(errorOf(documents)?.code, 'upstream_truncated')
  t.match(resultOf([...documents, chunk([], END)]).candidates[0]?.parts, [
    { type: 'call' },
    { type: 'hosted' },
    { type: 'text' },
  ])
})

t.test('a stream without its end is an error, at every place', async t => {
  const documents = [chunk([{ text: 'a' }]), chunk([{ functionCall: { name: 'f' } }]), chunk([{ text: '' }], END)]
  for (let cut = 0; cut < documents.length; cut++) t.equal(errorOf(documents.slice(0, cut))?.code, 'upstream_truncated')
  t.equal(errorOf(documents), undefined)
})

t.test('errors in the stream, alone or in a list', async t => {
  const error = { code: 503, message: 'Overloaded.', status: 'UNAVAILABLE' }
  for (const document of [{ error }, [{ error }]]) {
    const told = errorOf([chunk([{ text: 'a' }]), document])
    t.match(told, { code: 'upstream_failed', status: 503, message: 'Overloaded.', details: { phase: 'stream_error' } })
  }
  const details = [{ '@type': 'x/RetryInfo', retryDelay: '1.5s' }]
  t.match(errorOf([{ error: { code: 429, message: 'Slow.', details } }]), {
    code: 'rate_limited',
    details: { retryAfter: 1500 },
  })
})

t.test('a piece of the array is several documents', async t => {
  t.match(resultOf([[chunk([{ text: 'a' }]), chunk([{ text: 'b' }], END)]]).candidates[0]?.parts, [{ text: 'ab' }])
})

t.test('nothing comes behind a terminal', async t => {
  const decoder = generate.client.decodeStream()
  t.match(decoder.push({ data: 'x' }), [{ type: 'error', error: { code: 'bad_upstream_response' } }])
  t.same([...decoder.push(framesOf([chunk([])])[0]!), ...decoder.end()], [])
})

const RESULT: TextResult = {
  id: 'r1',
  model: 'up-1',
  candidates: [
    {
      parts: [
        { type: 'reasoning', text: 'Hm.', summary: true, seal: { by: 'generate', value: 'YQ==' } },
        { type: 'text', text: 'Yes "é".' },
        { type: 'call', id: 'c1', name: 'f', arguments: '{"a":1}', seal: { by: 'generate', value: 'Yg==' } },
      ],
      end: { reason: 'tool' },
    },
  ],
  usage: { input: 3, output: 4 },
}

t.test('events as documents', async t => {
  t.same(
    encodeStream(unfold(RESULT)).map(({ data }) => JSON.parse(data) as Json),
    [
      chunk([{ text: 'Hm.', thought: true }]),
      chunk([{ text: '', thought: true, thoughtSignature: 'YQ==' }]),
      chunk([{ text: 'Yes "é".' }]),
      chunk([{ functionCall: { name: 'f', args: { a: 1 }, id: 'c1' }, thoughtSignature: 'Yg==' }]),
      {
        candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
        usageMetadata: {
          ...{ promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
          promptTokensDetails: [{ modality: 'TEXT', tokenCount: 3 }],
        },
        ...SAME,
      },
    ],
  )
  t.same(fold(eventsOf(encodeStream(unfold(RESULT)))), RESULT)
})

t.test('each piece of text is a document of its own, at once; a call waits until it is whole', async t => {
  const encoder = generate.server.encodeStream({
    request: { model: 'm' } as never,
    newId: () => 'x',
    now: 1,
    body: {},
    lose() {},
  })
  const place = { candidate: 0, index: 0 }
  const call = { candidate: 0, index: 1 }
  const counts = (
    [
      { type: 'start', id: '', model: '' },
      { type: 'part-start', ...place, part: { type: 'text', text: '' } },
      { type: 'part-delta', ...place, text: 'a' },
      { type: 'ping' },
      { type: 'part-delta', ...place, text: '' },
      { type: 'part-end', ...place },
      { type: 'part-start', ...call, part: { type: 'call', id: 'c', name: 'f', arguments: '' } },
      { type: 'part-delta', ...call, text: '{"a":' },
      { type: 'part-delta', ...call, text: '1}' },
      { type: 'part-end', ...call },
      { type: 'end', candidate: 0, end: { reason: 'tool' } },
      { type: 'finish' },
    ] as TextEvent[]
  ).map(event => encoder.push(event).length)
  t.same(counts, [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1])
})

t.test('calls that are open together go out in their order', async t => {
  const part = (index: number): Part => ({ type: 'call', id: `c${index}`, name: 'f', arguments: '' })
  const start = (index: number): TextEvent => ({ type: 'part-start', candidate: 0, index, part: part(index) })
  const end = (index: number): TextEvent => ({ type: 'part-end', candidate: 0, index })
  const frames = encodeStream([start(0), start(1), start(2), end(2), end(1), end(0)])
  t.same(
    frames.map(({ data }) => /"id":"(c\d)"/.exec(data)?.[1]),
    ['c0', 'c1', 'c2'],
  )
})

t.test('arguments without end are an error of the upstream', async t => {
  const piece = 'x'.repeat(1024 * 1024)
  const start: TextEvent = {
    type: 'part-start',
    candidate: 0,
    index: 0,
    part: { type: 'call', id: 'c', name: 'f', arguments: '' },
  }
  const events: TextEvent[] = [
    start,
    ...Array.from({ length: 20 }, () => ({ type: 'part-delta' as const, candidate: 0, index: 0, text: piece })),
  ]
  t.throws(() => encodeStream(events), { code: 'bad_upstream_response' } as unknown as Error)
})

t.test('an error is the last document', async t => {
  const error = new GatewayError('upstream_truncated', 'It broke off.')
  const frames = encodeStream([...unfold(RESULT).slice(0, 3), { type: 'error', error }, ...unfold(RESULT)])
  t.same(JSON.parse(frames.at(-1)?.data ?? ''), { error: { code: 502, message: 'It broke off.', status: 'INTERNAL' } })
  t.equal(frames.length, 2)
})
