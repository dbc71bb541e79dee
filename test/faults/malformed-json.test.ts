import t from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'

// Each lane that makes objects of a body, before a simulator of another protocol: what is not JSON is the client's mistake.

const YAML = `version: 1
${CALLER}
upstreams:
  sim: { kind: simulator, speaks: { embed-content: off, embed-contents: off, responses: off, messages: off } }
  native: { kind: simulator-generate, speaks: { predict: off } }
  embed: { kind: simulator, speaks: { embeddings: off, embed-content: off } }
models:
  text: { upstream: sim, as: sim-text }
  native: { upstream: native, as: sim-generate }
  vectors: { upstream: sim, as: sim-embed }
  native-vectors: { upstream: embed, as: sim-embed }
`

/** Path, members of a sound body, and the model where the body names it; the text has to stand where \`TEXT\` does. */
const LANES: Readonly<Record<string, readonly [path: string, body: string]>> = {
  chat: ['/v1/chat/completions', '{"model":"native","messages":[{"role":"user","content":"TEXT"}]}'],
  responses: ['/v1/responses', '{"model":"native","input":"TEXT"}'],
  messages: ['/v1/messages', '{"model":"native","max_tokens":9,"messages":[{"role":"user","content":"TEXT"}]}'],
  'messages, counted': [
    '/v1/messages/count_tokens',
    '{"model":"native","messages":[{"role":"user","content":"TEXT"}]}',
  ],
  generate: ['/v1beta/models/text:generateContent', '{"contents":[{"parts":[{"text":"TEXT"}]}]}'],
  embeddings: ['/v1/embeddings', '{"model":"native-vectors","input":"TEXT"}'],
  'embeddings, native': ['/v1beta/models/vectors:embedContent', '{"content":{"parts":[{"text":"TEXT"}]}}'],
  images: ['/v1/images/generations', '{"model":"native","prompt":"TEXT"}'],
}

t.test('a control character in a string of any length is 400 on every translated lane', async t => {
  const gateway = await startTestGateway(t, YAML)
  for (const [lane, [path, body]] of Object.entries(LANES)) {
    const post = (text: string) => gateway.request(path, { method: 'POST', body: body.replace('TEXT', () => text) })
    const sound = await post('x'.repeat(2000))
    t.equal(sound.status, 200, `${lane}: ${sound.text.slice(0, 200)}`)
    for (const before of [0, 1023, 1024, 1025, 30_000]) {
      for (const control of ['\n', '\0', '\x1f']) {
        const { status, text } = await post(`${'x'.repeat(before)}${control}x`)
        t.equal(status, 400, `${lane}, behind ${before}: ${text.slice(0, 200)}`)
      }
    }
  }
})

proveNoLeak(t)
