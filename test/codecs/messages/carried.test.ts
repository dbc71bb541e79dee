import t from 'tap'
import type { JsonObject } from '../../../src/core/json.js'
import { answerTo, requestOf, type TestAnswer } from '../support.js'
import { textCodec, translated } from '../translated.js'

// What of clients' requests reaches an upstream that speaks messages, and what of it is said not to.

const ASK = [{ role: 'user', content: 'hi' }]
const chat = (more: JsonObject): JsonObject => ({ model: 'm', messages: ASK, ...more })
const native = (generationConfig: JsonObject): JsonObject => ({
  contents: [{ parts: [{ text: 'hi' }] }],
  generationConfig,
})

t.test('a temperature that is not taken is named, and one that is, is not', async t => {
  const hot = translated('chat', 'messages', chat({ temperature: 1.7 }))
  t.match(hot, { body: { temperature: 1 }, dropped: ['temperature'] })
  t.same(translated('chat', 'messages', chat({ temperature: 0.7 })).dropped, [])
})

t.test('a budget that the limit has no room for is named', async t => {
  const budget = (thinkingBudget: number, maxOutputTokens: number) =>
    translated('generate', 'messages', native({ maxOutputTokens, thinkingConfig: { thinkingBudget } }))
  t.match(budget(8000, 4000), {
    body: { thinking: { budget_tokens: 2976 } },
    dropped: ['generationConfig.thinkingConfig'],
  })
  t.match(budget(128, 4000), {
    body: { thinking: { budget_tokens: 1024 } },
    dropped: ['generationConfig.thinkingConfig'],
  })
  t.match(budget(2000, 4000), { body: { thinking: { budget_tokens: 2000 } }, dropped: [] })
})

t.test('an effort as a budget is named where the limit cuts it', async t => {
  const effort = (max_tokens: number) =>
    translated('chat', 'messages', chat({ reasoning_effort: 'high', max_tokens }), { reasoning: 'budget' })
  t.match(effort(3000), { body: { thinking: { budget_tokens: 1976 } }, dropped: ['reasoning_effort'] })
  t.match(effort(32_000), { body: { thinking: { budget_tokens: 24_576 } }, dropped: [] })
})

t.test('thinking that cannot be switched off is named', async t => {
  const off = translated('chat', 'messages', chat({ reasoning_effort: 'none' }), { reasoning: 'effort' })
  t.match(off, { body: { output_config: { effort: 'low' } }, dropped: ['reasoning_effort'] })
})

t.test('an answer in JSON that nothing checks is named', async t => {
  t.same(translated('chat', 'messages', chat({ response_format: { type: 'json_object' } })).dropped, [
    'response_format',
  ])
})

t.test('white space at the end of a prefill is named where it is cut', async t => {
  const prefill = (content: string) =>
    translated('chat', 'messages', { model: 'm', messages: [...ASK, { role: 'assistant', content }] })
  t.match(prefill('It is '), { body: { messages: [{}, { content: [{ text: 'It is' }] }] }, dropped: ['messages[1]'] })
  t.same(prefill('It is').dropped, [])
})

t.test('the name of a participant is named by its member', async t => {
  const messages = [{ role: 'user', name: 'bob', content: 'hi' }]
  t.same(translated('chat', 'messages', { model: 'm', messages }).dropped, ['messages[0].name'])
})

t.test('a web search has the domains and the place that other protocols say, and the rest is named', async t => {
  const place = { type: 'approximate', approximate: { city: 'Berlin', country: 'DE' } }
  const near = translated('chat', 'messages', chat({ web_search_options: { user_location: place } }))
  t.match(near.body.tools, [{ user_location: { type: 'approximate', city: 'Berlin', country: 'DE' } }])
  t.same(near.dropped, [])
  const search = { type: 'web_search', filters: { allowed_domains: ['a.example'] }, search_context_size: 'low' }
  const bounded = translated('responses', 'messages', { model: 'm', input: 'hi', tools: [search] })
  t.match(bounded.body.tools, [{ allowed_domains: ['a.example'] }])
  t.same(bounded.dropped, ['tools[0]'])
})

t.test('what an upstream’s container holds is named', async t => {
  const code = (container: JsonObject) =>
    translated('responses', 'messages', { model: 'm', input: 'hi', tools: [{ type: 'code_interpreter', container }] })
  t.same(code({ type: 'auto', file_ids: ['file-1'] }).dropped, ['tools[0]'])
  t.same(code({ type: 'auto' }).dropped, [])
})

t.test('a grammar that nothing holds the model to is named', async t => {
  const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: "x"' }
  const custom = (format?: JsonObject) =>
    translated('responses', 'messages', {
      model: 'm',
      input: 'hi',
      tools: [{ type: 'custom', name: 'c', ...(format && { format }) }],
    })
  t.match(custom(grammar), { body: { tools: [{ description: /start: "x"/ }] }, dropped: ['tools[0]'] })
  t.same(custom().dropped, [])
})

t.test('an end without a word here is named', async t => {
  const { client } = textCodec('generate')
  const answer = (finishReason: string): TestAnswer => {
    const told = answerTo(requestOf())
    const candidates = [{ content: { role: 'model', parts: [{ text: 'x' }] }, finishReason }]
    textCodec('messages').server.encodeResult(client.decodeResult({ candidates, modelVersion: 'm' }), told)
    return told
  }
  for (const reason of ['OTHER', 'NO_IMAGE', 'MALFORMED_FUNCTION_CALL']) t.equal(answer(reason).lost.length, 1, reason)
  for (const reason of ['STOP', 'MAX_TOKENS', 'SAFETY']) t.equal(answer(reason).lost.length, 0, reason)
})
