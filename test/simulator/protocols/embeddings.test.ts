import t from 'tap'
import { embedText } from '../../../simulator/src/protocols/embeddings/index.js'
import { post, sdk, simulator } from '../support.js'

const PATH = '/v1/embeddings'

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, each, at) => sum + each * (y[at] ?? 0), 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

t.test('the SDK asks for base64 and reads it', async t => {
  const upstream = await simulator(t)
  const answer = await sdk(upstream).embeddings.create({ model: 'sim-embed', input: ['one text', 'another'] })
  t.match(JSON.parse(String(upstream.received[0]?.body)), { encoding_format: 'base64' })
  t.match(answer, { object: 'list', model: 'sim-embed', data: [{ index: 0 }, { index: 1 }] })
  t.equal(answer.usage.prompt_tokens, answer.usage.total_tokens)
  const vector = answer.data[0]?.embedding ?? []
  t.equal(vector.length, 256)
  t.ok(Math.abs(cosine(vector, [...embedText('one text', 256)]) - 1) < 1e-6)
})

t.test('base64 and numbers say the same', async t => {
  const upstream = await simulator(t)
  const ask = async (encoding_format: string) =>
    JSON.parse(
      (await post(upstream, PATH, { model: 'sim-embed', input: 'a text', dimensions: 16, encoding_format })).text,
    )
  const numbers = (await ask('float')).data[0].embedding
  const bytes = Buffer.from((await ask('base64')).data[0].embedding, 'base64')
  t.equal(bytes.length, 64)
  t.same(
    Array.from({ length: 16 }, (_, at) => bytes.readFloatLE(at * 4)),
    numbers,
  )
})

t.test('texts that are alike are near, others are not', async t => {
  const near = (a: string, b: string) => cosine([...embedText(a, 256)], [...embedText(b, 256)])
  const cat = 'The cat sat on the warm mat.'
  t.ok(near(cat, 'A cat sits on a warm mat') > 0.4)
  t.ok(near(cat, 'Quarterly revenue rose by nine percent') < 0.25)
  t.ok(near(cat, 'the CAT sat, on the warm mat') > 0.99, 'case and marks do not matter')
  t.ok(near('running runner', 'runs') > near('running runner', 'blue'), 'parts of words count')
})

t.test('every vector has length 1, even of a text without words', async t => {
  for (const text of ['a', '...', ' ', '😀', 'x'.repeat(5000)]) {
    t.ok(Math.abs(Math.hypot(...embedText(text, 64)) - 1) < 1e-6, text.slice(0, 5))
  }
})

t.test('tokens in place of a text, one list or several', async t => {
  const upstream = await simulator(t)
  const ask = async (input: unknown) => JSON.parse((await post(upstream, PATH, { model: 'sim-embed', input })).text)
  t.equal((await ask([1, 2, 3])).data.length, 1)
  t.match(await ask([[1, 2], [3]]), { data: [{ index: 0 }, { index: 1 }], usage: { prompt_tokens: 3 } })
})

const BAD: readonly (readonly [title: string, more: object, error: object])[] = [
  ['no input', { input: undefined }, { code: 'missing_required_parameter', param: 'input' }],
  ['an empty text', { input: '' }, { param: 'input', message: "'input' cannot be an empty string." }],
  ['an empty text among others', { input: ['a', ''] }, { param: 'input' }],
  ['an empty list', { input: [] }, { code: 'empty_array' }],
  ['too many texts', { input: Array(2049).fill('a') }, { param: 'input' }],
  ['a text too long', { input: 'word '.repeat(9000) }, { message: /maximum context length/ }],
  [
    'no dimensions',
    { dimensions: -1 },
    { code: null, param: null, message: "-1 is less than the minimum of 1 - 'dimensions'" },
  ],
  ['too many dimensions', { dimensions: 5000 }, { message: /maximum of 4096/ }],
  ['an unknown encoding', { encoding_format: 'x' }, { code: 'invalid_value', param: 'encoding_format' }],
]

for (const [title, more, error] of BAD) {
  t.test(`refused as a provider would: ${title}`, async t => {
    const answer = await post(await simulator(t), PATH, { model: 'sim-embed', input: 'a', ...more })
    t.equal(answer.status, 400)
    t.match(JSON.parse(answer.text), { error: { type: 'invalid_request_error', ...error } })
  })
}
