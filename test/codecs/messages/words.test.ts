import t from 'tap'
import { messages, messagesCount } from '../../../src/codecs/messages/index.js'
import { decodeCallId, decodeToolName, encodeCallId, encodeToolName } from '../../../src/codecs/messages/names.js'

import { fc } from '../../helpers/property.js'
import { requestOf, targetOf } from '../support.js'

t.test('any name of a tool comes back as it was', async t => {
  const names = fc.oneof(fc.string({ maxLength: 18 }), fc.stringMatching(/^(gw1c?_)?[a-z.-]{0,12}$/))
  fc.assert(
    fc.property(names, fc.boolean(), (name, custom) => {
      const wire = encodeToolName(name, custom)
      t.match(wire, /^[a-zA-Z0-9_-]{1,128}$/, name)
      t.strictSame(decodeToolName(wire!), { name, custom })
    }),
  )
})

t.test('names of the protocol stay as they are', async t => {
  t.equal(encodeToolName('get_weather-2'), 'get_weather-2')
  t.equal(encodeToolName('files.read'), 'gw1_files-2e-read')
  t.equal(encodeToolName('a'.repeat(128)), 'a'.repeat(128))
  t.equal(encodeToolName('a'.repeat(129)), undefined)
})

t.test('any id of a call comes back as it was', async t => {
  const ids = fc.oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^(gw1-)?[a-zA-Z0-9_-]{0,12}$/))
  fc.assert(
    fc.property(ids, id => {
      t.match(encodeCallId(id), /^[a-zA-Z0-9_-]+$/)
      t.equal(decodeCallId(encodeCallId(id)), id)
    }),
  )
  t.equal(encodeCallId('toolu_01'), 'toolu_01')
})

t.test('what an upstream says in refusing', async t => {
  const error = (type: string, message: string): object =>
    messages.client.decodeError(400, { type: 'error', error: { type, message } })
  t.strictSame(error('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'), {
    message: 'prompt is too long: 9 tokens > 8 maximum',
    code: 'context_length_exceeded',
  })
  t.strictSame(error('invalid_request_error', 'messages.0.content: must not be empty'), {
    message: 'messages.0.content: must not be empty',
    param: 'messages.0.content',
  })
  t.strictSame(error('not_found_error', 'model: up-1'), {
    message: 'model: up-1',
    param: 'model',
    code: 'model_not_found',
  })
  t.match(error('rate_limit_error', 'Slow down.'), { code: 'rate_limit_exceeded' })
  t.match(error('authentication_error', 'invalid x-api-key'), { code: 'authentication_error' })
})

t.test('a refusal that is not one of the protocol says nothing, and does no harm', async t => {
  for (const body of [undefined, null, 'x', [], {}, { error: 'x' }, { error: { message: 1 } }] as const) {
    t.strictSame(messages.client.decodeError(500, body), { message: undefined })
  }
})

t.test('counting takes what the prompt is made of, and needs no limit', async t => {
  const { server, client } = messagesCount
  const request = requestOf({
    stream: true,
    temperature: 0.5,
    stop: ['END'],
    user: 'u',
    system: [{ type: 'text', text: 'Be kind.' }],
    tools: [{ type: 'function', name: 'f' }],
    reasoning: { budget: 2048 },
    seed: 1,
  })
  const target = { ...targetOf(messages), traits: {} }
  const body = client.encodeRequest(request, target)
  t.strictSame(Object.keys(body).sort(), ['messages', 'model', 'system', 'thinking', 'tools'])
  t.strictSame(target.lost, [])
  t.strictSame(server.encodeResult(14), { input_tokens: 14 })
  t.equal(client.decodeResult({ input_tokens: 14 }), 14)
  t.throws(() => client.decodeResult({ input_tokens: 'x' }), { code: 'bad_upstream_response' })
  t.match(server.decodeRequest({ messages: [{ role: 'user', content: 'a' }] }, request), {
    turns: [{ role: 'user' }],
  })
})

t.test('counting takes the tool that a structured answer will be asked for with', async t => {
  const request = requestOf({ format: { type: 'schema', schema: { type: 'object', properties: {} } } })
  const body = messagesCount.client.encodeRequest(request, targetOf(messages, { structured: 'tool' }))
  t.match(body, { tools: [{ name: /./ }], tool_choice: { type: 'tool' } })
  t.notOk('output_config' in body)
})
