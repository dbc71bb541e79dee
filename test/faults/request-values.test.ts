import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { json } from '../helpers/answers.js'
import { clientOf, EACH_CLIENT } from '../helpers/text-clients.js'
import { EACH_UPSTREAM, answers as plainly, streams, TEXT, upstreamOf } from '../helpers/text-upstreams.js'
import { startStage, translated } from '../helpers/translation-stage.js'

// How many values a document may have, and how much of them may be held at once: in each family, at each place.

t.setTimeout(300_000)

const values = (count: number): string => `[${Array.from({ length: count }, () => '0').join(',')}]`
const many = (count: number): number[] => Array.from({ length: count }, () => 0)

t.test('F-B2 a body of more values than limits.values is refused in each family, relayed or translated', async t => {
  const stage = await startStage(t, { more: 'limits: { values: 1000 }\n' })
  for (const client of EACH_CLIENT) {
    for (const upstream of EACH_UPSTREAM) {
      const model = stage.play(upstream.protocol, plainly(upstream))
      // A body that is relayed would reach the upstream with a member that its protocol has not.
      const isRelayed = client.protocol === upstream.protocol
      const state = client.protocol === 'responses' ? { store: false } : {}
      const less = await stage.ask(client, model, false, { ...state, ...(!isRelayed && { m: many(900) }) })
      t.equal(less.status, 200, `${client.name} → ${upstream.name}: ${less.text.slice(0, 200)}`)
      const more = await stage.ask(client, model, false, { m: many(1000) })
      t.match(client.error(t, more, 400).message, /more than 1000 values/)
      t.match(await stage.line(more), { limit: 'values', status: 400 })
      const large = await stage.ask(client, model, false, { m: many(400_000) })
      t.match(client.error(t, large, 400).message, /more than 1000 values/, 'however large it is')
      t.equal(stage.asked(model).length, 1)
    }
  }
})

t.test('F-B2 so is what stands as text in calls, once a protocol has it as objects', async t => {
  const stage = await startStage(t, { more: 'limits: { values: 1000 }\n' })
  const model = stage.play('messages', plainly(upstreamOf('messages')))
  const call = (args: string): object => ({ id: 'c1', type: 'function', function: { name: 'f', arguments: args } })
  const messages = (args: string): object[] => [
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: null, tool_calls: [call(args)] },
    { role: 'tool', tool_call_id: 'c1', content: 'ok' },
  ]
  const chat = clientOf('chat')
  const whole = await stage.ask(chat, model, false, {
    messages: messages(`{"x":${values(990)},"y":"${'y'.repeat(300_000)}"}`),
  })
  t.equal(whole.status, 200, whole.text.slice(0, 200))
  const refused = await stage.ask(chat, model, false, { messages: messages(`{"x":${values(200_000)}}`) })
  t.match(chat.error(t, refused, 400).message, /more than 1000 values/)
})

t.test('F-B2 an answer of more values is a bad answer, and another target is tried', async t => {
  const stage = await startStage(t, { more: 'limits: { values: 1000 }\n' })
  for (const [client, protocol] of translated(EACH_CLIENT)) {
    const upstream = upstreamOf(protocol)
    const model = stage.play(protocol, json({ ...upstream.answer, m: many(100_000) }))
    const answer = await stage.ask(client, model, false)
    client.error(t, answer, 502)
    t.match(await stage.line(answer), { error: 'bad_upstream_response', limit: 'values' })
    const event = upstream.pieces.map((piece, index) =>
      index === 0 ? piece.replace('{', `{"m":${values(100_000)},`) : piece,
    )
    const streamed = stage.play(protocol, streams(upstream, event))
    const refused = await stage.ask(client, streamed, true)
    client.error(t, refused, 502)
    t.match(await stage.line(refused), { error: 'bad_upstream_response', limit: 'values' })
  }
})

t.test('F-B3 what can find no room in limits.memory is refused, and all is given back', async t => {
  const stage = await startStage(t, { more: 'limits: { memory: 1MiB }\n' })
  for (const [client, protocol] of translated(EACH_CLIENT)) {
    const upstream = upstreamOf(protocol)
    const model = stage.play(protocol, plainly(upstream))
    const large = await stage.ask(client, model, false, { metadata: { text: 'x'.repeat(600_000) } })
    client.error(t, large, 413)
    t.match(await stage.line(large), { error: 'too_large', limit: 'memory' })
    const answers = await Promise.all(
      Array.from({ length: 10 }, () =>
        stage.ask(client, model, false, client.protocol === 'responses' ? { store: false } : {}),
      ),
    )
    for (const answer of answers) t.equal(client.text(answer), TEXT)
    const long = stage.play(protocol, json({ ...upstream.answer, m: 'x'.repeat(600_000) }))
    client.error(t, await stage.ask(client, long, false), 502)
  }
})

t.test('F-B2 a message of a response socket is counted before it is parsed', async t => {
  const stage = await startStage(t, { more: 'limits: { values: 1000 }\n' })
  const model = stage.play('chat', plainly(upstreamOf('chat')))
  const { origin, key } = stage.gateway
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${key}` },
  })
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  socket.send(`{"type":"response.create","model":"${model}","store":false,"input":"hello","m":${values(100_000)}}`)
  const [first] = (await once(socket, 'message')) as [Buffer]
  t.match(JSON.parse(first.toString()), { type: 'error', status: 400, error: { message: /more than 1000 values/ } })
  socket.send(`{"type":"response.create","model":"${model}","store":false,"input":"hello"}`)
  const [second] = (await once(socket, 'message')) as [Buffer]
  t.match(JSON.parse(second.toString()), { type: 'response.created' })
})
