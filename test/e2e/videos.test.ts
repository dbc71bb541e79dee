import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import OpenAI, { toFile } from 'openai'
import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'

const STORES = ['memory', 'file'] as const

/** The SDK, with the models of the simulator behind the gateway. */
async function simulated(t: Test, store: string): Promise<{ gateway: TestGateway; sdk: OpenAI }> {
  const yaml = `version: 1
store: { type: ${store} }
${CALLER}
upstreams:
  sim: { kind: simulator, tasks: { poll: { every: 20ms } } }
models: { "sim-*": sim }
`
  const gateway = await startTestGateway(t, yaml)
  return { gateway, sdk: new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 }) }
}

type Asked = OpenAI.Videos.VideoCreateParams

/** What the SDK of another language has: it waits between two polls as long as the answers say, and stops at what is not one of two states. */
async function polled(sdk: OpenAI, id: string): Promise<OpenAI.Videos.Video> {
  for (;;) {
    const { data, response } = await sdk.videos.retrieve(id).withResponse()
    if (data.status !== 'queued' && data.status !== 'in_progress') return data
    await setTimeout(Number(response.headers.get('openai-poll-after-ms') ?? 1000))
  }
}

async function createAndPoll(sdk: OpenAI, asked: Asked): Promise<OpenAI.Videos.Video> {
  return polled(sdk, (await sdk.videos.create(asked)).id)
}

function httpError(status: number): Error {
  return Object.assign(new Error(), { message: new RegExp(`^${status} `) as unknown as string })
}

const QUICK = 'sim-video?takes=100ms'

for (const store of STORES) {
  t.test(`SDK, ${store}: a video is begun, followed to its end, and downloaded`, async t => {
    const { sdk } = await simulated(t, store)
    const begun = await sdk.videos.create({ model: QUICK as 'sora-2', prompt: 'A cat', seconds: '4', size: '1280x720' })
    t.match(begun.id, /^task_[0-9a-f]{32}$/)
    t.equal((begun as { task_id?: string }).task_id, begun.id)
    t.equal(begun.object, 'video')
    t.equal(begun.status, 'queued')
    t.equal(begun.progress, 0)
    t.equal(begun.model, QUICK)
    t.equal(begun.prompt, 'A cat')
    t.equal(begun.seconds, '4')
    t.equal(begun.size, '1280x720')
    t.equal(begun.error, null)
    const ended = await polled(sdk, begun.id)
    t.equal(ended.status, 'completed')
    t.equal(ended.progress, 100)
    t.ok((ended.completed_at ?? 0) >= begun.created_at)
    t.equal((ended.expires_at ?? 0) - (ended.completed_at ?? 0), 24 * 3600)
    const answer = await sdk.videos.downloadContent(begun.id)
    t.equal(answer.headers.get('content-type'), 'video/mp4')
    const film = Buffer.from(await answer.arrayBuffer())
    t.equal(film.toString('latin1', 4, 8), 'ftyp', 'an mp4')
    const thumbnail = await sdk.videos.downloadContent(begun.id, { variant: 'thumbnail' })
    t.match(thumbnail.headers.get('content-type'), /^image\//)
  })

  t.test(`SDK, ${store}: createAndPoll waits as long as the gateway says`, async t => {
    const { sdk, gateway } = await simulated(t, store)
    const video = await createAndPoll(sdk, { model: QUICK as 'sora-2', prompt: 'A dog' })
    t.equal(video.status, 'completed')
    const polls = gateway.log.items.filter(line => line.route === 'GET /v1/videos/{task_id}').length
    t.ok(polls >= 1 && polls < 200, `${polls} polls`)
    const answer = await gateway.request(`/v1/videos/${video.id}`)
    t.equal(answer.header('openai-poll-after-ms'), '20')
  })

  t.test(`SDK, ${store}: a failure is reported with its reason`, async t => {
    const { sdk } = await simulated(t, store)
    const failing = 'sim-video?takes=20ms&ends=failed' as 'sora-2'
    const video = await createAndPoll(sdk, { model: failing, prompt: 'A dog' })
    t.equal(video.status, 'failed')
    t.type(video.error?.message, 'string')
    await t.rejects(sdk.videos.downloadContent(video.id), httpError(404))
  })

  t.test(`SDK, ${store}: lists page by cursors, latest first unless asked otherwise`, async t => {
    const { sdk } = await simulated(t, store)
    const ids: string[] = []
    for (const prompt of ['1', '2', '3', '4', '5']) {
      ids.push((await sdk.videos.create({ model: QUICK as 'sora-2', prompt })).id)
    }
    const seen: string[] = []
    for await (const video of sdk.videos.list({ limit: 2 })) seen.push(video.id)
    t.same(seen.sort(), [...ids].sort(), 'each of them once')
    const page = await sdk.videos.list({ limit: 3, order: 'asc' })
    t.equal(page.data.length, 3)
    t.equal(page.has_more, true)
    const created = page.data.map(video => video.created_at)
    t.same(
      created,
      [...created].sort((a, b) => a - b),
    )
    await t.rejects(sdk.videos.list({ after: 'task_none' }), httpError(400))
  })

  t.test(`SDK, ${store}: a deleted video is gone, here and upstream`, async t => {
    const { sdk, gateway } = await simulated(t, store)
    const { id } = await createAndPoll(sdk, { model: QUICK as 'sora-2', prompt: 'A dog' })
    t.same(await sdk.videos.delete(id), { id, object: 'video.deleted', deleted: true })
    await t.rejects(sdk.videos.retrieve(id), httpError(404))
    await t.rejects(sdk.videos.downloadContent(id), httpError(404))
    t.equal((await sdk.videos.list()).data.length, 0)
    await t.rejects(sdk.videos.delete(id), httpError(404))
    await gateway.gateway.close()
  })

  t.test(`SDK, ${store}: a remix is a new video of the same model`, async t => {
    const { sdk } = await simulated(t, store)
    const first = await createAndPoll(sdk, { model: QUICK as 'sora-2', prompt: 'A dog', seconds: '8' })
    const remix = await sdk.videos.remix(first.id, { prompt: 'A cat' })
    t.not(remix.id, first.id)
    t.equal(remix.remixed_from_video_id, first.id)
    t.equal(remix.prompt, 'A cat')
    t.equal(remix.model, QUICK)
    const ended = await polled(sdk, remix.id)
    t.equal(ended.status, 'completed')
    t.equal(ended.seconds, '8', 'what the upstream says of it')
    await t.rejects(sdk.videos.remix('task_0123456789abcdef0123456789abcdef', { prompt: 'A cat' }), httpError(404))
  })
}

t.test('SDK: a form with a picture to begin with', async t => {
  const { sdk } = await simulated(t, 'memory')
  const picture = readFileSync(new URL('../../../test/fixtures/video/reference.png', import.meta.url))
  const input_reference = await toFile(picture, 'reference.png', { type: 'image/png' })
  const video = await createAndPoll(sdk, { model: QUICK as 'sora-2', prompt: 'A cat', input_reference })
  t.equal(video.status, 'completed')
})

t.test('the length is a number or a text, and upstreams get the text', async t => {
  const { gateway } = await simulated(t, 'memory')
  const ask = { model: QUICK, prompt: 'A cat', size: '1280x720' }
  const asked: readonly (readonly [object, string])[] = [
    [{ duration: 6 }, '6'],
    [{ seconds: '7' }, '7'],
    [{ duration: 6, seconds: '8' }, '8'],
    [{ duration: 6, seconds: null }, '6'],
    [{ duration: null, seconds: '8' }, '8'],
  ]
  for (const [length, seconds] of asked) {
    const answer = await gateway.request('/v1/videos', { body: { ...ask, ...length } })
    t.equal(answer.status, 200)
    t.match(answer.json(), { seconds, status: 'queued' })
  }
  const bad = await gateway.request('/v1/videos', { body: { ...ask, duration: 'long' } })
  t.equal(bad.status, 400)
  t.match(bad.json(), { error: { param: 'duration' } })
})

t.test('a model that the key may not use, or no one has, begins nothing', async t => {
  const { gateway } = await simulated(t, 'memory')
  const answer = await gateway.request('/v1/videos', { body: { model: 'nobody', prompt: 'A cat' } })
  t.equal(answer.status, 404)
  t.match(answer.json(), { error: { code: 'model_not_found' } })
})

proveNoLeak(t)
