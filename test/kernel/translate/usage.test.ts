import t from 'tap'
import { proveNoLeak } from '../../helpers/canaries.js'
import { eventsOf } from '../../helpers/expect.js'
import { EACH_CLIENT } from '../../helpers/text-clients.js'
import { answers, upstreamOf } from '../../helpers/text-upstreams.js'
import { startStage, translated } from '../../helpers/translation-stage.js'

// Usage is told to whoever asks for it, and counted always.

t.setTimeout(120_000)

const COUNTED = { input_tokens: 3, output_tokens: 5, total_tokens: 8 }

t.test('usage of every pair is in the log, streamed or not, asked for or not', async t => {
  const stage = await startStage(t)
  for (const [client, protocol] of translated(EACH_CLIENT)) {
    for (const stream of [false, true]) {
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      const answer = await stage.ask(client, model, stream)
      t.equal(answer.status, 200, answer.text)
      t.match(await stage.line(answer), COUNTED, `${client.name} → ${protocol}, ${stream ? 'streamed' : 'whole'}`)
    }
  }
})

t.test('a chat client gets one chunk of usage if it asks for it, and none if not', async t => {
  const stage = await startStage(t)
  for (const [client, protocol] of translated(EACH_CLIENT.filter(one => one.protocol === 'chat'))) {
    const chunks = async (more: Readonly<Record<string, unknown>>) => {
      const model = stage.play(protocol, answers(upstreamOf(protocol)))
      const { text } = await stage.ask(client, model, true, more)
      const datas = eventsOf(text).map(({ data }) => data)
      t.equal(datas.at(-1), '[DONE]')
      return datas.slice(0, -1).map(data => JSON.parse(data) as { choices: unknown[]; usage?: object | null })
    }
    const asked = await chunks({ stream_options: { include_usage: true } })
    t.same(asked.at(-1)?.choices, [], protocol)
    t.match(asked.at(-1)?.usage, { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 })
    t.ok(asked.slice(0, -1).every(({ usage, choices }) => usage === null && choices.length === 1))
    for (const silent of [{}, { stream_options: { include_usage: false } }]) {
      t.ok((await chunks(silent)).every(chunk => !('usage' in chunk) && chunk.choices.length === 1))
    }
  }
})

proveNoLeak(t)
