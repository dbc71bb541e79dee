import t from 'tap'
import { embedContent, embedContents } from '../../../src/codecs/embed-content/index.js'
import { embeddings } from '../../../src/codecs/embeddings/index.js'
import { EMBED_FIELDS, type EmbedRequest } from '../../../src/core/embed.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { readRecordings, recordingsFile } from '../../helpers/recordings.js'
import { embedTarget } from '../embeddings/support.js'
import { MADE_UP } from '../small-target.js'

const HEAD = { model: 'm', stream: false }
const single = (body: JsonObject): EmbedRequest => embedContent.server.decodeRequest(body, HEAD)
const batch = (...requests: readonly JsonObject[]): EmbedRequest =>
  embedContents.server.decodeRequest({ requests }, HEAD)
const content = (text: string): JsonObject => ({ parts: [{ text }] })

function requestOf(count: number, more: Partial<EmbedRequest> = {}): EmbedRequest {
  const inputs = Array.from({ length: count }, (_, i) => ({
    parts: [{ type: 'text' as const, text: `text ${i}` }],
    at: `input[${i}]`,
  }))
  return { model: 'm', inputs, encoding: 'float', left: [], ...more }
}

t.test('one request, in both ways of writing names', async t => {
  const expected = {
    model: 'm',
    inputs: [
      {
        parts: [
          { type: 'text', text: 'a' },
          { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'AAAA' } },
        ],
      },
    ],
    task: 'RETRIEVAL_DOCUMENT',
    title: 'T',
    dimensions: 8,
    left: [],
  }
  t.match(
    single({
      model: 'models/x',
      content: { role: 'user', parts: [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
      taskType: 'RETRIEVAL_DOCUMENT',
      title: 'T',
      outputDimensionality: 8,
    }),
    expected,
  )
  t.match(
    single({
      content: { parts: [{ text: 'a' }, { inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
      embed_content_config: { task_type: 'RETRIEVAL_DOCUMENT', title: 'T', output_dimensionality: 8 },
    }),
    expected,
  )
})

t.test('options of this protocol alone are left, and said', async t => {
  const { left } = single({ content: content('a'), mood: 1, embedContentConfig: { autoTruncate: true } })
  t.same(left.map(({ field }) => field).sort(), ['embedContentConfig.autoTruncate', 'mood'])
})

t.test('several requests are one with several inputs, as far as they agree', async t => {
  t.match(batch({ content: content('a'), taskType: 'CLUSTERING' }, { content: content('b'), taskType: 'CLUSTERING' }), {
    inputs: [{ parts: [{ text: 'a' }] }, { parts: [{ text: 'b' }], at: 'requests[1].content' }],
    task: 'CLUSTERING',
    left: [],
  })
  const titles = batch({ content: content('a'), title: 'A' }, { content: content('b'), title: 'B' })
  t.notOk('title' in titles)
  t.match(titles.left, [{ field: 'requests[].title' }])
  for (const [option, value] of [
    ['taskType', 'CLUSTERING'],
    ['outputDimensionality', 8],
  ] as const)
    t.throws(() => batch({ content: content('a'), [option]: value }, { content: content('b') }), {
      code: 'untranslatable',
      details: { param: `requests[1].${option}` },
    })
})

t.test('what can mean nothing is an error that names the field', async t => {
  t.throws(() => single({}), { details: { param: 'content' }, code: 'invalid_parameter' })
  t.throws(() => single({ content: { parts: [] } }), { details: { param: 'content.parts' }, code: 'invalid_parameter' })
  t.throws(() => single({ content: { parts: [{}] } }), {
    details: { param: 'content.parts[0]' },
    code: 'invalid_parameter',
  })
  t.throws(() => batch(), { details: { param: 'requests' }, code: 'invalid_parameter' })
  t.throws(() => batch({ content: 7 }), { details: { param: 'requests[0].content' }, code: 'invalid_parameter' })
})

t.test('a request goes out, one at a time or several', async t => {
  const options = { task: 'CLUSTERING', title: 'T', dimensions: 8 }
  const one = {
    model: 'models/upstream-model',
    content: content('text 0'),
    taskType: 'CLUSTERING',
    title: 'T',
    outputDimensionality: 8,
  }
  t.same(embedContent.client.encodeRequest(requestOf(1, options), embedTarget(embedContent)), one)
  t.match(embedContents.client.encodeRequest(requestOf(2, options), embedTarget(embedContents)), {
    requests: [one, { ...one, content: content('text 1') }],
  })
  if (openApiFolder() !== undefined) {
    const body = embedContents.client.encodeRequest(requestOf(2, options), embedTarget(embedContents))
    t.same(openApi('embed-batch.request')(body), [])
    t.same(openApi('embed.request')(one), [])
  }
  const image = { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'AAAA' } } as const
  const pictured = requestOf(0, { inputs: [{ parts: [image] }] })
  t.match(embedContent.client.encodeRequest(pictured, embedTarget(embedContent, { image_inputs: 'parts' })), {
    content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
  })
  t.throws(() => embedContent.client.encodeRequest(pictured, embedTarget(embedContent)), { code: 'untranslatable' })
})

t.test('what the protocol cannot say is lost aloud, or refused', async t => {
  const target = embedTarget(embedContents)
  embedContents.client.encodeRequest(requestOf(1, { user: 'u' }), target)
  t.same(target.lost, ['user'])
  for (const codec of [embedContent, embedContents]) {
    const encode = (request: EmbedRequest): unknown => codec.client.encodeRequest(request, embedTarget(codec))
    t.throws(() => encode(requestOf(0, { inputs: [{ tokens: [1] }] })), { code: 'untranslatable' })
    t.same(Object.keys(codec.client.carries).sort(), Object.keys(EMBED_FIELDS).sort())
  }
  t.throws(() => embedContent.client.encodeRequest(requestOf(2), embedTarget(embedContent)), {
    code: 'untranslatable',
    details: { param: 'input[1]' },
  })
})

t.test('answers', async t => {
  const usageMetadata = { promptTokenCount: 4 }
  const values = [1, 2]
  t.same(embedContent.client.decodeResult({ embedding: { values }, usageMetadata }, requestOf(1)), {
    model: '',
    vectors: [values],
    input: 4,
  })
  t.same(embedContents.client.decodeResult({ embeddings: [{ values }, { values }] }, requestOf(2)).vectors, [
    values,
    values,
  ])
  const result = { model: 'x', vectors: [values, values], input: 4 }
  t.same(embedContent.server.encodeResult(result, requestOf(1), MADE_UP), { embedding: { values }, usageMetadata })
  t.same(embedContents.server.encodeResult({ model: 'x', vectors: [values] }, requestOf(1), MADE_UP), {
    embeddings: [{ values }],
  })
})

t.test('answers that do not fit the request are malformed', async t => {
  const bodies: readonly Json[] = [
    null,
    [],
    {},
    { embedding: {} },
    { embedding: { values: ['a'] } },
    { embeddings: [{}] },
  ]
  for (const body of bodies) {
    t.throws(() => embedContent.client.decodeResult(body, requestOf(1)), { code: 'bad_upstream_response' })
    t.throws(() => embedContents.client.decodeResult(body, requestOf(1)), { code: 'bad_upstream_response' })
  }
  const two = { embeddings: [{ values: [1] }, { values: [1] }] }
  t.throws(() => embedContents.client.decodeResult(two, requestOf(3)), { code: 'bad_upstream_response' })
  t.throws(() => embedContent.client.decodeResult({ error: { code: 429, message: 'Slow.' } }, requestOf(1)), {
    code: 'rate_limited',
  })
})

t.test('a compatible client asks for base64 and a native upstream answers with numbers', async t => {
  const asked = embeddings.server.decodeRequest({ input: ['a', 'b'], encoding_format: 'base64' }, HEAD)
  const body = embedContents.client.encodeRequest(asked, embedTarget(embedContents))
  t.match(body, { requests: [{ content: content('a') }, { content: content('b') }] })
  const result = embedContents.client.decodeResult({ embeddings: [{ values: [0.5] }, { values: [1] }] }, asked)
  t.match(embeddings.server.encodeResult(result, asked, MADE_UP), {
    data: [{ index: 0, embedding: 'AAAAPw==' }, { embedding: 'AACAPw==' }],
  })
})

const file = recordingsFile()
t.test('recorded exchanges', { skip: file === undefined }, async t => {
  let answers = 0
  for await (const { request, response, file: name } of readRecordings(String(file))) {
    if (!request.url.includes(':batchEmbedContents') || response.status !== 200) continue
    const asked = embedContents.server.decodeRequest(request.body as JsonObject, HEAD)
    t.same(asked.left, [], name)
    t.equal(
      embedContents.client.decodeResult(JSON.parse(response.body), asked).vectors.length,
      asked.inputs.length,
      name,
    )
    answers += 1
  }
  t.ok(answers > 3, `${answers}`)
})
