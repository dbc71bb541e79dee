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
    'GET /v1/chat/completions',
    'GET /v1/files',
    'GET /v1/models',
    'GET /v1/models/{id*}',
    'GET /v1/openapi.json',
    'GET /v1/usage',
    'GET /v1/videos',
    'POST /v1/audio/speech',
    'POST /v1/audio/transcriptions',
    'POST /v1/audio/translations',
    'POST /v1/batches',
    'POST /v1/chat/completions',
    'POST /v1/completions',
    'POST /v1/conversations',
    'POST /v1/embeddings',
    'POST /v1/files',
    'POST /v1/images/edits',
    'POST /v1/images/generations',
    'POST /v1/images/variations',
    'POST /v1/moderations',
    'POST /v1/realtime/client_secrets',
    'POST /v1/rerank',
    'POST /v1/responses',
    'POST /v1/uploads',
    'POST /v1/videos',
    'POST /v2/rerank',
    'WS /v1/realtime',
    'WS /v1/responses',
  ]
  // What belongs to a thing that exists already is below it.
  const below = / \/v1\/(?:chat\/completions|responses|conversations|files|batches|uploads|videos)\//
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
  const places: Readonly<Record<string, number>> = {
    'GET /v1/models': 3,
    'GET /v1/models/{id*}': 3,
    'GET /v1/openapi.json': 3,
    'GET /v1/usage': 3,
    'WS /v1/realtime': 2,
  }
  for (const { id, caller, errors, shipped } of plan.routes) {
    t.same(caller[0], { in: 'header', name: 'authorization', scheme: 'Bearer' })
    t.equal(caller.length, places[id] ?? 1, 'some are for every family, and browsers open WebSockets')
    t.equal(errors, id === 'POST /v2/rerank' ? 'rerank' : 'compatible', id)
    t.ok(shipped)
  }
})

t.test('realtime is a raw tunnel: the model is in the query, the key may be a subprotocol', async t => {
  const { tunnel, model, caller, body } = route('WS /v1/realtime')
  t.match({ tunnel, model, body }, { tunnel: 'raw', model: { from: 'query', name: 'model' }, body: 'none' })
  t.same(caller[1], { in: 'subprotocol', prefix: 'openai-insecure-api-key.' })
  const { messages, subprotocols, usage } = protocol('WS /v1/realtime')
  const counted = ['response.done', 'conversation.item.input_audio_transcription.completed']
  t.same(messages, { counted, errorEvent: true })
  const { rules } = route('WS /v1/realtime').members.of('any')
  const named = rules.filter(({ action }) => action === 'model').map(({ path }) => path.join('.'))
  t.ok(named.includes('session.model') && named.includes('session.audio.input.transcription.model'))
  t.same(subprotocols?.answer, ['realtime'])
  t.same(
    ['realtime', 'openai-beta.realtime-v1', 'openai-organization.x'].map(name => subprotocols?.pass(name)),
    [true, true, false],
  )
  t.same(usage?.total, [
    ['response', 'usage', 'total_tokens'],
    ['usage', 'total_tokens'],
  ])
})

t.test('forms say where model and stream are; edits may come as JSON, too', async t => {
  for (const id of ['images/edits', 'images/variations', 'audio/transcriptions', 'audio/translations']) {
    const { body, model, stream, validate, validateJson } = route(`POST /v1/${id}`)
    t.equal(body, 'multipart')
    t.same(model, { from: 'form', name: 'model' })
    t.ok(validate)
    t.equal(validateJson !== undefined, id === 'images/edits')
    const streams = id === 'images/edits' || id === 'audio/transcriptions'
    t.same(stream, streams ? { from: 'form', name: 'stream' } : 'never')
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
    members: [],
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

t.test('of every answer that passes unchanged it is known whether it is JSON or bytes', async t => {
  const all = planOf(await loadText('version: 1')).routes
  const relayed = all.filter(({ protocol, resource, tunnel, task }) => protocol && !resource && !tunnel && !task)
  t.ok(relayed.length > 20)
  for (const { protocol } of relayed) t.type(protocol?.binary, 'boolean', `${protocol?.name}`)
})

t.test('responses have their own way to say that a model does not exist', async t => {
  const { unknownModel } = protocol('POST /v1/responses')
  t.match(unknownModel, { status: 400, param: 'model', message: "The requested model '{model}' does not exist." })
})

t.test('embeddings, reranking and moderations are never streams', async t => {
  for (const id of ['POST /v1/embeddings', 'POST /v1/rerank', 'POST /v2/rerank', 'POST /v1/moderations'])
    t.equal(route(id).stream, 'never')
})

t.test('usage is where the protocol puts it', async t => {
  t.same(protocol('POST /v1/chat/completions').usage?.input, [
    ['usage', 'prompt_tokens'],
    ['choices', '*', 'usage', 'prompt_tokens'],
    ['x_groq', 'usage', 'prompt_tokens'],
  ])
  t.same(protocol('POST /v1/responses').usage?.input, [
    ['usage', 'input_tokens'],
    ['response', 'usage', 'input_tokens'],
  ])
  t.same(protocol('POST /v1/embeddings').usage?.total, [['usage', 'total_tokens']])
})
