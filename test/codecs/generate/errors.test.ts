import t from 'tap'
import { generate } from '../../../src/codecs/generate/index.js'
import type { Json, JsonObject } from '../../../src/core/json.js'

const { decodeError } = generate.client

function refusal(message: string, details: readonly Json[] = [], status = 'INVALID_ARGUMENT'): JsonObject {
  return { error: { code: 400, message, status, details } }
}

t.test('the message, and the field at fault', async t => {
  const details = [{ '@type': 'x/BadRequest', fieldViolations: [{ field: 'contents[0].role', description: 'No.' }] }]
  t.same(decodeError(400, refusal('Wrong.', details)), { message: 'Wrong.', param: 'contents[0].role' })
})

t.test('a wrong key, though its status is that of a wrong request', async t => {
  const details = [{ '@type': 'x/ErrorInfo', reason: 'API_KEY_INVALID', domain: 'example.com' }]
  t.match(decodeError(400, refusal('No.', details)), { code: 'invalid_api_key' })
  t.match(decodeError(400, refusal('API key not valid. Please pass a valid API key.')), { code: 'invalid_api_key' })
})

t.test('how long to wait', async t => {
  const after = (retryDelay: Json): number | undefined =>
    decodeError(429, refusal('Slow.', [{ '@type': 'x/RetryInfo', retryDelay }], 'RESOURCE_EXHAUSTED')).retryAfter
  t.same(
    [after('48s'), after('0.5s'), after('48'), after(48), after('-1s')],
    [48_000, 500, undefined, undefined, undefined],
  )
  t.match(decodeError(429, refusal('Slow.')), { code: 'rate_limit_exceeded' })
})

t.test('codes that clients match', async t => {
  const long = 'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).'
  t.match(decodeError(400, refusal(long)), { code: 'context_length_exceeded' })
  t.match(decodeError(404, refusal('models/x is not found for API version v1beta')), { code: 'model_not_found' })
})

t.test('one in a list, and none at all', async t => {
  t.same(decodeError(404, [refusal('Gone.')]), { message: 'Gone.' })
  for (const body of [undefined, null, 'x', [], {}, { error: 'x' }, [{ error: [] }]] as (Json | undefined)[]) {
    t.same(decodeError(500, body), { message: undefined })
  }
  t.same(decodeError(500, { error: { message: 1, details: [null, 1, { fieldViolations: [1] }] } }), {
    message: undefined,
  })
})
