import t from 'tap'
import { dataOf, post, sdk, simulator } from '../support.js'

const PATH = '/v1/completions'

t.test('a text is continued, 16 tokens unless more are asked for', async t => {
  const client = sdk(await simulator(t))
  const answer = await client.completions.create({ model: 'sim-text', prompt: 'Once upon a time' })
  t.match(answer, {
    id: /^cmpl-/,
    object: 'text_completion',
    model: 'sim-text',
    choices: [{ index: 0, finish_reason: 'length', logprobs: null }],
    usage: { completion_tokens: 16 },
  })
  const long = await client.completions.create({ model: 'sim-text', prompt: 'Once', max_tokens: 500 })
  t.equal(long.choices[0]?.finish_reason, 'stop')
})

t.test('several prompts, several answers to each, echoed', async t => {
  const client = sdk(await simulator(t))
  const answer = await client.completions.create({
    model: 'sim-text',
    prompt: ['a', 'b'],
    n: 2,
    echo: true,
    max_tokens: 2,
  })
  t.same(
    answer.choices.map(choice => [choice.index, choice.text]),
    [
      [0, 'aYou said'],
      [1, 'aYou said'],
      [2, 'bYou said'],
      [3, 'bYou said'],
    ],
  )
})

t.test('tokens in place of a text', async t => {
  const upstream = await simulator(t)
  for (const prompt of [
    [1, 2, 3],
    [[1, 2], [3]],
  ]) {
    t.equal((await post(upstream, PATH, { model: 'sim-text', prompt })).status, 200)
  }
})

t.test('logprobs in the older shape', async t => {
  const client = sdk(await simulator(t))
  const answer = await client.completions.create({ model: 'sim-text', prompt: 'x', logprobs: 2, max_tokens: 3 })
  const logprobs = answer.choices[0]?.logprobs
  t.same(logprobs?.tokens, ['You', ' said', ':'])
  t.same(logprobs?.text_offset, [0, 3, 8])
  t.equal(logprobs?.token_logprobs?.length, 3)
  t.equal(Object.keys(logprobs?.top_logprobs?.[0] ?? {}).length, 2)
})

t.test('a stream adds up to the answer', async t => {
  const upstream = await simulator(t)
  const request = { model: 'sim-text', prompt: 'Hello', max_tokens: 40 }
  const stream = await sdk(upstream).completions.create({
    ...request,
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ''
  let usage: unknown
  for await (const chunk of stream) {
    text += chunk.choices[0]?.text ?? ''
    usage = chunk.usage ?? usage
  }
  t.match(text, /^You said: "Hello"/)
  t.match(usage, { completion_tokens: 40 })
  const chunks = dataOf((await post(upstream, PATH, { ...request, stream: true })).text)
  t.equal(chunks.at(-1), '[DONE]')
  t.notOk('usage' in JSON.parse(chunks[0] ?? ''))
})

t.test('refused: no prompt, none in the list, too many answers', async t => {
  const upstream = await simulator(t)
  const refused = async (body: object) =>
    JSON.parse((await post(upstream, PATH, { model: 'sim-text', ...body })).text).error
  t.match(await refused({}), { code: 'missing_required_parameter', param: 'prompt' })
  t.match(await refused({ prompt: [] }), { param: 'prompt' })
  t.match(await refused({ prompt: [{}] }), { code: 'invalid_type', param: 'prompt[0]' })
  t.match(await refused({ prompt: Array(65).fill('a'), n: 2 }), { code: 'array_above_max_length', param: 'prompt' })
})
