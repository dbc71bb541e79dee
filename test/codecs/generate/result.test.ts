import t from 'tap'
import { unfold } from '../../../src/codecs/fold.js'
import { generate } from '../../../src/codecs/generate/index.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Candidate, End, Part, TextResult } from '../../../src/core/text.js'
import { answer, encodeStream } from './support.js'

function decodeParts(parts: readonly JsonObject[], more: JsonObject = {}): Candidate | undefined {
  return decode({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', ...more }] }).candidates[0]
}

function decode(body: Json): TextResult {
  return generate.client.decodeResult(body)
}

function encode(parts: readonly Part[], end: End = { reason: 'stop' }, more: Partial<TextResult> = {}): JsonObject {
  return generate.server.encodeResult({ id: 'r', model: 'm', candidates: [{ parts, end }], ...more }, answer())
}

function candidate(body: JsonObject): JsonObject {
  return (body.candidates as readonly JsonObject[])[0] as JsonObject
}

t.test('an answer', async t => {
  const result = decode({
    candidates: [
      {
        content: {
          parts: [
            { text: 'Hm.', thought: true },
            { text: 'Yes.', thoughtSignature: 'YQ==' },
            { functionCall: { name: 'f', args: { a: 1 } } },
            { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
          ],
          role: 'model',
        },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: {
      ...{ promptTokenCount: 10, cachedContentTokenCount: 4, toolUsePromptTokenCount: 5, candidatesTokenCount: 6 },
      ...{ thoughtsTokenCount: 7, totalTokenCount: 28, serviceTier: 'STANDARD' },
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 8 },
        { modality: 'AUDIO', tokenCount: 2 },
      ],
    },
    modelVersion: 'up-1',
    responseId: 'abc-_1',
  })
  t.same(result, {
    id: 'abc-_1',
    model: 'up-1',
    candidates: [
      {
        parts: [
          { type: 'reasoning', text: 'Hm.', summary: true },
          { type: 'text', text: 'Yes.', seal: { by: 'generate', value: 'YQ==' } },
          { type: 'call', id: 'gwcall_abc-_1_0', name: 'f', arguments: '{"a":1}' },
          { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'AAAA' } },
        ],
        end: { reason: 'tool' },
      },
    ],
    usage: { input: 15, output: 13, cached: 4, reasoning: 7, inputAudio: 2 },
    serviceTier: 'default',
  })
})

t.test('calls of one answer have different ids, also where the upstream repeats one', async t => {
  const call = (id?: string): JsonObject => ({ functionCall: { name: 'f', ...(id !== undefined && { id }) } })
  const ids = decodeParts([call(), call(), call('x'), call('x')])?.parts.map(part => 'id' in part && part.id) ?? []
  t.equal(new Set(ids).size, 4)
  t.ok(ids.includes('x'))
  const long = decode({ candidates: [{ content: { parts: [call()] } }], responseId: 'é'.repeat(100) })
  t.match(long.candidates[0]?.parts, [{ id: /^gwcall_[A-Za-z0-9_-]{1,33}$/ }])
})

t.test('a prompt that was refused', async t => {
  t.match(decode({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: { promptTokenCount: 3 } }), {
    candidates: [{ parts: [], end: { reason: 'filter', detail: 'SAFETY' } }],
    usage: { input: 3 },
  })
})

t.test('candidates without content', async t => {
  const body = {
    candidates: [
      { index: 1, content: {}, finishReason: 'MAX_TOKENS' },
      { index: 0, finishReason: 'SAFETY' },
    ],
  }
  t.same(decode(body).candidates, [
    { parts: [], end: { reason: 'filter' } },
    { parts: [], end: { reason: 'length' } },
  ])
})

t.test('ends, both ways', async t => {
  const ends: readonly (readonly [JsonObject, End])[] = [
    [{ finishReason: 'STOP' }, { reason: 'stop' }],
    [{ finishReason: 1 }, { reason: 'stop' }],
    [{ finishReason: 'MAX_TOKENS' }, { reason: 'length' }],
    [{ finishReason: 'SAFETY' }, { reason: 'filter' }],
    [{ finishReason: 'RECITATION' }, { reason: 'filter', detail: 'RECITATION' }],
    [
      { finishReason: 'SAFETY', finishMessage: 'No.' },
      { reason: 'filter', detail: 'No.' },
    ],
    [{ finishReason: 'MALFORMED_FUNCTION_CALL' }, { reason: 'malformed', detail: 'MALFORMED_FUNCTION_CALL' }],
    [{ finishReason: 'NEW_ONE' }, { reason: 'other', detail: 'NEW_ONE' }],
  ]
  for (const [wire, end] of ends) t.same(decodeParts([{ text: 'x' }], wire)?.end, end, JSON.stringify(wire))
  for (const [wire, end] of ends) {
    if (typeof wire.finishReason === 'string' && wire.finishReason !== 'NEW_ONE')
      t.match(candidate(encode([], end)), wire)
  }
  t.match(candidate(encode([], { reason: 'tool' })), { finishReason: 'STOP' })
  t.match(candidate(encode([], { reason: 'context' })), { finishReason: 'MAX_TOKENS' })
  t.match(candidate(encode([{ type: 'refusal', text: 'No.' }])), {
    finishReason: 'SAFETY',
    content: { parts: [{ text: 'No.' }] },
  })
})

t.test('sources of a text: places in bytes become places in characters', async t => {
  const text = 'Grüße aus Bönn. Ümläut!'
  const bytes = (words: string): [number, number] => {
    const start = Buffer.from(text.slice(0, text.indexOf(words))).length
    return [start, start + Buffer.from(words).length]
  }
  const [startIndex, endIndex] = bytes('Bönn')
  const read = decodeParts([{ text: 'Hm.', thought: true }, { text: text.slice(0, 7) }, { text: text.slice(7) }], {
    groundingMetadata: {
      groundingChunks: [
        { web: { uri: 'https://a.example/', title: 'A' } },
        { retrievedContext: { uri: 'https://b.example/', text: 'Quoted.' } },
      ],
      groundingSupports: [
        { segment: { startIndex, endIndex, text: 'Bönn' }, groundingChunkIndices: [0, 1, 7] },
        { segment: { endIndex: 7 }, groundingChunkIndices: [0] },
      ],
    },
    citationMetadata: { citationSources: [{ startIndex: 0, endIndex: 9999, uri: 'https://c.example/' }] },
  })
  const at = text.indexOf('Bönn')
  const part = read?.parts[1]
  t.same(part?.type === 'text' && part.citations, [
    { url: 'https://a.example/', title: 'A', start: at, end: at + 4 },
    { url: 'https://b.example/', quote: 'Quoted.', start: at, end: at + 4 },
    { url: 'https://a.example/', title: 'A', start: 0, end: 5 },
    { url: 'https://c.example/', start: 0, end: text.length },
  ])
  t.match(candidate(encode(read?.parts ?? [])), {
    groundingMetadata: {
      groundingChunks: [{ web: { uri: 'https://a.example/' } }, { retrievedContext: { text: 'Quoted.' } }, { web: {} }],
      groundingSupports: [{ segment: { startIndex, endIndex }, groundingChunkIndices: [0] }, {}, {}, {}],
    },
  })
})

t.test('sources without places', async t => {
  const groundingMetadata = { groundingChunks: [{ web: { uri: 'https://a.example/' } }] }
  t.match(decodeParts([{ text: 'x' }], { groundingMetadata })?.parts, [{ citations: [{ url: 'https://a.example/' }] }])
})

t.test('a citation of a whole part gets its place where there are several', async t => {
  const cited = (text: string, url: string): Part => ({ type: 'text', text, citations: [{ url }] })
  const one = candidate(encode([cited('Grüße.', 'a')])).groundingMetadata
  t.same(one, { groundingChunks: [{ web: { uri: 'a' } }] })
  const body = encode([cited('Grüße.', 'a'), { type: 'text', text: ' Und ' }, cited('Bönn.', 'b')])
  t.match(candidate(body).groundingMetadata, {
    groundingSupports: [
      { segment: { startIndex: 0, endIndex: 8 }, groundingChunkIndices: [0] },
      { segment: { startIndex: 13, endIndex: 19 }, groundingChunkIndices: [1] },
    ],
  })
  t.match(decode(body).candidates[0]?.parts, [
    {
      text: 'Grüße. Und Bönn.',
      citations: [
        { url: 'a', start: 0, end: 6 },
        { url: 'b', start: 11, end: 16 },
      ],
    },
  ])
})

t.test('log probabilities', async t => {
  const logprobsResult = {
    chosenCandidates: [{ token: 'Hi', logProbability: -0.5, tokenId: 4 }, { token: '!' }],
    topCandidates: [{ candidates: [{ token: 'Hi', logProbability: -0.5 }] }, {}],
  }
  const parts = decodeParts([{ text: 'Hi!' }], { logprobsResult })?.parts ?? []
  t.match(parts, [
    {
      logprobs: [
        { token: 'Hi', logprob: -0.5, top: [{ token: 'Hi', logprob: -0.5 }] },
        { token: '!', logprob: 0 },
      ],
    },
  ])
  t.match(candidate(encode(parts)), {
    logprobsResult: { chosenCandidates: [{ logProbability: -0.5 }, { token: '!' }] },
  })
})

t.test('an answer in this protocol', async t => {
  const seal = { by: 'messages', value: 'ab+/=' }
  const body = encode(
    [
      { type: 'reasoning', text: 'Hm.', seal },
      { type: 'text', text: '' },
      { type: 'text', text: 'Yes.' },
      { type: 'call', id: 'call_1', name: 'f', arguments: '' },
    ],
    { reason: 'tool' },
    { usage: { input: 10, output: 9, reasoning: 4, cached: 2 }, serviceTier: 'flex' },
  )
  const [thought] = (candidate(body).content as unknown as { parts: JsonObject[] }).parts
  t.same(body, {
    candidates: [
      {
        content: {
          parts: [
            { text: 'Hm.', thought: true, thoughtSignature: thought?.thoughtSignature },
            { text: 'Yes.' },
            { functionCall: { name: 'f', args: {}, id: 'call_1' } },
          ],
          role: 'model',
        },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: {
      ...{ promptTokenCount: 10, candidatesTokenCount: 5, thoughtsTokenCount: 4, totalTokenCount: 19 },
      ...{ cachedContentTokenCount: 2, serviceTier: 'flex' },
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 10 }],
    },
    modelVersion: 'm',
    responseId: 'r',
  })
})

t.test('a seal of another protocol comes back, also when the client wrote its base64 anew', async t => {
  for (const value of ['ab+/=', '', 'é ü.gw1.', '???>>>~~~']) {
    const seal = { by: 'responses', value }
    const [part] = (
      candidate(encode([{ type: 'text', text: 'x', seal }])).content as unknown as { parts: JsonObject[] }
    ).parts
    const signature = String(part?.thoughtSignature)
    const urlSafe = Buffer.from(signature, 'base64').toString('base64url')
    for (const thoughtSignature of [signature, urlSafe]) {
      const contents = [{ role: 'model', parts: [{ text: 'x', thoughtSignature }] }]
      const request = generate.server.decodeRequest({ contents }, { model: 'm', stream: false })
      t.same(request.turns[0]?.parts[0]?.seal, seal)
    }
  }
})

t.test('what cannot be shown is said', async t => {
  const told = answer()
  const parts: Part[] = [
    { type: 'hosted', of: 'messages', value: { type: 'x' } },
    { type: 'media', kind: 'image', source: { file: 'f', of: 'chat' } },
  ]
  const end: End = { reason: 'stop', stopSequence: 'END' }
  const body = generate.server.encodeResult({ id: '', model: '', candidates: [{ parts, end }] }, told)
  t.same(told.lost, ['hosted_tools', 'media', 'stop_sequence'])
  t.match(body, { modelVersion: 'm', responseId: /./ })
})

t.test('documents that are not answers', async t => {
  const malformed: Json[] = [
    ...[null, 'x', [], {}, { foo: 1 }, { candidates: 'x' }, { candidates: [1] }, { candidates: [] }],
    ...[
      { candidates: [{ index: 76 }] },
      { candidates: [{ index: -1 }] },
      { candidates: [{ content: { parts: [1] } }] },
    ],
    { candidates: [{ content: { parts: [{ functionCall: {} }] } }] },
  ]
  for (const body of malformed) t.throws(() => decode(body), { code: 'bad_upstream_response' } as unknown as Error)
  t.throws(() => decode({ error: { code: 500, message: 'No.' } }), { code: 'upstream_failed' } as unknown as Error)
})

t.test('a citation that names no source is lost aloud, in a stream too', async t => {
  const value = { type: 'file_citation', file_id: 'file-1' }
  const parts: Part[] = [{ type: 'text', text: 'a', citations: [{ own: { of: 'responses', value } }, { title: 'A' }] }]
  const result: TextResult = { id: 'r', model: 'm', candidates: [{ parts, end: { reason: 'stop' } }] }
  const [whole, streamed] = [answer(), answer()]
  const grounding = { groundingChunks: [{ web: { title: 'A' } }] }
  t.match(candidate(generate.server.encodeResult(result, whole)).groundingMetadata, grounding)
  const frames = encodeStream(unfold(result), streamed)
  t.match(candidate(JSON.parse(frames.at(-1)?.data ?? '') as JsonObject).groundingMetadata, grounding)
  t.same([whole.lost, streamed.lost], [['citations'], ['citations']])
})
