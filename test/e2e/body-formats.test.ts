import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, noise, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type RecordedRequest, startRawUpstream } from '../helpers/raw-upstream.js'

// Bodies that come in one format and leave in another, by the words of the file alone.

const WAV = 'audio/wav'

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: RawUpstream
  last(): RecordedRequest
}

async function stage(t: Test): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json({ ok: true }))
  const yaml = `version: 1
${CALLER}
upstreams:
  up:
    base: "${upstream.origin}"
    speaks:
      hear:
        call: POST /hear
        forms: json-base64
        request:
          - rename: { file: audio.content }
          - template: { title: "{language}-{model}" }
          - when: { if: { language: { present: true } }, do: [{ append: { hints: lively } }] }
      see: { call: POST /see, forms: json, request: [{ send: { page: query.page } }] }
models: { m: { upstream: up, as: theirs } }
protocols: { hear: {}, see: {} }
routes:
  POST /hear: { protocol: hear, model: form.model, limits: { body: 48MiB } }
  POST /see: { protocol: see, model: form.model }
`
  const gateway = await startTestGateway(t, yaml)
  const last = (): RecordedRequest => {
    const request = upstream.requests.items.at(-1)
    if (request === undefined) throw new Error('no request')
    return request
  }
  return { gateway, upstream, last }
}

t.test('a form is sent as JSON with its file in a member as base64, and all verbs change that', async t => {
  const { gateway, last } = await stage(t)
  const file = noise(300 * 1024)
  const form = formOf(['language', 'de'], ['file', file, WAV], ['hints', 'quiet'], ['hints', 'slow'], ['model', 'm'])
  const answer = await gateway.request('/hear', sending(form))
  t.equal(answer.status, 200, answer.text)
  t.equal(last().header('content-type'), 'application/json')
  t.equal(last().header('content-length'), String(last().body.length))
  t.same(last().json(), {
    language: 'de',
    hints: ['quiet', 'slow', 'lively'],
    model: 'theirs',
    audio: { content: file.toString('base64') },
    title: 'de-theirs',
  })
})

t.test('files as data URLs have their media type, and a field of the form may go to the query', async t => {
  const { gateway, last } = await stage(t)
  const form = formOf(['model', 'm'], ['page', '7'], ['image[]', Buffer.from('a'), 'image/png'])
  t.equal((await gateway.request('/see', sending(form))).status, 200)
  t.equal(last().target, '/see?page=7')
  t.same(last().json(), { model: 'theirs', image: ['data:image/png;base64,YQ=='] })
})

t.test('files that are too large for memory are refused, and no upstream is asked', async t => {
  const { gateway, upstream } = await stage(t)
  const form = formOf(['model', 'm'], ['file', Buffer.alloc(33 * 1024 * 1024), WAV])
  const answer = await gateway.request('/hear', sending(form))
  compatibleError(t, answer, 413, 'too_large')
  t.equal(upstream.requests.items.length, 0)
})

proveNoLeak(t)
