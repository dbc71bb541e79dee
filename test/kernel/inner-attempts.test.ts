import t from 'tap'
import { WebSocket } from 'ws'
import { json } from '../helpers/answers.js'
import { oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { meter, withStage } from '../helpers/metered.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** Requests from inside the process are calls with attempts of their own. */

const RESPONSE = {
  ...{ id: 'resp_up', object: 'response', created_at: 1, status: 'completed', model: 'm' },
  output: [
    {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Hi', annotations: [] }],
    },
  ],
  usage: { input_tokens: 7, output_tokens: 4, total_tokens: 11 },
}

t.test('a response in the background, and a turn of a socket', async t => {
  const { stage, ended } = meter()
  const up = await startRawUpstream(t)
  up.answer(json(RESPONSE))
  const gateway = await startTestGateway(t, oneUpstream(up.origin), { features: withStage(stage) })
  const body = { model: 'm', input: 'Hello', background: true, store: true }
  t.equal((await gateway.request('/v1/responses', { body })).status, 200)
  t.match(await ended.count(1), [{ phase: 'ok', number: 1, total: 11, isSent: true }])
  const socket = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  })
  t.teardown(() => socket.terminate())
  socket.on('open', () => socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'Hello' })))
  t.match((await ended.count(2))[1], { number: 1, isSent: true, status: 200 })
})
