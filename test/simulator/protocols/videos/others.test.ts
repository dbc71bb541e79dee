import { GoogleGenAI } from '@google/genai'
import t from 'tap'
import type { Simulator } from '../../../../simulator/src/index.js'
import { boxesOf } from '../../film/boxes.js'
import { simulator } from '../../support.js'
import { ask, Clock, download, type Json } from './support.js'

/** Asks until the answer says that it is over; no service takes more than a few polls here. */
async function until(upstream: Simulator, path: string, over: (body: Json) => boolean): Promise<Json> {
  for (let polls = 0; polls < 10; polls += 1) {
    const { body } = await ask(upstream, path)
    if (over(body)) return body
  }
  throw new Error('it is never over')
}

async function isFilm(upstream: Simulator, address: string): Promise<boolean> {
  const { bytes, headers, status } = await download(upstream, address)
  return status === 200 && headers.get('content-type') === 'video/mp4' && boxesOf(bytes).length === 3
}

t.test('a relay: its own id as well, nothing that is not set, an address in the metadata', async t => {
  const upstream = await simulator(t)
  const request = { model: 'sim-video?polls=2&relayed', prompt: 'x', size: '320x180', duration: 2, metadata: { a: 1 } }
  const { body: begun } = await ask(upstream, '/v1/videos', request)
  t.match(begun, { task_id: /^task_[a-z2-7]+$/, id: begun.task_id, status: 'queued', seconds: '2', size: '320x180' })
  t.notOk('completed_at' in begun || 'error' in begun || 'metadata' in begun)
  t.match((await ask(upstream, `/v1/videos/${begun.id}`)).body, { status: 'in_progress', progress: 50 })
  t.equal((await ask(upstream, `/v1/videos/${begun.id}/content`)).status, 400)
  const { body } = await ask(upstream, `/v1/videos/${begun.id}`)
  t.match(body, { status: 'completed', task_id: begun.id })
  t.ok(await isFilm(upstream, body.metadata.url))
  t.ok(await isFilm(upstream, `/v1/videos/${begun.id}/content`))
  const unknown = await ask(upstream, '/v1/videos', { ...request, model: 'sim-video?relayed&state=unknown' })
  t.match((await ask(upstream, `/v1/videos/${unknown.body.id}`)).body, { status: 'unknown' })
})

t.test('a deferred answer: 202 until it is done', async t => {
  const upstream = await simulator(t)
  const request = { model: 'sim-video?polls=2', prompt: 'x', duration: 1, resolution: '480p', aspect_ratio: '16:9' }
  const { body: begun } = await ask(upstream, '/v1/videos/generations', request)
  t.same(Object.keys(begun), ['request_id'])
  t.match(await ask(upstream, `/v1/videos/${begun.request_id}`), {
    status: 202,
    body: { status: 'pending', progress: 50 },
  })
  const { status, body } = await ask(upstream, `/v1/videos/${begun.request_id}`)
  t.equal(status, 200)
  t.match(body, { status: 'done', progress: 100, model: 'sim-video', video: { duration: 1, respect_moderation: true } })
  t.ok(await isFilm(upstream, body.video.url))
  const ended = async (ends: string) => {
    const { body } = await ask(upstream, '/v1/videos/generations', {
      model: `sim-video?polls=1&ends=${ends}`,
      prompt: 'x',
    })
    return (await ask(upstream, `/v1/videos/${body.request_id}`)).body
  }
  t.match(await ended('failed'), { status: 'failed', error: { code: String } })
  t.match(await ended('blocked'), { status: 'done', video: { url: '', respect_moderation: false } })
  t.equal((await ended('empty')).video, undefined)
  t.equal((await ask(upstream, '/v1/videos/generations', { ...request, size: '1x1' })).status, 400)
  t.equal((await ask(upstream, '/v1/videos/generations', { ...request, duration: 16 })).status, 400)
})

t.test('a pipeline: states in capitals, progress as a share, a list of results', async t => {
  const upstream = await simulator(t)
  const request = { model: 'sim-video?polls=5', promptText: 'x', ratio: '320:180', duration: 2 }
  const { body: begun } = await ask(upstream, '/v1/text_to_video', request)
  t.same(Object.keys(begun), ['id'])
  const path = `/v1/tasks/${begun.id}`
  t.match((await ask(upstream, path)).body, { id: begun.id, status: 'RUNNING', progress: 0.2, createdAt: String })
  const { output } = await until(upstream, path, ({ status }) => status === 'SUCCEEDED')
  t.equal(output.length, 1)
  t.ok(await isFilm(upstream, output[0]))
  t.equal((await ask(upstream, path, undefined, { method: 'DELETE' })).status, 204)
  t.match(await ask(upstream, path), { status: 404, body: { error: 'Not Found' } })
  t.equal((await download(upstream, output[0])).status, 404)
  const failed = await ask(upstream, '/v1/text_to_video', { ...request, model: 'sim-video?polls=1&ends=failed' })
  t.match((await ask(upstream, `/v1/tasks/${failed.body.id}`)).body, { status: 'FAILED', failureCode: 'INTERNAL' })
  t.equal((await ask(upstream, '/v1/image_to_video', request)).status, 400, 'no image')
  const image = { ...request, promptImage: 'https://example.com/a.png' }
  t.equal((await ask(upstream, '/v1/image_to_video', image)).status, 200)
})

t.test('a long-running operation of the native protocol, by the official SDK', async t => {
  const upstream = await simulator(t)
  // The SDK takes no question mark in a model's name.
  const httpOptions = { baseUrl: upstream.origin, headers: { 'x-simulate': 'polls=2' } }
  const { models, operations } = new GoogleGenAI({ apiKey: 'none needed', httpOptions })
  const config = { numberOfVideos: 2, durationSeconds: 4, aspectRatio: '9:16', resolution: '720p' }
  const begun = await models.generateVideos({ model: 'sim-video', source: { prompt: 'x' }, config })
  t.match(begun.name, /^models\/sim-video\/operations\/[a-z2-7]+$/)
  const once = await operations.getVideosOperation({ operation: begun })
  t.notOk(once.done)
  const { done, response } = await operations.getVideosOperation({ operation: once })
  t.equal(done, true)
  const addresses = response?.generatedVideos?.map(({ video }) => video?.uri ?? '') ?? []
  t.equal(addresses.length, 2)
  for (const address of addresses) {
    t.match(address, /\/v1beta\/files\/[a-z0-9]+:download\?alt=media$/)
    t.ok(await isFilm(upstream, address))
  }
})

t.test('operations that end badly, and refusals of the native protocol', async t => {
  const upstream = await simulator(t)
  const begin = (model: string, body: object = { instances: [{ prompt: 'x' }] }) =>
    ask(upstream, `/v1beta/models/${encodeURIComponent(model)}:predictLongRunning`, body)
  const ended = async (ends: string) => {
    const { body } = await begin(`sim-video?polls=1&ends=${ends}`)
    return (await ask(upstream, `/v1beta/${body.name}`)).body
  }
  t.match(await ended('failed'), { done: true, error: { code: 13, message: String } })
  t.match((await ended('blocked')).response.generateVideoResponse, { raiMediaFilteredCount: 1 })
  t.same((await ended('empty')).response.generateVideoResponse, {})
  t.match(await begin('other?status=404'), { status: 404, body: { error: { status: 'NOT_FOUND' } } })
  for (const body of [{}, { instances: [] }, { instances: [{}] }, { instances: [{ prompt: 'x' }], other: 1 }]) {
    t.match(await begin('sim-video', body), { status: 400, body: { error: { status: 'INVALID_ARGUMENT' } } })
  }
  t.equal((await ask(upstream, '/v1beta/models/sim-video/operations/abc')).status, 404)
  t.equal((await ask(upstream, '/v1beta/files/abc:download?alt=media')).status, 404)
})

t.test('every service continues after a restart, and none knows a task of another', async t => {
  const clock = new Clock()
  const first = await simulator(t, { now: clock.now })
  const model = 'sim-video?takes=1s'
  const films = [
    ['video', (await ask(first, '/v1/videos', { model, prompt: 'x' })).body.id],
    ['relayed', (await ask(first, '/v1/videos', { model: `${model}&relayed`, prompt: 'x' })).body.id],
    ['deferred', (await ask(first, '/v1/videos/generations', { model, prompt: 'x' })).body.request_id],
    ['pipeline', (await ask(first, '/v1/text_to_video', { model, promptText: 'x' })).body.id],
  ] as const
  const paths = {
    video: (id: string) => `/v1/videos/${id}`,
    relayed: (id: string) => `/v1/videos/${id}`,
    deferred: (id: string) => `/v1/videos/${id}`,
    pipeline: (id: string) => `/v1/tasks/${id}`,
  }
  await first.close()
  clock.pass(1000)
  const second = await simulator(t, { now: clock.now })
  for (const [kind, id] of films) {
    t.match(JSON.stringify((await ask(second, paths[kind](id))).body), /completed|SUCCESS|done|SUCCEEDED/, kind)
  }
  const pipeline = films[3][1]
  for (const path of [`/v1/videos/${pipeline}`, `/v1/videos/video_${pipeline}`, `/v1/videos/task_${pipeline}`]) {
    t.ok((await ask(second, path)).status >= 400, path)
  }
})
