import OpenAI, { toFile } from 'openai'
import t from 'tap'
import { probe, without } from '../../../helpers/film-tools.js'
import { openApi, openApiFolder } from '../../../helpers/openapi.js'
import { decodePng } from '../../image/decode-png.js'
import { sdk, simulator } from '../../support.js'
import { ask, Clock, download } from './support.js'

const REQUEST = { model: 'sim-video?polls=4' as OpenAI.VideoModel, prompt: 'A lighthouse in a storm' }
const DONE = { ...REQUEST, model: 'sim-video?polls=0' as OpenAI.VideoModel }

t.test('a video from the request to the film, by the official SDK', { skip: without('ffprobe') }, async t => {
  const { videos } = sdk(await simulator(t))
  const begun = await videos.create({ ...REQUEST, size: '1280x720', seconds: '8' })
  t.match(begun, {
    ...{ id: /^video_[a-z2-7]+$/, object: 'video', model: 'sim-video', status: 'queued', progress: 0 },
    ...{ prompt: 'A lighthouse in a storm', size: '1280x720', seconds: '8' },
    ...{ completed_at: null, expires_at: null, error: null, remixed_from_video_id: null },
  })
  const progress = []
  let video = begun
  while (video.status === 'queued' || video.status === 'in_progress') {
    video = await videos.retrieve(begun.id)
    progress.push([video.status, video.progress])
  }
  t.same(progress, [
    ['in_progress', 25],
    ['in_progress', 50],
    ['in_progress', 75],
    ['completed', 100],
  ])
  t.match(video, { completed_at: Number, expires_at: Number })
  const answer = await videos.downloadContent(begun.id)
  t.equal(answer.headers.get('content-type'), 'video/mp4')
  const file = new Uint8Array(await answer.arrayBuffer())
  t.equal(answer.headers.get('content-length'), String(file.length))
  t.match(await probe(file), { codec: 'h264', width: 1280, height: 720, seconds: 8, comment: REQUEST.prompt })
})

t.test('it takes as long as it says', async t => {
  const clock = new Clock()
  const { videos } = sdk(await simulator(t, { now: clock.now }))
  const { id } = await videos.create({ ...REQUEST, model: 'sim-video?takes=3s' as OpenAI.VideoModel })
  const after = async (milliseconds: number) => {
    clock.pass(milliseconds)
    return videos.retrieve(id)
  }
  t.match(await after(299), { status: 'queued', progress: 0 })
  t.match(await after(1201), { status: 'in_progress', progress: 50 })
  t.match(await after(1499), { status: 'in_progress', progress: 99, completed_at: null })
  const created = clock.now() - 2999
  t.match(await after(1), { status: 'completed', completed_at: Math.floor((created + 3000) / 1000) })
})

t.test('another process continues it, and draws the same film', async t => {
  const clock = new Clock()
  const first = await simulator(t, { now: clock.now })
  const { body: begun } = await ask(first, '/v1/videos', { ...REQUEST, model: 'sim-video?takes=10s' })
  clock.pass(4000)
  t.match((await ask(first, `/v1/videos/${begun.id}`)).body, { status: 'in_progress', progress: 40 })
  await first.close()
  const second = await simulator(t, { now: clock.now })
  clock.pass(1000)
  const { body } = await ask(second, `/v1/videos/${begun.id}`)
  t.same(body, { ...begun, status: 'in_progress', progress: 50 })
  clock.pass(5000)
  t.match((await ask(second, `/v1/videos/${begun.id}`)).body, { status: 'completed' })
  const film = await download(second, `/v1/videos/${begun.id}/content`)
  const third = await simulator(t, { now: clock.now })
  t.ok(film.bytes.equals((await download(third, `/v1/videos/${begun.id}/content`)).bytes))
})

t.test('two requests are two tasks; what comes of them is the same, byte for byte', async t => {
  const upstream = await simulator(t)
  const begin = async () => (await ask(upstream, '/v1/videos', DONE)).body.id
  const [one, other] = [await begin(), await begin()]
  t.not(one, other)
  const content = async (id: string) => (await download(upstream, `/v1/videos/${id}/content`)).bytes
  t.ok((await content(one)).equals(await content(other)))
  const { body: third } = await ask(upstream, '/v1/videos', { ...DONE, prompt: 'A lighthouse at rest' })
  t.notOk((await content(one)).equals(await content(third.id)))
})

t.test('a long prompt is answered in full, and drawn cut to what its name holds', async t => {
  const upstream = await simulator(t)
  const prompt = '\u{706f}\u{53f0} '.repeat(2000)
  const { body } = await ask(upstream, '/v1/videos', { ...DONE, prompt })
  t.ok(body.id.length < 600)
  t.equal((await ask(upstream, `/v1/videos/${body.id}`)).body.prompt, prompt)
  const other = await simulator(t)
  t.match((await ask(other, `/v1/videos/${body.id}`)).body.prompt, /^(\u{706f}\u{53f0} )+\u{706f}?\u{2026}$/u)
  const [one, same] = [
    await download(upstream, `/v1/videos/${body.id}/content`),
    await download(other, `/v1/videos/${body.id}/content`),
  ]
  t.ok(one.bytes.equals(same.bytes))
})

t.test('pictures of it', async t => {
  const { videos } = sdk(await simulator(t))
  const { id } = await videos.create({ ...DONE, size: '1280x720', seconds: '8' })
  for (const [variant, height] of [
    ['thumbnail', 720],
    ['spritesheet', 360],
  ] as const) {
    const answer = await videos.downloadContent(id, { variant })
    t.equal(answer.headers.get('content-type'), 'image/png')
    t.match(decodePng(Buffer.from(await answer.arrayBuffer())), { width: 1280, height })
  }
  const wrong = await videos.downloadContent(id, { variant: 'sound' as 'video' }).catch((error: unknown) => error)
  t.match(wrong, { status: 400, param: 'variant' })
})

t.test('content in ranges, and its head alone', async t => {
  const upstream = await simulator(t)
  const { body } = await ask(upstream, '/v1/videos', DONE)
  const path = `/v1/videos/${body.id}/content`
  const { bytes, headers } = await download(upstream, path)
  const range = async (value: string, more = {}) => download(upstream, path, { range: value, ...more })
  const first = await range('bytes=0-99')
  t.match(first, { status: 206 })
  t.equal(first.headers.get('content-range'), `bytes 0-99/${bytes.length}`)
  const middle = await range('bytes=100-199')
  const rest = await range('bytes=200-')
  t.ok(Buffer.concat([first.bytes, middle.bytes, rest.bytes]).equals(bytes))
  t.ok((await range('bytes=-10')).bytes.equals(bytes.subarray(-10)))
  t.ok((await range('bytes=0-999999999')).bytes.equals(bytes))
  const beyond = await range(`bytes=${bytes.length}-`)
  t.equal(beyond.status, 416)
  t.equal(beyond.headers.get('content-range'), `bytes */${bytes.length}`)
  t.equal((await range('bytes=0-1,5-6')).status, 200)
  t.equal((await range('bytes=0-1', { 'if-range': headers.get('etag') ?? '' })).status, 206)
  t.equal((await range('bytes=0-1', { 'if-range': '"other"' })).status, 200)
  const head = await fetch(`${upstream.origin}${path}`, { method: 'HEAD' })
  t.equal(head.status, 200)
  for (const name of ['content-length', 'content-type', 'etag']) t.equal(head.headers.get(name), headers.get(name))
})

t.test('a form with a picture, and one with the address of one', async t => {
  const { videos } = sdk(await simulator(t))
  const picture = await toFile(Buffer.alloc(100), 'a.png', { type: 'image/png' })
  t.match(await videos.create({ ...REQUEST, input_reference: picture }), { status: 'queued', prompt: REQUEST.prompt })
  t.match(await videos.create({ ...REQUEST, input_reference: { image_url: 'https://example.com/a.png' } }), {
    status: 'queued',
  })
  const sheet = await toFile(Buffer.alloc(100), 'a.csv', { type: 'text/csv' })
  const refused = await videos.create({ ...REQUEST, input_reference: sheet }).catch((error: unknown) => error)
  t.match(refused, { status: 400, param: 'input_reference' })
})

t.test('pages of what was begun, latest first', async t => {
  const { videos } = sdk(await simulator(t))
  const ids = []
  for (let count = 0; count < 5; count += 1) ids.push((await videos.create({ ...REQUEST, prompt: `Film ${count}` })).id)
  const all = []
  for await (const { id } of videos.list({ limit: 2 })) all.push(id)
  t.same(all, ids.toReversed())
  const page = await videos.list({ order: 'asc', limit: 3, after: ids[0] as string })
  t.same(
    page.data.map(({ id }) => id),
    ids.slice(1, 4),
  )
  t.match(page, { has_more: true, last_id: ids[3] })
})

t.test('a remix has the size of the first, and says where it is from', async t => {
  const { videos } = sdk(await simulator(t))
  const first = await videos.create({ ...DONE, size: '1024x1792', seconds: '12' })
  const second = await videos.remix(first.id, { prompt: 'The same by night' })
  t.match(second, {
    ...{ size: '1024x1792', seconds: '12', prompt: 'The same by night' },
    ...{ remixed_from_video_id: first.id, status: 'completed' },
  })
  t.not(second.id, first.id)
  const running = await videos.create(REQUEST)
  t.match(await videos.remix(running.id, { prompt: 'x' }).catch((error: unknown) => error), { status: 400 })
})

t.test('what was deleted is gone', async t => {
  const { videos } = sdk(await simulator(t))
  const { id } = await videos.create(DONE)
  t.same(await videos.delete(id), { id, object: 'video.deleted', deleted: true })
  t.ok((await videos.retrieve(id).catch((error: unknown) => error)) instanceof OpenAI.NotFoundError)
  t.ok((await videos.downloadContent(id).catch((error: unknown) => error)) instanceof OpenAI.NotFoundError)
  t.same((await videos.list()).data, [])
  const running = await videos.create(REQUEST)
  t.match(await videos.delete(running.id).catch((error: unknown) => error), { status: 400 })
})

t.test('a film is kept for a day', async t => {
  const clock = new Clock()
  const upstream = await simulator(t, { now: clock.now })
  const { body } = await ask(upstream, '/v1/videos', { ...REQUEST, model: 'sim-video?takes=1s' })
  const content = async () => (await download(upstream, `/v1/videos/${body.id}/content`)).status
  t.equal(await content(), 404, 'not yet')
  clock.pass(1000)
  t.equal(await content(), 200)
  clock.pass(86_400_000)
  t.equal(await content(), 404, 'no longer')
})

t.test('refusals', async t => {
  const upstream = await simulator(t)
  const refused: readonly (readonly [object, number, object])[] = [
    [{ prompt: undefined }, 400, { param: 'prompt', code: 'missing_required_parameter' }],
    [{ prompt: ' ' }, 400, { param: 'prompt' }],
    [{ prompt: 'x'.repeat(32_001) }, 400, { param: 'prompt', code: 'string_above_max_length' }],
    [{ prompt: 'simulate_block' }, 400, { code: 'moderation_blocked' }],
    [{ seconds: 4 }, 400, { param: 'seconds', code: 'invalid_type' }],
    [{ seconds: '0' }, 400, { param: 'seconds' }],
    [{ seconds: '61' }, 400, { param: 'seconds' }],
    [{ size: '1280x721' }, 400, { param: 'size' }],
    [{ size: '4096x4096' }, 400, { param: 'size' }],
    [{ duration: 4 }, 400, { param: 'duration', code: 'unknown_parameter' }],
    [{ input_reference: { image_url: 'a', file_id: 'b' } }, 400, { param: 'input_reference' }],
  ]
  for (const [fields, status, error] of refused) {
    const { status: found, body } = await ask(upstream, '/v1/videos', { ...REQUEST, ...fields })
    t.equal(found, status, JSON.stringify(body))
    t.match(body.error, error)
  }
  for (const id of ['x', 'video_', 'video_abc', 'task_abc', 'video_%00', '../models']) {
    t.equal((await ask(upstream, `/v1/videos/${encodeURIComponent(id)}`)).status, 404, id)
  }
})

t.test('every document fits the description of the protocol', { skip: openApiFolder() === undefined }, async t => {
  const upstream = await simulator(t)
  const documents = []
  for (const model of ['sim-video?polls=0', 'sim-video?polls=2', 'sim-video?polls=0&ends=failed']) {
    const { body } = await ask(upstream, '/v1/videos', { model, prompt: 'x' })
    documents.push(body, (await ask(upstream, `/v1/videos/${body.id}`)).body)
  }
  for (const document of documents) t.same(openApi('videos.response')(document), [], JSON.stringify(document))
  t.same(openApi('videos.list')((await ask(upstream, '/v1/videos')).body), [])
  const gone = await ask(upstream, `/v1/videos/${documents[0].id}`, undefined, { method: 'DELETE' })
  t.same(openApi('videos.deleted')(gone.body), [])
  t.same(openApi('videos.request')({ prompt: 'x', seconds: '4', size: '1280x720' }), [])
})
