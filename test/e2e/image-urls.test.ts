import t from 'tap'
import { CALLER, startTestGateway } from '../helpers/gateway.js'

/** Addresses of pictures, before upstreams that fetch them themselves. */

const URL = 'https://pictures.example/cat.png'
const BODIES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': {
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: URL } }] }],
  },
  '/v1/responses': { input: [{ role: 'user', content: [{ type: 'input_image', image_url: URL }] }] },
  '/v1/messages': {
    max_tokens: 100,
    messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url: URL } }] }],
  },
}

for (const [path, body] of Object.entries(BODIES)) {
  t.test(`native models of the shipped kinds are given the address: ${path}`, async t => {
    const yaml = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator-generate } }\nmodels: { sim-generate: sim }\n`
    const gateway = await startTestGateway(t, yaml)
    const answer = await gateway.request(path, { body: { model: 'sim-generate', ...body } })
    t.equal(answer.status, 200)
    t.equal(answer.header('x-gateway-dropped'), undefined)
  })
}
