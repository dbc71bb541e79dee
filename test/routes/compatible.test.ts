import t from 'tap'
import type { Protocol, Route } from '../../src/core/plan.js'
import { loadText, planOf } from './plans.js'

const plan = planOf(await loadText('version: 1\ninterfaces: [compatible]'))

function route(id: string): Route {
  const found = plan.routes.find(one => one.id === id)
  if (found === undefined) throw new Error(`no route ${id}`)
  return found
}

function protocol(id: string): Protocol {
  const found = route(id).protocol
  if (found === undefined) throw new Error(`${id} has no protocol`)
  return found
}

t.test('the compatible interface is these routes', async t => {
  const expected = [
    'GET /v1/batches',
    'GET /v1/files',
    'GET /v1/models',
    'GET /v1/models/{id*}',
    'POST /v1/audio/speech',
    'POST /v1/batches',
    'POST /v1/chat/completions',
    'POST /v1/completions',
    'POST /v1/embeddings',
    'POST /v1/files',
    'POST /v1/images/generations',
    'POST /v1/moderations',
    'POST /v1/rerank',
    'POST /v1/responses',
    'POST /v2/rerank',
    'WS /v1/responses',
  ]
  // What belongs to a thing that exists already stands below it.
  const below = / \/v1\/(?:responses|files|batches)\//
  t.same(
    plan.routes
      .map(({ id }) => id)
      .filter(id => !below.test(id))
      .sort(),
    expected,
  )
  t.ok(plan.routes.some(({ id }) => id === 'POST /v1/responses/input_tokens'))
})

t.test('its routes take a bearer key and answer errors in its family', async t => {
  for (const { id, answer, caller, errors, shipped } of plan.routes) {
    t.same(caller[0], { in: 'header', name: 'authorization', scheme: 'Bearer' })
    const shared = answer === 'models' || answer === 'model'
    t.equal(caller.length, shared ? 3 : 1, 'models are told to every family')
    t.equal(errors, id === 'POST /v2/rerank' ? 'rerank' : 'compatible', id)
    t.ok(shipped)
  }
})

t.test('a model may hold slashes in GET /v1/models/{id*}', async t => {
  const match = plan.match('GET', '/v1/models/vendor/model')
  t.equal(match.route?.answer, 'model')
  if (match.route !== undefined) t.equal(match.params.id, 'vendor/model')
})

t.test('chat and completions may be streams, which end with [DONE]', async t => {
  for (const id of ['POST /v1/chat/completions', 'POST /v1/completions']) {
    t.same(route(id).stream, { from: 'body', name: 'stream' })
    t.equal(protocol(id).end?.data, '[DONE]')
    t.equal(protocol(id).streamError, 'family')
  }
})

t.test('streams of responses end with a typed event', async t => {
  const { end, streamError } = protocol('POST /v1/responses')
  t.equal(end?.data, undefined)
  t.same(end?.events, ['response.completed', 'response.incomplete', 'response.failed'])
  t.equal(streamError, 'responses')
})

t.test('streams of images end with the transfer, after an event that completes an image', async t => {
  t.same(protocol('POST /v1/images/generations').end, {
    data: '[DONE]',
    events: ['image_generation.completed'],
    repeats: true,
  })
  t.ok(route('POST /v1/images/generations').limits.event > 4 * 1024 * 1024, 'a whole image fits into an event')
})

t.test('speech is bytes, or events that end with a typed one', async t => {
  const { binary, end } = protocol('POST /v1/audio/speech')
  t.equal(binary, true)
  t.same(end?.events, ['speech.audio.done'])
  t.equal(protocol('POST /v1/images/generations').binary, false)
})

t.test('responses have their own way to say that a model does not exist', async t => {
  const { unknownModel } = protocol('POST /v1/responses')
  t.match(unknownModel, { status: 400, param: 'model', message: "The requested model '{model}' does not exist." })
})

t.test('embeddings, reranking and moderations are never streams', async t => {
  for (const id of ['POST /v1/embeddings', 'POST /v1/rerank', 'POST /v2/rerank', 'POST /v1/moderations'])
    t.equal(route(id).stream, 'never')
})

t.test('usage stands where the protocol puts it', async t => {
  t.same(protocol('POST /v1/chat/completions').usage?.input, [['usage', 'prompt_tokens']])
  t.same(protocol('POST /v1/responses').usage?.input, [['usage', 'input_tokens']])
  t.same(protocol('POST /v1/embeddings').usage?.total, [['usage', 'total_tokens']])
})
