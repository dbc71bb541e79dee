import t from 'tap'
import { CALLER, startTestGateway } from '../helpers/gateway.js'

/** Addresses of pictures, before upstreams that fetch them themselves. */

const BODIES: Readonly<Record<string, (url: string) => object>> = {
  '/v1/chat/completions': url => ({
    messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  }),
  '/v1/responses': url => ({ input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] }),
  '/v1/messages': url => ({
    max_tokens: 100,
    messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }],
  }),
}

for (const [path, body] of Object.entries(BODIES)) {
  t.test(`native models of the shipped kinds are given the address, if it is https: ${path}`, async t => {
    const yaml = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator-generate } }\nmodels: { sim-generate: sim }\n`
    const gateway = await startTestGateway(t, yaml)
    const ask = (url: string): ReturnType<typeof gateway.request> =>
      gateway.request(path, { body: { model: 'sim-generate', ...body(url) } })
    const answer = await ask('https://pictures.example/cat.png')
    t.equal(answer.status, 200)
    t.equal(answer.header('x-gateway-dropped'), undefined)
    const plain = await ask('http://pictures.example/cat.png')
    t.equal(plain.status, 400)
    t.match(plain.text, /does not accept URLs other than https, and fetching them is not allowed here/)
  })
}
