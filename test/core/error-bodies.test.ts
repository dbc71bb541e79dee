import t from 'tap'
import { errorBody, familyStatus, streamErrorFrame } from '../../src/core/error-bodies.js'
import { ERROR_CODES, type ErrorCode, FAMILIES, GatewayError } from '../../src/core/errors.js'

const limited = new GatewayError('rate_limited', 'Slow down.', { param: 'model' })

t.test('the compatible family gets message, type, param and code', async t => {
  t.strictSame(errorBody(limited, 'compatible', 'req-1'), {
    error: { message: 'Slow down.', type: 'requests', param: 'model', code: 'rate_limit_exceeded' },
  })
})

t.test('the messages family gets a typed error and the request id', async t => {
  t.strictSame(errorBody(limited, 'messages', 'req-1'), {
    type: 'error',
    error: { type: 'rate_limit_error', message: 'Slow down.' },
    request_id: 'req-1',
  })
})

t.test('the native family gets the status as a number and as a name', async t => {
  t.strictSame(errorBody(limited, 'native', 'req-1'), {
    error: { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED' },
  })
})

t.test('the body says to clients of the native family how long to wait', async t => {
  const retryInfo = 'type.googleapis.com/google.rpc.RetryInfo'
  for (const [retryAfter, retryDelay] of [
    [7000, '7s'],
    [6500, '6.5s'],
    [0.4, '0.001s'],
    [0, '0s'],
  ] as const) {
    const waiting = new GatewayError('rate_limited', 'Slow down.', { retryAfter })
    const details = [{ '@type': retryInfo, retryDelay }]
    t.strictSame(errorBody(waiting, 'native', 'req-1'), {
      error: { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED', details },
    })
  }
})

t.test('the body says to clients of the native family that no key counts', async t => {
  const refused = new GatewayError('unauthenticated', 'No.')
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
  ]
  t.strictSame(errorBody(refused, 'native', 'req-1'), {
    error: { code: 401, message: 'No.', status: 'UNAUTHENTICATED', details },
  })
})

t.test('a quota that is used up is reported by type and code', async t => {
  const used = new GatewayError('rate_limited', 'No credit.', { familyCode: 'insufficient_quota' })
  t.strictSame(errorBody(used, 'compatible', 'req-1'), {
    error: { message: 'No credit.', type: 'insufficient_quota', param: null, code: 'insufficient_quota' },
  })
})

t.test('an overload has one status for clients of messages and another for all others', async t => {
  for (const status of [503, 529]) {
    for (const family of FAMILIES) t.equal(familyStatus(status, family), family === 'messages' ? 529 : 503)
  }
  for (const status of [400, 404, 429, 500, 502, 504])
    for (const family of FAMILIES) t.equal(familyStatus(status, family), status)
})

t.test('the image-task family gets its own code and a description', async t => {
  t.strictSame(errorBody(limited, 'image-tasks', 'req-1'), { code: 23, description: 'Slow down.', result: null })
})

t.test('the family of reranking gets the request id and the message', async t => {
  t.strictSame(errorBody(limited, 'rerank', 'req-1'), { id: 'req-1', message: 'Slow down.' })
})

t.test('every code has a body in every family, and no body holds the cause', async t => {
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const error = new GatewayError(code, 'What happened.', { cause: new Error('canary-in-the-cause') })
    for (const family of FAMILIES) {
      const text = JSON.stringify(errorBody(error, family, 'req-1'))
      t.match(text, 'What happened.')
      t.notMatch(text, 'canary')
    }
  }
})

t.test('a broken stream of the compatible family ends with an error event and no terminator', async t => {
  const frame = streamErrorFrame(new GatewayError('upstream_truncated', 'It broke.'), 'compatible', 'req-1', undefined)
  t.match(frame, /^data: \{"error":\{.*\}\}\n\n$/)
  t.notMatch(frame, '[DONE]')
})

t.test('a broken stream of the messages family names its event', async t => {
  const frame = streamErrorFrame(new GatewayError('upstream_truncated', 'It broke.'), 'messages', 'req-1', undefined)
  t.match(frame, /^event: error\ndata: \{"type":"error".*\}\n\n$/)
})

t.test('a broken responses stream repeats the response that had begun, as failed', async t => {
  const started = { response: { id: 'resp_1', object: 'response', status: 'in_progress' }, sequence: 4 }
  const text = streamErrorFrame(new GatewayError('upstream_truncated', 'It broke.'), 'responses', 'req-1', started)
  const events = text
    .trim()
    .split('\n\n')
    .map(event => JSON.parse(event.split('\ndata: ')[1] ?? ''))
  t.strictSame(
    events.map(event => [event.type, event.sequence_number]),
    [
      ['error', 4],
      ['response.failed', 5],
    ],
  )
  t.match(events[0].error, { message: 'It broke.', code: 'upstream_truncated' })
  t.match(events[1].response, { id: 'resp_1', status: 'failed', error: { message: 'It broke.' } })
})

t.test('before response.created a responses stream ends with the error event alone', async t => {
  const text = streamErrorFrame(new GatewayError('upstream_truncated', 'It broke.'), 'responses', 'req-1', undefined)
  t.equal(text.trim().split('\n\n').length, 1)
})
