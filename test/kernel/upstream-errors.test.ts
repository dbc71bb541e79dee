import t from 'tap'
import { retryAfter } from '../../src/core/retry-after.js'
import { classify, errorOfStatus } from '../../src/kernel/upstream-errors.js'

t.test('a wait is read from milliseconds, seconds and dates', async t => {
  t.equal(retryAfter({ 'retry-after-ms': '250', 'retry-after': '7' }), 250)
  t.equal(retryAfter({ 'retry-after': '7' }), 7000)
  const wait = retryAfter({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }) ?? 0
  t.ok(wait > 50_000 && wait <= 60_000)
})

t.test('a wait is never negative, endless or made up', async t => {
  t.equal(retryAfter({ 'retry-after': new Date(0).toUTCString() }), 0)
  t.equal(retryAfter({ 'retry-after': '999999999' }), 3_600_000)
  t.equal(retryAfter({ 'retry-after': 'soon' }), undefined)
  t.equal(retryAfter({}), undefined)
})

t.test("F-U12 a refusal of the gateway's own credential is never the client's", async t => {
  for (const status of [401, 403, 407]) t.match(errorOfStatus(status, {}), { code: 'upstream_auth', status: 502 })
})

t.test('F-U12 other refusals keep their status', async t => {
  for (const status of [400, 404, 409, 413, 422])
    t.match(errorOfStatus(status, {}), { code: 'upstream_rejected', status })
})

t.test('F-U21 a redirect is an error of the upstream and names no host to the client', async t => {
  const error = errorOfStatus(302, { location: 'http://elsewhere.example/v1' })
  t.match(error, { code: 'bad_upstream_response', status: 502 })
  t.notMatch(error.message, 'elsewhere')
})

t.test('only redirects are reported as redirects', async t => {
  for (const status of [101, 204, 206, 304]) t.notMatch(errorOfStatus(status, {}).message, 'redirect')
})

t.test('running out of descriptors is not a failure of the upstream, however it is wrapped', async t => {
  const inner = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code })
  const ours = { condition: 'descriptors', error: { code: 'unavailable', details: { limit: 'descriptors' } } }
  for (const error of [
    inner('EMFILE'),
    inner('ENFILE'),
    new Error('fetch failed', { cause: inner('EMFILE') }),
    new AggregateError([inner('ECONNREFUSED'), inner('EMFILE')]),
  ]) {
    t.match(classify(error, true), ours)
    t.match(classify(error, false), ours)
  }
  t.match(classify(inner('ECONNREFUSED'), true), { condition: 'connect' })
  const circle = inner('ECONNRESET')
  t.match(classify(Object.assign(circle, { cause: circle }), false), { condition: 'reset' })
})

t.test('both clients name their failures so that they are classified alike', async t => {
  const cases: [code: string, connecting: boolean, condition: string, error: string][] = [
    ['CONNECT_TIMEOUT', true, 'connect', 'upstream_timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', true, 'connect', 'upstream_timeout'],
    ['REQUEST_INVALID', true, 'connect', 'upstream_unavailable'],
    ['ANSWER_INVALID', false, 'bad_response', 'bad_upstream_response'],
    ['HPE_HEADER_OVERFLOW', false, 'bad_response', 'bad_upstream_response'],
    ['UND_ERR_HEADERS_OVERFLOW', false, 'bad_response', 'bad_upstream_response'],
    ['CONNECTION_CLOSED', false, 'reset', 'upstream_unavailable'],
    ['UND_ERR_SOCKET', false, 'reset', 'upstream_unavailable'],
  ]
  for (const [code, connecting, condition, error] of cases) {
    t.match(classify(Object.assign(new Error(code), { code }), connecting), { condition, error: { code: error } }, code)
  }
})
