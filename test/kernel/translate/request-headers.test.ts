import t from 'tap'
import { CHAT_ANSWER, json } from '../../helpers/answers.js'
import { CALLER, startTestGateway } from '../../helpers/gateway.js'
import { startRawUpstream } from '../../helpers/raw-upstream.js'

t.test('a content type that the upstream declares is the only one, relayed or translated', async t => {
  const up = await startRawUpstream(t)
  const type = 'application/json; charset=utf-8'
  const upstream = `{ base: "${up.origin}", headers: { content-type: "${type}" }, speaks: { chat: POST /v1/chat/completions } }`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: ${upstream} }\nmodels: { m: up }\n`,
  )
  const messages = [{ role: 'user', content: 'hello' }]
  for (const [path, body] of [
    ['/v1/chat/completions', { model: 'm', messages }],
    ['/v1/messages', { model: 'm', messages, max_tokens: 9 }],
  ] as const) {
    up.answer(json(CHAT_ANSWER))
    const answer = await gateway.request(path, { body: JSON.stringify(body) })
    t.equal(answer.status, 200, answer.text)
    const head = up.requests.items.at(-1)?.head.raw.toString() ?? ''
    t.same(head.match(/^content-type: .*$/gim), [`content-type: ${type}`])
  }
})
