import t from 'tap'
import { converse } from '../../../src/codecs/converse/index.js'

t.test('an error in place of an answer, with status 200, is that error', async t => {
  const cases: readonly (readonly [object, string, number | undefined])[] = [
    [{ message: 'no chalk left' }, 'upstream_failed', undefined],
    [{ __type: 'ThrottlingException', message: 'no chalk left' }, 'rate_limited', undefined],
    [{ __type: 'com.amazon.coral#ServiceUnavailableException', Message: 'no chalk left' }, 'upstream_failed', 503],
    [{ __type: 'ModelTimeoutException:http://internal.example/', message: 'no chalk left' }, 'upstream_failed', 504],
  ]
  for (const [body, code, status] of cases) {
    t.throws(() => converse.client.decodeResult({ ...body }), {
      code,
      message: 'no chalk left',
      ...(status !== undefined && { status }),
    })
  }
  for (const body of [{}, { message: 7 }, { output: {}, message: 'x' }])
    t.throws(() => converse.client.decodeResult(body as never), { code: 'bad_upstream_response' })
})
