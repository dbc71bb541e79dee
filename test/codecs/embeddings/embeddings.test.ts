import t from 'tap'
import { embeddings } from '../../../src/codecs/embeddings/index.js'
import { readVector, toBase64 } from '../../../src/codecs/vectors.js'
import { EMBED_FIELDS, type EmbedRequest } from '../../../src/core/embed.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { fc } from '../../helpers/property.js'
import { readRecordings, recordingsFile } from '../../helpers/recordings.js'
import { MADE_UP } from '../small-target.js'
import { embedTarget } from './support.js'

const HEAD = { model: 'm', stream: false }

const decode = (body: JsonObject): EmbedRequest => embeddings.server.decodeRequest(body, HEAD)

function requestOf(count: number, more: Partial<EmbedRequest> = {}): EmbedRequest {
  const inputs = Array.from({ length: count }, (_, i) => ({ parts: [{ type: 'text' as const, text: `text ${i}` }] }))
  return { model: 'm', inputs, encoding: 'float', left: [], ...more }
}

t.test('inputs in each form', async t => {
  const inputsOf = (input: Json): unknown => decode({ input }).inputs
  t.match(inputsOf('a'), [{ parts: [{ type: 'text', text: 'a' }], at: 'input' }])
  t.match(inputsOf(['a', 'b']), [{ parts: [{ text: 'a' }] }, { parts: [{ text: 'b' }], at: 'input[1]' }])
  t.same(inputsOf([1, 2]), [{ tokens: [1, 2], at: 'input' }])
  t.match(inputsOf([[1, 2], [3]]), [{ tokens: [1, 2] }, { tokens: [3], at: 'input[1]' }])
  t.match(inputsOf([{ text: 'a' }, { image: 'https://a.example/b.png' }, { image: 'AAAA' }]), [
    { parts: [{ text: 'a' }] },
    { parts: [{ kind: 'image', source: { url: 'https://a.example/b.png' } }] },
    { parts: [{ kind: 'image', source: { base64: 'AAAA' } }] },
  ])
  const content = [
    { type: 'text', text: 'a' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
  ]
  t.match(inputsOf([{ content }]), [{ parts: [{ text: 'a' }, { mime: 'image/png', source: { base64: 'AAAA' } }] }])
})

t.test('the rest of a request', async t => {
  const body = { input: 'a', model: 'x', dimensions: 8, encoding_format: 'base64', user: 'u', input_type: 'query' }
  t.match(decode(body), { dimensions: 8, encoding: 'base64', user: 'u', task: 'RETRIEVAL_QUERY', left: [] })
  t.match(decode({ input: 'a', task: 'cooking', truncate: true }).left, [{ field: 'truncate' }, { field: 'task' }])
})

t.test('what can mean nothing is an error that names the field', async t => {
  const cases: readonly (readonly [JsonObject, string])[] = [
    [{}, 'input'],
    [{ input: [] }, 'input'],
    [{ input: [true] }, 'input[0]'],
    [{ input: [[1, 'a']] }, 'input[0][1]'],
    [{ input: [{ smell: 'a' }] }, 'input[0]'],
    [{ input: 'a', encoding_format: 'int8' }, 'encoding_format'],
    [{ input: 'a', dimensions: 'many' }, 'dimensions'],
  ]
  for (const [body, param] of cases)
    t.throws(() => decode(body), { code: 'invalid_parameter', details: { param } }, param)
})

t.test('a request goes out with its texts or tokens, and asks for numbers', async t => {
  const target = embedTarget(embeddings)
  const body = embeddings.client.encodeRequest(requestOf(2, { dimensions: 8, encoding: 'base64', user: 'u' }), target)
  t.same(body, {
    model: 'upstream-model',
    input: ['text 0', 'text 1'],
    encoding_format: 'float',
    dimensions: 8,
    user: 'u',
  })
  if (openApiFolder() !== undefined) t.same(openApi('embeddings.request')(body), [])
  t.same(embeddings.client.encodeRequest(requestOf(0, { inputs: [{ tokens: [1, 2] }] }), target).input, [[1, 2]])
  t.same(target.lost, [])
})

t.test('what the protocol cannot say is lost aloud, or refused', async t => {
  const target = embedTarget(embeddings)
  embeddings.client.encodeRequest(requestOf(1, { task: 'CLUSTERING', title: 'T' }), target)
  t.same(target.lost, ['task', 'title'])
  const image = { type: 'media', kind: 'image', source: { base64: 'AAAA' }, at: 'input[0]' } as const
  const encode = (request: EmbedRequest): unknown => embeddings.client.encodeRequest(request, embedTarget(embeddings))
  t.throws(() => encode(requestOf(0, { inputs: [{ parts: [image] }] })), { code: 'untranslatable' })
  const mixed = [{ tokens: [1] }, { parts: [{ type: 'text' as const, text: 'a' }] }]
  t.throws(() => encode(requestOf(0, { inputs: mixed })), { code: 'untranslatable' })
  t.same(Object.keys(embeddings.client.carries).sort(), Object.keys(EMBED_FIELDS).sort())
})

t.test('vectors come in the order of the inputs', async t => {
  const data = [
    { index: 1, embedding: [2] },
    { index: 0, embedding: [1] },
  ]
  const body = { data, model: 'x', usage: { prompt_tokens: 4 } }
  t.same(embeddings.client.decodeResult(body, requestOf(2)), { model: 'x', vectors: [[1], [2]], input: 4 })
  const unnumbered = { data: [{ embedding: [1] }, { embedding: [2] }], usage: { total_tokens: 3 } }
  t.same(embeddings.client.decodeResult(unnumbered, requestOf(2)), { model: '', vectors: [[1], [2]], input: 3 })
})

t.test('answers that do not fit the request are malformed', async t => {
  const one = { index: 0, embedding: [1] }
  const bodies: readonly Json[] = [
    ...[
      null,
      [],
      {},
      { data: {} },
      { data: [one] },
      { data: [one, one] },
      { data: [one, { index: 2, embedding: [1] }] },
    ],
    ...[{ data: [one, { index: 1 }] }, { data: [one, { index: 1, embedding: [] }] }],
    ...[{ data: [one, { index: 1, embedding: [null] }] }, { data: [one, { index: 1, embedding: 'AAA=' }] }],
    { data: [one, { index: 1, embedding: 'AADAfw==' }] },
  ]
  for (const body of bodies)
    t.throws(
      () => embeddings.client.decodeResult(body, requestOf(2)),
      { code: 'bad_upstream_response' },
      JSON.stringify(body),
    )
  t.throws(() => embeddings.client.decodeResult({ error: { message: 'No.' } }, requestOf(1)), {
    code: 'upstream_failed',
  })
})

t.test('an answer, in the form that the client asked for', async t => {
  const result = { model: '', vectors: [[0.5, -1]], input: 4 }
  t.same(embeddings.server.encodeResult(result, requestOf(1), MADE_UP), {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.5, -1] }],
    model: 'm',
    usage: { prompt_tokens: 4, total_tokens: 4 },
  })
  t.match(embeddings.server.encodeResult(result, requestOf(1, { encoding: 'base64' }), MADE_UP), {
    data: [{ embedding: Buffer.from(new Float32Array([0.5, -1]).buffer).toString('base64') }],
  })
})

t.test('base64 holds what 32 bits can hold', async t => {
  fc.assert(
    fc.property(fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1 }), vector => {
      t.same(readVector(toBase64(vector)), vector)
    }),
  )
})

const file = recordingsFile()
t.test('recorded answers', { skip: file === undefined }, async t => {
  let answers = 0
  for await (const { request, response, provider, file: name } of readRecordings(String(file))) {
    if (!new URL(request.url, 'http://recorded').pathname.endsWith('/embeddings')) continue
    if (response.status !== 200 || response.body === '') continue
    const asked = decode(request.body as JsonObject)
    const body = JSON.parse(response.body)
    if (provider === 'perplexity') {
      // Its base64 holds bytes.
      t.throws(() => embeddings.client.decodeResult(body, asked), { code: 'bad_upstream_response' })
      continue
    }
    const { vectors, input } = embeddings.client.decodeResult(body, asked)
    t.equal(vectors.length, body.data.length, name)
    t.equal(input, body.usage.prompt_tokens ?? body.usage.total_tokens, name)
    answers += 1
  }
  t.ok(answers > 10, `${answers}`)
})

t.test('images in all the ways in which compatible clients write them', async t => {
  const png = 'iVBORw0KGgo='
  const url = `data:image/png;base64,${png}`
  const base64 = { type: 'media', kind: 'image', source: { base64: png } }
  for (const [input, parts] of [
    [{ image: png }, [base64]],
    [{ image: url }, [{ ...base64, mime: 'image/png' }]],
    [{ image: { url } }, [{ ...base64, mime: 'image/png' }]],
    [{ image_url: 'https://images.example/a.png' }, [{ source: { url: 'https://images.example/a.png' } }]],
    [{ type: 'image_base64', image_base64: url }, [base64]],
    [{ text: 'a', image: png }, [{ type: 'text', text: 'a' }, base64]],
    [
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url } },
        ],
      },
      [{ text: 'a' }, base64],
    ],
    [{ content: 'a' }, [{ text: 'a' }]],
  ] as const) {
    const { inputs } = embeddings.server.decodeRequest({ input: [input] }, HEAD)
    t.match(inputs, [{ parts, at: 'input[0]' }], JSON.stringify(input))
    t.equal('parts' in inputs[0]! ? inputs[0].parts.length : 0, parts.length)
  }
  const { left } = embeddings.server.decodeRequest({ input: [{ text: 'a', pdf: 'x' }] }, HEAD)
  t.match(left, [{ field: 'input[0].pdf' }])
  for (const input of [
    { pdf: 'x' },
    { image: 'file:///etc/passwd' },
    { image: 'ftp://a' },
    { image: '' },
    { image: 7 },
  ])
    t.throws(() => embeddings.server.decodeRequest({ input: [input] }, HEAD), { code: 'invalid_parameter' })
})

t.test('images go out as the model is declared to take them', async t => {
  const image = { type: 'media', kind: 'image', source: { base64: '/9j/AAAA' } } as const
  const text = { type: 'text', text: 'a' } as const
  const written = (image_inputs: 'objects' | 'parts', ...inputs: EmbedRequest['inputs']): unknown =>
    embeddings.client.encodeRequest(requestOf(0, { inputs }), embedTarget(embeddings, { image_inputs })).input
  t.same(written('objects', { parts: [text] }, { parts: [image] }), [{ text: 'a' }, { image: '/9j/AAAA' }])
  t.same(written('objects', { parts: [text] }), ['a'], 'texts alone stay texts')
  t.same(written('parts', { parts: [text, image] }, { parts: [text] }), [
    {
      content: [
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,/9j/AAAA' } },
      ],
    },
    { content: [{ type: 'text', text: 'a' }] },
  ])
  t.throws(() => written('objects', { parts: [text, image], at: 'input[0]' }), {
    code: 'untranslatable',
    details: { param: 'input[0]' },
  })
  const sound = { type: 'media', kind: 'audio', source: { base64: 'AAAA' }, at: 'input[0]' } as const
  t.throws(() => written('parts', { parts: [sound] }), { code: 'untranslatable', details: { param: 'input[0]' } })
})
