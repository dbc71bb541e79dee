import t from 'tap'
import { json, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { EACH_CLIENT } from '../helpers/text-clients.js'
import { startStage } from '../helpers/translation-stage.js'

// A response that is not finished is not an answer to a request that waits for one.

t.test('an upstream response that is in progress or queued is not a clean success', async t => {
  const stage = await startStage(t)
  for (const status of ['in_progress', 'queued']) {
    const response = { id: 'resp_1', object: 'response', status, model: 'u', output: [] }
    for (const client of EACH_CLIENT) {
      const model = stage.play('responses', json(response))
      const answer = await stage.ask(client, model, false)
      if (client.protocol === 'responses') t.match(answer.json(), { status }, 'relayed as it is')
      else t.equal(answer.status, 502, client.name)
      t.match(await stage.line(answer), { outcome: 'upstream_error' })
    }
    const events = [
      { type: 'response.created', response },
      { type: 'response.completed', response },
    ]
    const model = stage.play(
      'responses',
      stream(events.map(one => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`)),
    )
    const chat = EACH_CLIENT.find(({ protocol }) => protocol === 'chat')!
    const answer = await stage.ask(chat, model, true)
    t.match(answer.text, /"error"/)
    t.match(await stage.line(answer), { outcome: 'upstream_error' })
  }
  const background = { id: 'resp_1', object: 'response', status: 'queued', model: 'u', output: [], background: true }
  const model = stage.play('responses', json(background))
  const client = EACH_CLIENT.find(({ protocol }) => protocol === 'responses')!
  const answer = await stage.ask(client, model, false, { background: true })
  t.match(await stage.line(answer), { outcome: 'ok' }, 'in the background it is due later')
})

proveNoLeak(t)
