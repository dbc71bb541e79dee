import t, { type Test } from 'tap'
import { body, json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { formOf, noise, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, type RecordedRequest, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

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
      note:
        call: POST /note
        request:
          - append: { prompt: " Be brief.", hints: lively }
          - template: { title: "{language}-{model}" }
          - map: { language: { german: de } }
          - split: { size: { at: x, into: [width, height] } }
          - when: { if: { file: { present: true }, language: de }, do: [{ rename: { file: sound } }], else: [{ remove: [file] }] }
      listen:
        call: POST /listen
        sends: { base64: audio }
        request: [{ take: { path.model: model, query.lang: language } }, { rename: { audio: input.content } }]
      show: { call: POST /show, sends: { data_url: image } }
      tell: { call: POST /tell, forms: json, request: [{ take: { path.model: model } }] }
      speak:
        call: POST /speak
        answers: { bytes: sound.data, type: audio/mpeg }
        response: [{ rename: { result: sound } }]
      sing:
        call: POST /sing
        answers: { bytes: data.audio, encoding: hex, type: audio/mpeg, types: { response_format: { wav: audio/wav } } }
      draw:
        call: POST /draw
        answers: { base64: data }
        response: [{ wrap: { data: b64_json } }, { list: [data] }, { set: { kind: image } }]
      see: { call: POST /see, forms: json, request: [{ send: { page: query.page } }] }
models: { m: { upstream: up, as: theirs } }
protocols: { tell: {}, note: {}, hear: {}, see: {}, listen: {}, show: {}, speak: { binary: true }, sing: {}, draw: {} }
routes:
  POST /note: { protocol: note, model: form.model }
  POST /hear: { protocol: hear, model: form.model, limits: { body: 48MiB } }
  POST /listen/{model}: { protocol: listen, model: path.model, body: raw, limits: { body: 48MiB } }
  POST /show/{model}: { protocol: show, model: path.model, body: raw, limits: { body: 1MiB } }
  POST /tell/{model}: { protocol: tell, model: path.model, body: raw, limits: { fields: 1KiB, parts: 6 } }
  POST /speak: { protocol: speak, model: body.model, limits: { response: 1MiB } }
  POST /sing: { protocol: sing, model: body.model }
  POST /chant: { protocol: sing, model: form.model }
  POST /draw: { protocol: draw, model: body.model, limits: { response: 1MiB } }
  POST /see: { protocol: see, model: form.model }
`
  const gateway = await startTestGateway(t, yaml)
  return { gateway, upstream, last: () => upstream.last }
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

t.test('fields of a form that stays one are changed by verbs, and its file is the same', async t => {
  const { gateway, last } = await stage(t)
  const file = noise(300 * 1024)
  const texts = [['language', 'german'], ['prompt', 'Hm.'], ['hints', 'a'], ['hints', 'b'], ['size', '1x2']] as const // biome-ignore format: pairs
  const answer = await gateway.request('/note', sending(formOf(...texts, ['file', file, WAV], ['model', 'm'])))
  t.equal(answer.status, 200, answer.text)
  const wanted = formOf(
    ['language', 'de'],
    ['prompt', 'Hm. Be brief.'],
    ['hints', 'a'],
    ['hints', 'b'],
    ['file', file, WAV],
    ['model', 'theirs'],
    ['hints', 'lively'],
    ['title', 'german-theirs'],
    ['width', '1'],
    ['height', '2'],
  )
  const plain = (form: Buffer): string =>
    form
      .toString('latin1')
      .replace('name="sound"', 'name="file"')
      .replaceAll('content-disposition', 'Content-Disposition')
  t.equal(plain(last().body), plain(wanted))
  t.match(last().body.toString('latin1'), 'name="sound"; filename="file.bin"')
  await gateway.request('/note', sending(formOf(['model', 'm'], ['file', 'text'])))
  t.notMatch(last().body.toString(), 'file')
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

t.test('bytes of a client are in a member of the JSON that is sent, as base64 or as a data URL', async t => {
  const { gateway, last } = await stage(t)
  for (const size of [1, 300 * 1024]) {
    const bytes = noise(size)
    const headers = { 'content-type': WAV }
    const answer = await gateway.request('/listen/m?lang=de&z=1', { body: bytes, headers })
    t.equal(answer.status, 200, answer.text)
    t.equal(last().target, '/listen?z=1')
    t.equal(last().header('content-type'), 'application/json')
    t.equal(last().header('content-length'), String(last().body.length))
    t.same(last().json(), { input: { content: bytes.toString('base64') }, model: 'theirs', language: 'de' })
    await gateway.request('/show/m', { body: bytes, headers: { 'content-type': 'image/PNG; a=b' } })
    t.same(last().json(), { image: `data:image/png;base64,${bytes.toString('base64')}` })
  }
  const line = await gateway.log.find(one => one.route === 'POST /show/{model}')
  t.equal(line.bytes_in, 1)
})

t.test('bytes over the limit of the route, or of memory, are refused before an upstream is asked', async t => {
  const { gateway, upstream } = await stage(t)
  const headers = { 'content-type': WAV }
  for (const [path, size] of [
    ['/show/m', 2],
    ['/listen/m', 33],
  ] as const) {
    // biome-ignore format: pairs
    const answer = await gateway.request(path, { body: Buffer.alloc(size * 1024 * 1024), headers })
    compatibleError(t, answer, 413, 'too_large')
  }
  compatibleError(t, await gateway.request('/listen/m', { method: 'POST', headers }), 400)
  t.equal(upstream.requests.items.length, 0)
})

t.test('URL-encoded fields are sent as JSON, and other bytes of that route as they are', async t => {
  const { gateway, upstream, last } = await stage(t)
  const headers = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }
  const tell = (body: string) => gateway.request('/tell/m', { body, headers })
  t.equal((await tell('a=%C3%BC+%26&b=1&b=2&c%5Bd%5D=3&e[]=4')).status, 200)
  t.equal(last().header('content-type'), 'application/json')
  t.same(last().json(), { a: 'ü &', b: ['1', '2'], c: { d: '3' }, e: ['4'], model: 'theirs' })
  compatibleError(t, await tell('a=1&'.repeat(7)), 400)
  compatibleError(t, await tell(`a=${'1'.repeat(2000)}`), 413)
  t.equal(upstream.requests.items.length, 1)
  await gateway.request('/tell/m', { body: 'plain', headers: { 'content-type': 'text/plain' } })
  t.equal(last().body.toString(), 'plain')
})

/** An answer of these bytes. */
function sound(bytes: Uint8Array | string, type = 'audio/mpeg'): Script {
  return body(bytes, { headers: { 'content-type': type, etag: '"1"' } })
}

t.test('base64 in a JSON answer reaches the client as bytes of the declared type', async t => {
  const { gateway, upstream } = await stage(t)
  const bytes = noise(300 * 1024)
  for (const data of [bytes.toString('base64'), `data:audio/wav;base64,${bytes.toString('base64')}`, 'QQ']) {
    upstream.answer(json({ result: { data }, more: 1 }))
    const answer = await gateway.request('/speak', { body: { model: 'm' } })
    t.equal(answer.status, 200, answer.text)
    t.equal(answer.header('content-type'), 'audio/mpeg')
    const wanted = data === 'QQ' ? Buffer.from('A') : bytes
    t.equal(answer.header('content-length'), String(wanted.length))
    t.ok(wanted.equals(answer.body))
  }
})

t.test('hexadecimal text reaches the client as bytes, of the type that its request asks for', async t => {
  const { gateway, upstream } = await stage(t)
  const bytes = noise(300 * 1024)
  const types: readonly (readonly [unknown, string])[] = [
    ['wav', 'audio/wav'],
    ['mp3', 'audio/mpeg'],
    ['toString', 'audio/mpeg'],
    [['wav'], 'audio/mpeg'],
    [undefined, 'audio/mpeg'],
  ]
  for (const [format, type] of types) {
    upstream.answer(json({ data: { audio: bytes.toString('hex').toUpperCase() } }))
    const answer = await gateway.request('/sing', { body: { model: 'm', response_format: format } })
    t.equal(answer.header('content-type'), type)
    t.ok(bytes.equals(answer.body))
    if (typeof format !== 'string') continue
    const form = formOf(['model', 'm'], ['response_format', format])
    t.equal((await gateway.request('/chant', sending(form))).header('content-type'), type)
  }
  for (const audio of ['', 'abc', '0x61', 'data:audio/wav;base64,YQ==', 7]) {
    upstream.answer(json({ data: { audio } }))
    const answer = await gateway.request('/sing', { body: { model: 'm' } })
    compatibleError(t, answer, 502, 'bad_upstream_response')
  }
})

t.test(
  'an answer without base64 at that place is a failure of the upstream, and so is one that is too large',
  async t => {
    const { gateway, upstream } = await stage(t)
    const large = json({ result: { data: 'A'.repeat(2 * 1024 * 1024) } })
    const bad = [json({ result: {} }), json({ result: { data: 'not base64' } }), json([1]), sound('x'), large]
    for (const script of bad) {
      upstream.answer(script)
      const answer = await gateway.request('/speak', { body: { model: 'm' } })
      compatibleError(t, answer, 502, 'bad_upstream_response')
    }
  },
)

t.test('bytes of an answer reach the client as base64 in JSON, which verbs change; JSON stays as it is', async t => {
  const { gateway, upstream } = await stage(t)
  const bytes = noise(300 * 1024)
  upstream.answer(sound(bytes, 'image/png'))
  const answer = await gateway.request('/draw', { body: { model: 'm' } })
  t.equal(answer.header('content-type'), 'application/json')
  t.equal(answer.header('etag'), undefined, 'it was that of the bytes')
  t.same(answer.json(), { data: [{ b64_json: bytes.toString('base64') }], kind: 'image' })
  upstream.answer(json({ a: 1 }))
  t.same((await gateway.request('/draw', { body: { model: 'm' } })).json(), { a: 1, kind: 'image' })
  for (const script of [sound('<p>', 'text/html'), sound(''), sound(noise(2 * 1024 * 1024))]) {
    upstream.answer(script)
    compatibleError(t, await gateway.request('/draw', { body: { model: 'm' } }), 502, 'bad_upstream_response')
  }
})

proveNoLeak(t)
