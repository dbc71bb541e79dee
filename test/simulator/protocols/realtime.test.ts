import t from 'tap'
import { NO_FAULTS } from '../../../simulator/src/faults/table.js'
import { RealtimeConversation } from '../../../simulator/src/protocols/realtime/conversation.js'
import { Seed } from '../../../simulator/src/seed.js'

type Event = Readonly<Record<string, unknown>> & { readonly type: string }

/** What a conversation of these messages is answered with. */
function talk(...messages: readonly object[]): Event[] {
  const conversation = new RealtimeConversation('sim-realtime', NO_FAULTS, new Seed('test'))
  const events = [...conversation.opening()]
  for (const message of messages) events.push(...conversation.receive(JSON.stringify(message)))
  return events.map(event => JSON.parse(conversation.stamped(event)) as Event)
}

const TEXT = { type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } }
const HELLO = {
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
}

t.test('the same messages get the same answers, ids included', async t => {
  t.same(talk(HELLO, { type: 'response.create' }), talk(HELLO, { type: 'response.create' }))
})

t.test('a response in text', async t => {
  const events = talk(TEXT, HELLO, { type: 'response.create' })
  t.same(
    [...new Set(events.map(event => event.type))],
    [
      'session.created',
      'session.updated',
      'conversation.item.added',
      'conversation.item.done',
      'response.created',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.done',
      'rate_limits.updated',
    ],
  )
  const said = events.flatMap(event => (event.type === 'response.output_text.delta' ? [event.delta] : [])).join('')
  t.match(
    events.find(event => event.type === 'response.output_text.done'),
    { text: said },
  )
  t.equal(new Set(events.map(event => event.event_id)).size, events.length)
})

t.test('sound and transcript of a spoken response come interleaved', async t => {
  const types = talk(HELLO, { type: 'response.create' }).map(event => event.type)
  const [first, last] = ['response.output_audio.delta', 'response.output_audio_transcript.delta'].map(type =>
    types.indexOf(type),
  )
  t.ok(last !== undefined && first !== undefined && last < first)
  t.ok(
    types.lastIndexOf('response.output_audio_transcript.delta') > (first ?? 0),
    'words continue after the first sound',
  )
})

t.test('limits end a response early', async t => {
  const limited = { type: 'response.create', response: { max_output_tokens: 3 } }
  t.match(talk(TEXT, HELLO, limited).at(-2), {
    response: { status: 'incomplete', status_details: { reason: 'max_output_tokens' } },
  })
})

t.test('items are kept, retrieved, truncated and deleted', async t => {
  const item = { ...HELLO, item: { ...HELLO.item, id: 'item_mine' } }
  const named = (type: string): object => ({ type, item_id: 'item_mine', content_index: 0, audio_end_ms: 1 })
  const types = talk(
    item,
    named('conversation.item.retrieve'),
    named('conversation.item.truncate'),
    named('conversation.item.delete'),
    named('conversation.item.retrieve'),
  ).map(event => event.type)
  t.same(types.slice(3), [
    'conversation.item.retrieved',
    'conversation.item.truncated',
    'conversation.item.deleted',
    'error',
  ])
})

t.test('an error is an event that names the message', async t => {
  const cases: [object, object][] = [
    [
      { type: 'nothing', event_id: 'e1' },
      { param: 'type', event_id: 'e1' },
    ],
    [{}, { param: 'type', code: 'missing_required_parameter' }],
    [{ type: 'session.update' }, { param: 'session' }],
    [{ type: 'session.update', session: { voice: 'alloy' } }, { code: 'unknown_parameter' }],
    [{ type: 'session.update', session: { instructions: 'x' } }, { param: 'session.type' }],
    [{ type: 'session.update', session: { type: 'realtime', model: 'sim-other' } }, { param: 'session.model' }],
    [
      { type: 'session.update', session: { type: 'realtime', audio: { output: { format: { type: 'audio/pcmu' } } } } },
      { code: 'unsupported_value' },
    ],
    [{ type: 'input_audio_buffer.append', audio: '***' }, { param: 'audio' }],
    [{ type: 'input_audio_buffer.commit' }, { code: 'input_audio_buffer_commit_empty' }],
    [{ type: 'response.cancel' }, { code: 'response_cancel_not_active' }],
    [{ type: 'conversation.item.create', item: { type: 'message', role: 'nobody' } }, { param: 'item.role' }],
  ]
  for (const [message, error] of cases) t.match(talk(message).at(-1), { type: 'error', error }, JSON.stringify(message))
})

t.test('what was said is transcribed where that is asked for', async t => {
  const session = {
    type: 'realtime',
    audio: { input: { transcription: { model: 'sim-transcribe' }, turn_detection: null } },
  }
  const audio = Buffer.alloc(48_000).toString('base64')
  const events = talk(
    { type: 'session.update', session },
    { type: 'input_audio_buffer.append', audio },
    { type: 'input_audio_buffer.commit' },
  )
  t.match(events.at(-1), {
    type: 'conversation.item.input_audio_transcription.completed',
    transcript: '1.0 seconds of sound.',
    usage: { type: 'duration', seconds: 1 },
  })
})
