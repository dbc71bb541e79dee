import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, noise, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type RecordedRequest, startRawUpstream } from '../helpers/raw-upstream.js'

// Values that move between the body of a request and its other places, and bodies that are sent in another format.

async function stage(t: Test): Promise<{ gateway: TestGateway; upstream: RawUpstream; last(): RecordedRequest }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json({ ok: true }))
  const yaml = `version: 1
${CALLER}
upstreams:
  up:
    base: "${upstream.origin}"
    speaks:
      say:
        call: POST /say/{voice}?a=1
        request:
          - default: { tone: calm }
          - send: { voice: path.voice, tone: query.tone, wish: header.x-wish, "meta.n": query.n }
      note: { call: POST /note, request: [{ take: { path.page: page, query.lang: options.lang, header.x-style: style } }] }
      sheet:
        call: POST /sheet
        request:
          - take: { path.page: page, query.lang: tags, header.x-style: style }
          - list: [tags]
          - insert: { tags.0: first }
          - append: { tags: last }
          - mask: { mask: white }
      fields: { call: POST /fields, sends: urlencoded }
      sound: { call: POST /sound, sends: { bytes: audio } }
models: { m: up }
protocols: { say: {}, note: {}, sheet: {}, fields: {}, sound: {} }
routes:
  POST /say: { protocol: say, model: body.model }
  POST /notes/{page}: { protocol: note, model: body.model }
  POST /sheets/{page}: { protocol: sheet, model: form.model }
  POST /fields: { protocol: fields, model: body.model }
  POST /sound: { protocol: sound, model: body.model }
`
  const gateway = await startTestGateway(t, yaml)
  return { gateway, upstream, last: () => upstream.last }
}

t.test('values of the body go to the path, the query and a header, and all else stays byte for byte', async t => {
  const { gateway, last } = await stage(t)
  const body = '{ "model":"m", "voice":"a/b ?", "text":  1.50, "wish":"soft", "meta":{"n":12345678901234567890,"x":1} }'
  const answer = await gateway.request('/say?tone=loud&z=2', { body, headers: { 'x-wish': 'mine' } })
  t.equal(answer.status, 200, answer.text)
  t.equal(last().target, '/say/a%2Fb%20%3F?a=1&tone=calm&n=12345678901234567890&z=2')
  t.equal(last().header('x-wish'), 'soft')
  t.equal(last().body.toString(), '{ "model":"m", "text":  1.50, "meta":{"x":1} }')
})

t.test('the same in a body of several MiB', async t => {
  const { gateway, last } = await stage(t)
  const text = 'x'.repeat(3 * 1024 * 1024)
  const answer = await gateway.request('/say', { body: { model: 'm', text, voice: 'a' } })
  t.equal(answer.status, 200)
  t.equal(last().target, '/say/a?a=1&tone=calm')
  t.same(last().json(), { model: 'm', text })
})

t.test('what a path or a header cannot hold is refused by name, and no upstream is asked', async t => {
  const { gateway, upstream } = await stage(t)
  const refused = async (more: object, code: string): Promise<void> => {
    compatibleError(t, await gateway.request('/say', { body: { model: 'm', ...more } }), 400, code)
  }
  await refused({}, 'missing_required_parameter')
  await refused({ voice: null }, 'missing_required_parameter')
  for (const voice of ['.', '..', {}, ['a'], 'x'.repeat(5000)]) await refused({ voice }, 'invalid_value')
  for (const wish of ['a\r\nx: y', 'é', ' a']) await refused({ voice: 'a', wish }, 'invalid_value')
  t.equal(upstream.requests.items.length, 0)
})

t.test('values of the path, the query and a header go into the body, and the query does not repeat them', async t => {
  const { gateway, last } = await stage(t)
  const headers = { 'x-style': 'plain "one"' }
  const answer = await gateway.request('/notes/p%201?lang=en&z=2', { body: { model: 'm' }, headers })
  t.equal(answer.status, 200, answer.text)
  t.equal(last().target, '/note?z=2')
  t.same(last().json(), { model: 'm', page: 'p 1', options: { lang: 'en' }, style: 'plain "one"' })
})

t.test('the same values go into the fields of a form, and its file is the same', async t => {
  const { gateway, last } = await stage(t)
  const file = noise(200 * 1024)
  const form = formOf(['page', 'mine'], ['file', file, 'audio/wav'], ['model', 'm'])
  const answer = await gateway.request('/sheets/p%201?lang=en&z=2', sending(form, { headers: { 'x-style': 'plain' } }))
  t.equal(answer.status, 200, answer.text)
  t.equal(last().target, '/sheet?z=2')
  const wanted = formOf(
    ['page', 'p 1'],
    ['file', file, 'audio/wav'],
    ['model', 'm'],
    ['tags', 'first'],
    ['tags', 'en'],
    ['style', 'plain'],
    ['tags', 'last'],
  )
  const sent = last().body.toString('latin1').replaceAll('content-disposition', 'Content-Disposition')
  t.equal(sent, wanted.toString('latin1'))
})

t.test('a value that breaks the form, and a mask that is a file, are refused, and no upstream is asked', async t => {
  const { gateway, upstream } = await stage(t)
  const broken = await gateway.request('/sheets/a?lang=%0D%0A--B--', sending(formOf(['model', 'm'])))
  compatibleError(t, broken, 400, null)
  const masked = await gateway.request('/sheets/a', sending(formOf(['mask', noise(9), 'image/png'], ['model', 'm'])))
  compatibleError(t, masked, 400, 'untranslatable')
  t.match(masked.json(), { error: { message: /cannot be applied to a form/ } })
  t.equal(upstream.requests.items.length, 0)
})

t.test('JSON is sent as URL-encoded fields, or as the bytes of one member', async t => {
  const { gateway, last } = await stage(t)
  await gateway.request('/fields', { body: { model: 'm', a: 'ü &', n: [1, 2], o: { x: true }, none: null } })
  t.equal(last().header('content-type'), 'application/x-www-form-urlencoded')
  t.same(
    [...new URLSearchParams(last().body.toString())],
    [
      ['model', 'm'],
      ['a', 'ü &'],
      ['n', '1'],
      ['n', '2'],
      ['o', '{"x":true}'],
    ],
  )
  await gateway.request('/sound', { body: { model: 'm', audio: 'data:audio/wav;base64,AQID' } })
  t.equal(last().header('content-type'), 'audio/wav')
  t.same([...last().body], [1, 2, 3])
  compatibleError(t, await gateway.request('/sound', { body: { model: 'm' } }), 400, 'missing_required_parameter')
  const audio = 'not base64'
  compatibleError(t, await gateway.request('/sound', { body: { model: 'm', audio } }), 400, 'invalid_value')
})

proveNoLeak(t)
