import OpenAI from 'openai'
import type { ResponseInput } from 'openai/resources/responses/responses'
import t, { type Test } from 'tap'
import { seal } from '../../../simulator/src/seals.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { post, sdk, simulator } from '../support.js'

const MODEL = 'sim-responses'
const WEATHER = {
  type: 'function' as const,
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: null,
}

async function client(t: Test): Promise<OpenAI> {
  return sdk(await simulator(t))
}

function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

t.test('a response is kept, given out, and forgotten', async t => {
  const openai = await client(t)
  const made = await openai.responses.create({ model: MODEL, input: 'Hello' })
  const again = await openai.responses.retrieve(made.id)
  t.same(again.output, made.output)
  t.same(await openai.responses.delete(made.id), { id: made.id, object: 'response.deleted', deleted: true })
  const gone = await failure(openai.responses.retrieve(made.id))
  t.ok(gone instanceof OpenAI.NotFoundError)
  t.match(gone, { message: `404 Response with id '${made.id}' not found.` })
  t.ok((await failure(openai.responses.delete(made.id))) instanceof OpenAI.NotFoundError)
  const next = openai.responses.create({ model: MODEL, input: 'More', previous_response_id: made.id })
  t.match(await failure(next), { code: 'previous_response_not_found' })
})

t.test('what is not to be stored is not', async t => {
  const openai = await client(t)
  const { id } = await openai.responses.create({ model: MODEL, input: 'Hello', store: false })
  t.ok((await failure(openai.responses.retrieve(id))) instanceof OpenAI.NotFoundError)
})

t.test('a stream is kept, too', async t => {
  const openai = await client(t)
  const final = await openai.responses.stream({ model: MODEL, input: 'Hello' }).finalResponse()
  t.equal((await openai.responses.retrieve(final.id)).output_text, final.output_text)
})

t.test('a response that is gone on with is read with all that went before, and can be forked', async t => {
  const openai = await client(t)
  const first = await openai.responses.create({ model: MODEL, input: 'First', instructions: 'Be brief.' })
  const second = await openai.responses.create({ model: MODEL, input: 'Second', previous_response_id: first.id })
  const whole: ResponseInput = [
    { role: 'user', content: 'First' },
    { role: 'assistant', content: first.output_text },
    { role: 'user', content: 'Second' },
  ]
  const asked = await openai.responses.create({ model: MODEL, input: whole })
  t.equal(second.usage?.input_tokens, asked.usage?.input_tokens, 'the instructions do not stay')
  const forks = await Promise.all(
    ['A', 'B'].map(input => openai.responses.create({ model: MODEL, input, previous_response_id: second.id })),
  )
  t.not(forks[0]?.id, forks[1]?.id)
  const items = await openai.responses.inputItems.list(forks[1]?.id ?? '', { order: 'asc' })
  t.match(items.data, [
    { role: 'user', content: [{ type: 'input_text', text: 'First' }] },
    { role: 'assistant', id: /^msg_/ },
    { role: 'user', content: [{ text: 'Second' }] },
    { role: 'assistant' },
    { role: 'user', content: [{ text: 'B' }] },
  ])
})

t.test('input items come page by page, latest first', async t => {
  const openai = await client(t)
  const input = ['a', 'b', 'c'].map(content => ({ role: 'user' as const, content }))
  const { id } = await openai.responses.create({ model: MODEL, input })
  const first = await openai.responses.inputItems.list(id, { limit: 2 })
  t.match(first, { data: [{ content: [{ text: 'c' }] }, { content: [{ text: 'b' }] }], has_more: true })
  const rest = await openai.responses.inputItems.list(id, { limit: 2, after: first.data[1]?.id ?? '' })
  t.match(rest, { data: [{ content: [{ text: 'a' }] }], has_more: false })
  t.ok((await failure(openai.responses.inputItems.list(id, { limit: 0 }))) instanceof OpenAI.BadRequestError)
  t.ok((await failure(openai.responses.inputItems.list('resp_x'))) instanceof OpenAI.NotFoundError)
})

t.test('a call that went before must be answered, and no other', async t => {
  const openai = await client(t)
  const first = await openai.responses.create({ model: MODEL, input: 'get_weather city=Oslo', tools: [WEATHER] })
  const next = (call_id: string) =>
    openai.responses.create({
      model: MODEL,
      previous_response_id: first.id,
      input: [{ type: 'function_call_output', call_id, output: '4 degrees' }],
    })
  const [call] = first.output
  if (call?.type !== 'function_call') return t.fail('no function call')
  t.match((await next(call.call_id)).output_text, 'The tool answered: "4 degrees".')
  t.match(await failure(next('call_x')), { message: /No tool call found for function call output with call_id call_x/ })
  const without = openai.responses.create({ model: MODEL, previous_response_id: first.id, input: 'Well?' })
  t.match(await failure(without), { message: `400 No tool output found for function call ${call.call_id}.` })
})

t.test('own-ids: the ids of another process are not taken on trust', async t => {
  const [here, there] = [await client(t), await client(t)]
  const { id } = await there.responses.create({ model: MODEL, input: 'Hello' })
  const next = (openai: OpenAI) =>
    openai.responses.create({ model: `${MODEL}?own-ids`, input: 'More', previous_response_id: id })
  t.match(await failure(next(here)), { code: 'previous_response_not_found' })
  t.equal((await next(there)).status, 'completed')
})

t.test('sealed reasoning comes back without a store, and only as it was sealed', async t => {
  const openai = await client(t)
  const question = { role: 'user' as const, content: 'get_weather city=Oslo' }
  const asked = {
    model: MODEL,
    tools: [WEATHER],
    store: false,
    reasoning: { effort: 'low' as const },
    include: ['reasoning.encrypted_content' as const],
  }
  const { output } = await openai.responses.create({ ...asked, input: [question] })
  const [reasoning, call] = output
  if (reasoning?.type !== 'reasoning' || call?.type !== 'function_call') return t.fail('no call after reasoning')
  const result = { type: 'function_call_output' as const, call_id: call.call_id, output: '4 degrees' }
  const next = (...items: ResponseInput) => openai.responses.create({ ...asked, input: [question, ...items, result] })
  t.match((await next(reasoning, call)).output_text, /4 degrees/)
  const { encrypted_content: _, ...bare } = reasoning
  t.match(await failure(next(bare, call)), { status: 404, message: /Items are not persisted when `store`/ })
  const forged = { ...reasoning, encrypted_content: seal('messages.thinking', 'a') }
  t.match(await failure(next(forged, call)), { status: 400, code: 'invalid_encrypted_content' })
})

t.test('reasoning is followed by what it led to, which is not accepted without it', async t => {
  const openai = await client(t)
  const question = { role: 'user' as const, content: 'Hello' }
  const asked = { model: MODEL, reasoning: { effort: 'low' as const } }
  const { output } = await openai.responses.create({ ...asked, input: [question] })
  const [reasoning, message] = output as [
    OpenAI.Responses.ResponseReasoningItem,
    OpenAI.Responses.ResponseOutputMessage,
  ]
  const next = (...items: ResponseInput) =>
    openai.responses.create({ ...asked, input: [question, ...items, { role: 'user', content: 'And?' }] })
  t.equal((await next(reasoning, message)).status, 'completed')
  t.match(await failure(next(reasoning)), {
    message: `400 Item '${reasoning.id}' of type 'reasoning' was provided without its required following item.`,
    param: 'input',
  })
  t.match(await failure(next(message)), {
    message: `400 Item '${message.id}' of type 'message' was provided without its required 'reasoning' item: '${reasoning.id}'.`,
  })
  t.equal((await next({ role: 'assistant', content: 'Hi' })).status, 'completed')
})

t.test('a reference stands for the item itself', async t => {
  const openai = await client(t)
  const first = await openai.responses.create({ model: MODEL, input: 'get_weather', tools: [WEATHER] })
  const [call] = first.output
  if (call?.type !== 'function_call') return t.fail('no function call')
  const input: ResponseInput = [
    { role: 'user', content: 'get_weather' },
    { type: 'item_reference', id: call.id ?? '' },
    { type: 'function_call_output', call_id: call.call_id, output: '4' },
  ]
  t.match((await openai.responses.create({ model: MODEL, input })).output_text, 'The tool answered: "4".')
})

t.test('tokens are counted before', async t => {
  const openai = await client(t)
  const asked = { model: MODEL, input: 'Hello', tools: [WEATHER], instructions: 'Be brief.' }
  const { usage } = await openai.responses.create(asked)
  t.same(await openai.responses.inputTokens.count(asked), {
    object: 'response.input_tokens',
    input_tokens: usage?.input_tokens,
  })
})

t.test('a conversation is compacted, and continues from there', async t => {
  const openai = await client(t)
  const first = await openai.responses.create({ model: MODEL, input: 'Hello' })
  const compacted = await openai.responses.compact({ model: MODEL, previous_response_id: first.id })
  t.match(compacted, {
    object: 'response.compaction',
    output: [
      { role: 'user', content: [{ text: 'Hello' }] },
      { type: 'compaction', id: /^cmp_/, encrypted_content: String },
    ],
    usage: { input_tokens: Number },
  })
  const ask = (items: ResponseInput) =>
    openai.responses.create({ model: MODEL, input: [...items, { role: 'user', content: 'More' }] })
  t.match((await ask(compacted.output as ResponseInput)).output_text, 'You said: "More"')
  const forged: ResponseInput = [{ type: 'compaction', encrypted_content: 'x' }]
  t.match(await failure(ask(forged)), { code: 'invalid_encrypted_content' })
})

t.test('only what runs in the background can be cancelled or streamed again', async t => {
  const openai = await client(t)
  const { id } = await openai.responses.create({ model: MODEL, input: 'Hello' })
  t.match(await failure(openai.responses.cancel(id)), { status: 400, message: /synchronous response/ })
  t.match(await failure(openai.responses.cancel('resp_x')), { status: 404 })
  t.match(await failure(openai.responses.retrieve(id, { stream: true })), { status: 400, param: 'stream' })
})

t.test('a refusal, a prompt that is blocked, a page that is cited', async t => {
  const openai = await client(t)
  const refused = await openai.responses.stream({ model: MODEL, input: 'simulate_refusal' }).finalResponse()
  t.match(refused.output, [{ type: 'message', content: [{ type: 'refusal', refusal: /asked to refuse/ }] }])
  const blocked = await openai.responses.create({ model: MODEL, input: 'simulate_block' })
  t.match(blocked, { status: 'incomplete', incomplete_details: { reason: 'content_filter' }, output: [] })
  const cited = await openai.responses.stream({ model: MODEL, input: 'simulate_citation' }).finalResponse()
  t.match(cited.output, [{ content: [{ annotations: [{ type: 'url_citation', start_index: 0, url: /^https:/ }] }] }])
})

t.test('a file that comes as it is needs a name; images in results are seen', async t => {
  const openai = await client(t)
  const file = { type: 'input_file' as const, file_data: 'data:application/pdf;base64,AAAA' }
  const ask = (part: OpenAI.Responses.ResponseInputFile) =>
    openai.responses.create({ model: MODEL, input: [{ role: 'user', content: [part] }] })
  t.match((await ask({ ...file, filename: 'a.pdf' })).output_text, 'I have 1 file (application/pdf, 3 bytes).')
  t.match(await failure(ask(file)), { param: 'input[0].content[0].filename' })
  const image = { type: 'input_image' as const, image_url: 'data:image/png;base64,AAAA', detail: 'auto' as const }
  const seen = await openai.responses.create({
    model: MODEL,
    input: [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [image] },
    ],
  })
  t.match(seen.output_text, 'The tool answered: "". I see 1 image (image/png, 3 bytes).')
})

t.test('what is kept has a bound: the oldest go first', async t => {
  const upstream = await simulator(t)
  const make = async (input: string) => {
    const { text } = await post(upstream, '/v1/responses', { model: `${MODEL}?tokens=1`, input })
    return JSON.parse(text).id as string
  }
  const first = await make('first')
  const second = await make('second')
  for (let at = 0; at < 999; at += 1) await make(`number ${at}`)
  const openai = sdk(upstream)
  t.ok((await failure(openai.responses.retrieve(first))) instanceof OpenAI.NotFoundError)
  t.equal((await openai.responses.retrieve(second)).id, second)
})

t.test('what is kept is forgotten with the requests that were received', async t => {
  const upstream = await simulator(t)
  const openai = sdk(upstream)
  const { id } = await openai.responses.create({ model: MODEL, input: 'Hello' })
  await fetch(`${upstream.origin}/simulator/requests`, { method: 'DELETE' })
  t.ok((await failure(openai.responses.retrieve(id))) instanceof OpenAI.NotFoundError)
})

t.test('a response that is given out fits its description', { skip: openApiFolder() === undefined }, async t => {
  const openai = await client(t)
  const { id } = await openai.responses.create({ model: MODEL, input: 'Hello', tools: [WEATHER] })
  t.same(openApi('responses.response')(JSON.parse(JSON.stringify(await openai.responses.retrieve(id)))), [])
})
