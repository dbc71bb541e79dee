import t from 'tap'
import type { JsonObject } from '../../../src/core/json.js'
import { PROTOCOLS } from '../../helpers/text-clients.js'
import { refused, translated } from '../translated.js'

// What clients of responses ask for and what upstreams of responses are given.

const ask = (more: JsonObject): JsonObject => ({ model: 'm', input: 'hi', ...more })
const OTHERS = PROTOCOLS.filter(protocol => protocol !== 'responses')

t.test('a function that says nothing of strict is strict where its schema is fit for that', async t => {
  const properties = { a: { type: 'string' }, b: { type: 'object', properties: {}, additionalProperties: false } }
  const fit = { type: 'object', properties, required: ['a', 'b'], additionalProperties: false }
  const strict = (parameters: JsonObject | null, said?: boolean): unknown => {
    const tool = { type: 'function', name: 'f', parameters, ...(said !== undefined && { strict: said }) }
    const { tools } = translated('responses', 'chat', ask({ tools: [tool] })).body
    return (tools as { function: { strict?: boolean } }[])[0]?.function.strict
  }
  t.equal(strict(fit), true)
  t.equal(strict({ ...fit, additionalProperties: true }), undefined)
  t.equal(strict({ type: 'object', properties }), undefined)
  t.equal(strict({ ...fit, required: ['a'] }), undefined)
  t.equal(strict({ ...fit, properties: { ...properties, b: { type: 'object' } } }), undefined)
  t.equal(strict({ ...fit, properties: { ...properties, b: { type: 'array', items: { type: 'object' } } } }), undefined)
  t.equal(strict(null), undefined)
  t.equal(strict({ type: 'object', properties }, true), true, 'what is said, is said')
  t.equal(strict(fit, false), false)
})

t.test('a prompt that is at one upstream is refused by name', async t => {
  for (const protocol of OTHERS) {
    t.equal(refused('responses', protocol, ask({ prompt: { id: 'pmpt_1' } })), 'prompt', protocol)
    t.equal(refused('responses', protocol, ask({})), undefined)
  }
})

t.test('a web search has the domains and the place that other protocols say, and the rest is named', async t => {
  const messages = [{ role: 'user', content: 'hi' }]
  const search = {
    type: 'web_search_20250305',
    name: 'web_search',
    allowed_domains: ['a.example'],
    user_location: { type: 'approximate', city: 'Berlin' },
  }
  const asking = (more: JsonObject) =>
    translated('messages', 'responses', { model: 'm', max_tokens: 99, messages, tools: [{ ...search, ...more }] })
  t.match(asking({}), {
    body: {
      tools: [
        {
          type: 'web_search',
          filters: { allowed_domains: ['a.example'] },
          user_location: { type: 'approximate', city: 'Berlin' },
        },
      ],
    },
    dropped: [],
  })
  t.same(asking({ max_uses: 3 }).dropped, ['tools[0]'])
})

t.test('a demand to call a tool is named where there is none', async t => {
  const { body, dropped } = translated('chat', 'responses', {
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tool_choice: 'required',
  })
  t.notOk('tool_choice' in body)
  t.same(dropped, ['tool_choice'])
})

t.test('instructions alone are in the conversation, which may not be empty', async t => {
  const messages = [{ role: 'system', content: 'Greet.' }]
  const { body } = translated('chat', 'responses', { model: 'm', messages })
  t.match(body.input, [{ role: 'developer', content: [{ type: 'input_text', text: 'Greet.' }] }])
  t.notOk('instructions' in body)
})
