import { join } from 'node:path'
import t from 'tap'
import { body } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { cassettesIn } from '../helpers/cassettes.js'
import { relaysAnything } from '../helpers/emitted.js'
import { formOf, noise, sending } from '../helpers/forms.js'
import { oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { readRecordings, recordingsFile, referenceFolder } from '../helpers/recordings.js'

relaysAnything()

interface Recorded {
  readonly name: string
  readonly path: string
  readonly contentType: string
  readonly request: Buffer
  readonly status: number
  readonly type: string
  readonly answer: Buffer
}

const PATHS = /\/(audio\/transcriptions|audio\/translations|images\/edits|images\/variations)$/

/** Exchanges whose request was a form and was recorded whole, by what real clients of other languages sent. */
function recordedIn(folder: string): Recorded[] {
  return cassettesIn(folder, /multipart\/form-data/).flatMap(({ name, exchanges }) =>
    exchanges.flatMap(({ url, headers, body, status, answerHeaders, answer }): Recorded[] => {
      const path = PATHS.exec(url.pathname)?.[1]
      const contentType = headers['content-type'] ?? ''
      if (path === undefined || !contentType.startsWith('multipart/')) return []
      const type = answerHeaders['content-type'] ?? ''
      return [{ name, path: `/v1/${path}`, contentType, request: body, status, type, answer }]
    }),
  )
}

const file = recordingsFile()
const cassettes = (source: string, folder: string): Recorded[] =>
  file === undefined ? [] : recordedIn(join(referenceFolder(), 'recordings', source, folder))
const RECORDED = [
  ...cassettes('ruby_llm', 'spec/fixtures/vcr_cassettes'),
  ...cassettes('ruby-openai', 'spec/fixtures/cassettes'),
]

for (const one of RECORDED)
  t.test(`recorded, form and answer byte for byte: ${one.name}`, async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(body(one.answer, { status: one.status, headers: { 'content-type': one.type } }))
    const yaml = oneUpstream(upstream.origin).replace(/^models:.*\n/m, 'models: { "*": up }\n')
    const gateway = await startTestGateway(t, yaml)
    const headers = { 'content-type': one.contentType }
    const answer = await gateway.request(one.path, { body: one.request, headers })
    if (!one.request.includes('name="model"')) {
      // What its provider would do without one, no gateway can: it has to know who is asked.
      t.match(answer.json(), { error: { param: 'model', code: 'missing_required_parameter' } })
      t.equal(upstream.requests.items.length, 0)
      return
    }
    t.ok(upstream.requests.items[0]?.body.equals(one.request), 'the form went out as it was')
    t.equal(upstream.requests.items[0]?.header('content-type'), one.contentType)
    t.equal(answer.status, one.status)
    t.equal(answer.header('content-type'), one.type)
    t.ok(answer.body.equals(one.answer), 'the answer came back as it was')
    t.match(await gateway.log.find(line => line.msg === 'request'), { outcome: 'ok' })
  })

t.test('there are recordings of forms', { skip: file === undefined }, async t => {
  t.ok(RECORDED.length >= 6, `${RECORDED.length}`)
})

t.test('recorded answers whose forms were left out pass byte for byte, too', { skip: file === undefined }, async t => {
  const upstream = await startRawUpstream(t)
  const yaml = oneUpstream(upstream.origin).replace(/^models:.*\n/m, 'models: { "*": up }\n')
  const gateway = await startTestGateway(t, yaml)
  let count = 0
  for await (const { file: name, request, response } of readRecordings(file ?? '')) {
    const path = PATHS.exec(new URL(request.url, 'http://recorded').pathname)?.[1]
    if (path === undefined || request.method !== 'POST') continue
    count += 1
    const type = response.headers['content-type'] ?? ''
    upstream.answer(body(response.body, { status: response.status, headers: { 'content-type': type } }))
    const isJson = typeof request.body === 'object'
    const form = sending(formOf(['model', 'whisper-1'], ['file', noise(500), 'audio/wav']))
    const answer = await gateway.request(`/v1/${path}`, isJson ? { body: request.body } : form)
    t.equal(answer.text, response.body, name)
    t.equal(answer.status, response.status)
    if (isJson) t.equal(upstream.requests.items.at(-1)?.body.toString(), JSON.stringify(request.body))
  }
  t.ok(count >= 4, `${count} recordings`)
})

proveNoLeak(t)
