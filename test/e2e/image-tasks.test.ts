import t, { type Test } from 'tap'
import { fastClock } from '../helpers/fast-clock.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, request } from '../helpers/raw-client.js'
import { decodePng } from '../simulator/image/decode-png.js'

/** `asked` of the simulator for every request. */
const yaml = (type: string, asked = 'polls=3'): string => `version: 1
${CALLER}
store: { type: ${type}, path: ./data }
upstreams: { up: { kind: simulator-imagine, headers: { x-simulate: "${asked}" }, tasks: { poll: { every: 100ms, first: 20ms } } } }
models: { midjourney: up, niji: up, sim-imagine: { upstream: up, as: MID_JOURNEY } }
`

const PNG = `data:image/png;base64,${Buffer.alloc(30).toString('base64')}`

// biome-ignore lint/suspicious/noExplicitAny: what a client reads
type Json = any

async function submit(up: TestGateway, what: string, body: object): Promise<Json> {
  const answer = await up.request(what.startsWith('/') ? what : `/mj/submit/${what}`, { body })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json()
}

const fetchTask = async (up: TestGateway, id: string): Promise<Json> =>
  (await up.request(`/mj/task/${id}/fetch`)).json()

/** The record of a task that has ended, found as clients find it: they ask, again and again. */
async function ended(up: TestGateway, id: string): Promise<Json> {
  for (;;) {
    const record = await fetchTask(up, id)
    if (record.status === 'SUCCESS' || record.status === 'FAILURE') return record
  }
}

async function made(up: TestGateway, what: string, body: object): Promise<Json> {
  return await ended(up, (await submit(up, what, body)).result)
}

async function download(t: Test, url: string): Promise<Answer> {
  const { origin, pathname, search } = new URL(url)
  return await request(t, origin, pathname + search)
}

for (const store of ['memory', 'file']) {
  t.test(`${store}: imagine, fetch, U1, fetch the image`, async t => {
    const up = await startTestGateway(t, yaml(store))
    const prompt = 'A lighthouse --ar 16:9 --v 6 --sim takes=1s'
    const begun = await submit(up, 'imagine', { prompt, base64Array: [], state: 'mine' })
    t.match(begun, { code: 1, description: 'Submit success', result: /^task_[0-9a-f]{32}$/, properties: {} })
    t.equal(begun.taskId, begun.result)
    const grid = await ended(up, begun.result)
    t.match(grid, {
      ...{ id: begun.result, action: 'IMAGINE', status: 'SUCCESS', prompt, state: 'mine', progress: '100%' },
      ...{ botType: 'MID_JOURNEY', failReason: null, properties: { finalPrompt: prompt } },
    })
    t.equal(grid.buttons.length, 9)
    t.match(decodePng((await download(t, grid.imageUrl)).body), { width: 1360, height: 768 })
    const single = await made(up, 'action', { taskId: grid.id, customId: grid.buttons[0].customId })
    t.match(single, { action: 'UPSCALE', status: 'SUCCESS', customId: grid.buttons[0].customId })
    const picture = await download(t, single.imageUrl)
    t.match([picture.status, picture.header('content-type')], [200, 'image/png'])
    t.match(decodePng(picture.body), { width: 1360, height: 768 })
    t.not(picture.body.toString('base64'), (await download(t, grid.imageUrl)).body.toString('base64'))
  })
}

t.test('a picture in the making is shown, and its progress only grows', async t => {
  const up = await startTestGateway(t, yaml('memory'))
  const { result } = await submit(up, 'imagine', { prompt: 'A lighthouse --sim takes=2s' })
  const seen: Json[] = []
  for (let last: Json = {}; last.status !== 'SUCCESS'; seen.push(last)) last = await fetchTask(up, result)
  const running = seen.find(({ status, imageUrl }) => status === 'IN_PROGRESS' && imageUrl !== null)
  const half = await download(t, running.imageUrl)
  t.equal(half.status, 200)
  const progress = seen.map(record => Number.parseInt(record.progress, 10))
  t.same(
    progress,
    [...progress].sort((a, b) => a - b),
  )
  t.ok(seen.every(({ status }) => ['SUBMITTED', 'IN_PROGRESS', 'SUCCESS'].includes(status)))
})

t.test('all that is made of a task: change, simple-change, again, a film', async t => {
  const up = await startTestGateway(t, yaml('memory'))
  const { id: taskId } = await made(up, 'imagine', { prompt: 'A lighthouse --sim polls=0', botType: 'NIJI_JOURNEY' })
  t.match(await made(up, 'change', { taskId, action: 'UPSCALE', index: 1 }), { action: 'UPSCALE', status: 'SUCCESS' })
  t.match(await made(up, 'simple-change', { content: `${taskId} V2` }), {
    action: 'VARIATION',
    botType: 'NIJI_JOURNEY',
  })
  t.match(await made(up, 'change', { taskId, action: 'REROLL' }), { action: 'REROLL', status: 'SUCCESS' })
  const film = await made(up, 'video', { taskId, motion: 'low', index: 1 })
  t.match(film, { action: 'VIDEO', status: 'SUCCESS', videoUrl: /variant=video&/, videoUrls: [{ url: film.videoUrl }] })
  const bytes = await download(t, film.videoUrl)
  t.match([bytes.status, bytes.header('content-type')], [200, 'video/mp4'])
  t.equal(bytes.body.subarray(4, 8).toString(), 'ftyp')
  const known = await submit(up, 'change', { taskId, action: 'UPSCALE', index: 1 })
  t.match(known, { code: 1, properties: { status: 'SUCCESS' } })
  t.match(await ended(up, known.result), { action: 'UPSCALE', status: 'SUCCESS' })
})

t.test('describe, blend, shorten, edits, swap: what needs no other task', async t => {
  const up = await startTestGateway(t, yaml('memory', 'polls=0'))
  t.match(await made(up, 'describe', { base64: PNG }), {
    action: 'DESCRIBE',
    properties: { finalPrompt: /1\ufe0f\u20e3/ },
  })
  t.match(await made(up, 'blend', { base64Array: [PNG, PNG], dimensions: 'PORTRAIT' }), {
    action: 'BLEND',
    status: 'SUCCESS',
  })
  const shorten = await made(up, 'shorten', { prompt: 'A lighthouse in a storm at night' })
  t.match(shorten, { action: 'SHORTEN', status: 'SUCCESS', properties: { finalPrompt: /lighthouse/ } })
  t.match(await made(up, 'edits', { prompt: 'A cat', image: PNG }), { action: 'EDITS', status: 'SUCCESS' })
  const swap = await made(up, '/mj/insight-face/swap', { sourceBase64: PNG, targetBase64: PNG })
  t.match(swap, { action: 'SWAP_FACE', status: 'SUCCESS', imageUrl: /^http/ })
})

t.test('a custom zoom waits for its prompt, and continues as the same task', async t => {
  const up = await startTestGateway(t, yaml('memory'))
  const { id } = await made(up, 'imagine', { prompt: 'A lighthouse --sim polls=0' })
  const single = await made(up, 'change', { taskId: id, action: 'UPSCALE', index: 2 })
  const { customId } = single.buttons.find(({ label }: Json) => label === 'Custom Zoom')
  const begun = await submit(up, 'action', { taskId: single.id, customId })
  t.match(begun, { code: 21, description: 'Waiting for window confirm', properties: { remix: true } })
  t.match(await fetchTask(up, begun.result), { status: 'MODAL', progress: '0%' })
  const told = await submit(up, 'modal', { taskId: begun.result, prompt: 'A lighthouse --zoom 1.8' })
  t.match(told, { code: 1, result: begun.result, taskId: begun.result })
  t.match(await ended(up, begun.result), {
    action: 'CUSTOM_ZOOM',
    status: 'SUCCESS',
    prompt: 'A lighthouse --zoom 1.8',
  })
})

t.test('the seed, and several records at once', async t => {
  const up = await startTestGateway(t, yaml('memory'))
  const [one, two] = [
    await made(up, 'imagine', { prompt: 'One --sim polls=0' }),
    await made(up, 'imagine', { prompt: 'Two --sim polls=0' }),
  ]
  t.match((await up.request(`/mj/task/${one.id}/image-seed`)).json(), { code: 1, result: /^\d+$/ })
  const list = (await up.request('/mj/task/list-by-condition', { body: { ids: [two.id, 'none', one.id] } })).json()
  t.match(list, [
    { id: two.id, prompt: /Two/ },
    { id: one.id, prompt: /One/ },
  ])
})

t.test('what the simulator refuses, loses and breaks', async t => {
  const up = await startTestGateway(
    t,
    yaml('memory').replace('first: 20ms }', 'first: 20ms }, deadline: 1m, grace: 1ms'),
  )
  const code = async (prompt: string): Promise<Json> =>
    (await up.request('/mj/submit/imagine', { body: { prompt } })).json()
  t.match(await code('nude'), { code: 24, properties: { bannedWord: 'nude' } })
  t.match(await code('A cat --sim code=23'), { code: 23 })
  t.match(await code('A cat --sim code=3'), { code: 3 })
  t.match(await code('A cat --sim code=22'), { code: 1, properties: { numberOfQueues: 1 } })
  const broken = await made(up, 'imagine', { prompt: 'A cat --sim polls=1 poll.status=429 poll.times=2' })
  t.match(broken, { status: 'SUCCESS' })
  fastClock(t, Date)
  const stalled = await made(up, 'imagine', { prompt: 'A cat --sim stall=85' })
  t.match(stalled, { status: 'FAILURE', progress: '', failReason: /in time/ })
})
