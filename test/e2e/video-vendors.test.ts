import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { FILM, startTaskUpstream, type TaskScript } from '../helpers/task-upstream.js'
import { simulator } from '../simulator/support.js'

// What an upstream's tasks look like is YAML alone: kinds that come with the gateway, and shapes that only a file knows.

/** A request's answer when its task has ended. */
async function made(gateway: TestGateway, body: object): Promise<{ readonly id: string; readonly record: Answer }> {
  const begun = await gateway.request('/v1/videos', { body: { prompt: 'A cat', ...body } })
  if (begun.status !== 200) throw new Error(begun.text)
  const { id } = begun.json() as { id: string }
  await gateway.log.find(line => line.msg === 'task changed' && line.task === id && ENDS.has(line.to))
  return { id, record: await gateway.request(`/v1/videos/${id}`) }
}

const ENDS: ReadonlySet<unknown> = new Set(['succeeded', 'failed', 'cancelled'])

// ── kinds that come with the gateway, at the simulator

const KINDS: readonly (readonly [string, string])[] = [
  ['openai', ''],
  ['new-api', '&relayed'],
  ['xai', ''],
  ['runway', ''],
  ['native-generate', ''],
]

for (const [kind, wish] of KINDS) {
  const stage = async (t: Test): Promise<TestGateway> => {
    const { origin } = await simulator(t)
    const yaml = `version: 1
store: { type: memory }
${CALLER}
media: { fetch: { allow: [127.0.0.1], http: true, ports: [${new URL(origin).port}] } }
upstreams:
  up: { kind: ${kind}, base: "${origin}", secret: { env: UPSTREAM_KEY }, tasks: { poll: { every: 20ms } } }
models: { "sim-video*": up }
`
    return startTestGateway(t, yaml)
  }

  t.test(`kind ${kind}: a video from its request to its bytes`, async t => {
    const gateway = await stage(t)
    const asked = { model: `sim-video?polls=1${wish}`, duration: 5, size: '1280x720' }
    const { id, record } = await made(gateway, asked)
    t.match(record.json(), { status: 'completed', progress: 100, error: null, seconds: '5', size: '1280x720' })
    const content = await gateway.request(`/v1/videos/${id}/content`)
    t.equal(content.status, 200)
    t.equal(content.header('content-type'), 'video/mp4')
    t.equal(content.body.toString('latin1', 4, 8), 'ftyp')
    t.equal(content.body.length, Number(content.header('content-length')))
  })

  t.test(`kind ${kind}: an end in failure, and one with nothing to show`, async t => {
    const gateway = await stage(t)
    const failed = await made(gateway, { model: `sim-video?polls=1&ends=failed${wish}`, duration: 5 })
    t.match(failed.record.json(), { status: 'failed', error: { message: /\w/ } })
    const empty = await made(gateway, { model: `sim-video?polls=1&ends=empty${wish}`, duration: 5 })
    t.match(empty.record.json(), { status: 'failed', error: { code: 'no_artifact' } })
  })
}

// ── shapes that only the user's file knows

/** Answers in an envelope, counts in parts of one, has states of its own, and keeps films on another host. */
function enveloped(filmOrigin: string): TaskScript {
  let polls = 0
  return ({ method, target, headers, json }) => {
    if (target === '/film.mp4') return { body: FILM, headers: { 'content-type': 'video/mp4' } }
    if (headers.authorization === undefined) return { status: 401 }
    // A number that no double holds: 2^53 + 1.
    if (target === '/jobs/new')
      return { status: 202, body: Buffer.from('{"code":0,"data":{"job":{"no":9007199254740993}}}') }
    if (method !== 'POST' || target !== '/jobs/query') return { status: 404 }
    if (json().jobId !== '9007199254740993') return { status: 400 }
    polls++
    if (polls === 1) return { status: 202, body: { code: 0, data: { phase: 'Warming Up' } } }
    if (polls === 2) return { body: { code: 0, data: { phase: 'PAINTING', part: 0.5 } } }
    return { body: { code: 0, data: { phase: 'Developed', reels: [{ href: `${filmOrigin}/film.mp4` }] } } }
  }
}

t.test('a shape of one’s own: envelope, own words, polls by POST, films elsewhere without the credential', async t => {
  const host = await startTaskUpstream(t, () => ({ body: FILM, headers: { 'content-type': 'video/mp4' } }), '127.0.0.2')
  const upstream = await startTaskUpstream(t, enveloped(host.origin))
  const yaml = `version: 1
store: { type: memory }
${CALLER}
media: { fetch: { allow: [127.0.0.2], http: true, ports: [${host.port}] } }
upstreams:
  lab:
    base: "${upstream.origin}"
    credential: { in: header, name: authorization, scheme: Token, secret: { env: UPSTREAM_KEY } }
    speaks:
      videos:
        call: POST /jobs/new
        forms: json
        request:
          - split: { size: { at: x, into: [frame.width, frame.height] } }
          - cast: { frame.width: integer, frame.height: integer, seconds: number }
          - rename: { prompt: text, seconds: length.seconds }
          - map: { model: { reel: 7 } }
        task:
          id: data.job.no
          state: data.phase
          states: { warming up: queued, painting: running, developed: succeeded }
          progress: data.part
          result: [data.film, data.reels.0.href]
          poll: { every: 20ms }
      videos.retrieve:
        call: POST /jobs/query
        request: [{ rename: { task_id: jobId } }, { keep: [jobId] }]
models: { film: { upstream: lab, as: reel } }
`
  const gateway = await startTestGateway(t, yaml)
  const { id, record } = await made(gateway, { model: 'film', duration: 6, size: '1280x720' })
  t.match(record.json(), { status: 'completed', model: 'film', seconds: '6', size: '1280x720' })
  const [submit] = upstream.submits
  t.same(submit?.json(), { model: 7, text: 'A cat', length: { seconds: 6 }, frame: { width: 1280, height: 720 } })
  const states = gateway.log.items.filter(line => line.msg === 'task changed').map(line => line.to)
  t.same(states, ['running', 'succeeded'], 'queued until it is being painted')
  const content = await gateway.request(`/v1/videos/${id}/content`)
  t.same(content.body, FILM)
  const [fetched] = host.requests.items
  t.equal(fetched?.headers.authorization, undefined, 'another host gets no credential')
})

t.test('a shape of one’s own: an operation by its path, a form as JSON with its file in a data URL', async t => {
  const upstream = await startTaskUpstream(t, ({ method, target }) => {
    if (method === 'POST') return { body: { name: 'projects/p 1/operations/op-9' } }
    if (target === '/op/projects/p%201/operations/op-9')
      return { body: { done: true, response: { video: `data:video/mp4;base64,${FILM.toString('base64')}` } } }
    return { status: 404 }
  })
  const yaml = `version: 1
store: { type: memory }
${CALLER}
upstreams:
  lab:
    base: "${upstream.origin}"
    speaks:
      videos:
        call: POST /predict
        forms: json
        request: [{ rename: { input_reference: image } }, { wrap: input }]
        task: { id: name, state: done, states: { "true": succeeded }, result: response.video, poll: { every: 20ms } }
      videos.retrieve: GET /op/{task_id*}
models: { film: lab }
`
  const gateway = await startTestGateway(t, yaml)
  const form = new FormData()
  form.append('model', 'film')
  form.append('prompt', 'A cat')
  form.append('seconds', '4')
  form.append('metadata[style]', 'noir')
  form.append('metadata[__proto__]', 'x')
  form.append('input_reference', new Blob([new Uint8Array([1, 2, 3])], { type: 'image/png' }), 'a.png')
  const headers = { authorization: `Bearer ${gateway.key}` }
  const begun = await fetch(`${gateway.origin}/v1/videos`, { method: 'POST', headers, body: form })
  t.equal(begun.status, 200)
  const { id } = (await begun.json()) as { id: string }
  await gateway.log.find(line => line.task === id && line.to === 'succeeded')
  const image = 'data:image/png;base64,AQID'
  const metadata = { style: 'noir', ['__proto__']: 'x' }
  t.same(upstream.submits[0]?.json(), { input: { model: 'film', prompt: 'A cat', seconds: '4', metadata, image } })
  t.equal(upstream.submits[0]?.headers['content-type'], 'application/json')
  const part = await gateway.request(`/v1/videos/${id}/content`, { headers: { range: 'bytes=10-19' } })
  t.equal(part.status, 206)
  t.equal(part.header('content-range'), `bytes 10-19/${FILM.length}`)
  t.same(part.body, FILM.subarray(10, 20))
})

proveNoLeak(t)
