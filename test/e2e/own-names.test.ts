import t from 'tap'
import { CALLER, startTestGateway } from '../helpers/gateway.js'

/** A file as someone writes it who tries the gateway: names of their own, all led to the simulator. */
const FILE = `version: 1
${CALLER}
upstreams:
  sim: { kind: simulator }
  chat: { kind: simulator-chat }
  responses: { kind: simulator-responses }
  messages: { kind: simulator-messages, traits: { max_output: 1000 } }
  generate: { kind: simulator-generate }
  images: { kind: simulator-imagine }
models:
  my-model: sim
  my-chat: chat
  my-responses: responses
  my-messages: messages
  my-generate: generate
  "gpt-*": sim
  my-bot: images
`
const SAID = [{ role: 'user', content: 'Hello' }]
const ASKED: Readonly<Record<string, (model: string) => readonly [path: string, body: object]>> = {
  chat: model => ['/v1/chat/completions', { model, messages: SAID }],
  responses: model => ['/v1/responses', { model, input: 'Hello' }],
  messages: model => ['/v1/messages', { model, messages: SAID, max_tokens: 100 }],
  generate: model => [
    `/v1beta/models/${model}:generateContent`,
    { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  ],
}

t.test('whichever name the file leads to the simulator works, in every protocol', async t => {
  const gateway = await startTestGateway(t, FILE)
  for (const model of ['my-model', 'my-chat', 'my-responses', 'my-messages', 'my-generate', 'gpt-4o']) {
    for (const [protocol, ask] of Object.entries(ASKED)) {
      const [path, body] = ask(model)
      const answer = await gateway.request(path, { body })
      t.equal(answer.status, 200, `${protocol} of ${model}: ${answer.text}`)
      t.match(answer.text, 'You said: \\"Hello\\"')
    }
  }
})

t.test('a bot is such a name, too', async t => {
  const gateway = await startTestGateway(t, FILE)
  const begun = await gateway.request('/mj/submit/imagine', {
    body: { prompt: 'A cat --sim polls=0', botType: 'my-bot' },
  })
  t.match(begun.json(), { code: 1, result: String })
})
