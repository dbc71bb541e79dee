import t from 'tap'
import { chat } from '../../../src/codecs/chat/index.js'
import type { Json } from '../../../src/core/json.js'

const decode = (body: Json | undefined): unknown => chat.client.decodeError(400, body)

t.test('what the protocol’s own servers say', async t => {
  const error = {
    message: 'Too long.',
    type: 'invalid_request_error',
    param: 'messages',
    code: 'context_length_exceeded',
  }
  t.same(decode({ error }), { message: 'Too long.', param: 'messages', code: 'context_length_exceeded' })
  t.same(decode({ error: { ...error, param: null, code: null } }), { message: 'Too long.' })
})

t.test('what compatible servers say', async t => {
  t.same(decode({ error: 'Just words.', code: 'invalid-argument' }), {
    message: 'Just words.',
    code: 'invalid-argument',
  })
  t.same(decode({ error: { message: 'No.', code: 401 } }), { message: 'No.' }, 'a number is no code')
  t.same(decode({ detail: 'Not here.' }), { message: 'Not here.' })
  t.same(decode({ detail: [{ loc: ['body'], msg: 'Field required' }] }), { message: 'Field required' })
  t.same(decode({ object: 'error', message: 'Bad.', code: '1300' }), { message: 'Bad.' })
  t.same(decode([{ error: { message: 'In a list.' } }]), { message: 'In a list.' })
})

t.test('servers without codes say in words that a request is too long', async t => {
  const code = 'context_length_exceeded'
  for (const message of [
    'request (8211 tokens) exceeds the available context size (4096 tokens), try increasing it',
    "This model's maximum context length is 4096 tokens. However, you requested 8211 tokens.",
  ]) {
    t.same(decode({ error: { code: 400, message, type: 'exceed_context_size_error' } }), { message, code })
    t.same(decode({ error: { code: 'other', message } }), { message, code: 'other' })
  }
})

t.test('anything else says nothing, and throws nothing', async t => {
  for (const body of [undefined, null, 1, 'text', [], {}, { error: 1 }, { error: [] }, { detail: [1] }])
    t.same(decode(body), { message: undefined })
})

t.test('a message of any length is cut', async t => {
  const { message } = chat.client.decodeError(400, { error: { message: 'x'.repeat(1e6) } })
  t.ok((message ?? '').length <= 4000)
})
