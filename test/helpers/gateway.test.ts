import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { CHAT_ANSWER, json } from './answers.js'
import { oneUpstream, startTestGateway } from './gateway.js'
import { startRawUpstream } from './raw-upstream.js'
import { standStill } from './stand-still.js'

t.test('a test that keeps the process busy is answered all the same', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  for (let n = 0; n < 5; n++) {
    standStill(1200)
    await setTimeout(1)
    t.equal((await gateway.chat()).status, 200)
  }
})
