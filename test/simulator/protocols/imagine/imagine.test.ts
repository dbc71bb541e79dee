import t from 'tap'
import { probe, without } from '../../../helpers/film-tools.js'
import { decodePng } from '../../image/decode-png.js'
import { simulator } from '../../support.js'
import { ask, Clock, download } from '../videos/support.js'
import { drawn, fetchTask, PNG, submit } from './support.js'

t.test('a picture from the wish to its four panels', async t => {
  const clock = new Clock()
  const upstream = await simulator(t, { now: clock.now })
  const prompt = 'A lighthouse in a storm --ar 16:9 --v 6 --sim takes=4s'
  const answer = await submit(upstream, 'imagine', { prompt, botType: 'MID_JOURNEY', base64Array: [], state: 'mine' })
  t.match(answer, { code: 1, description: 'Submit success', result: /^\d+$/, properties: {} })
  const record = () => fetchTask(upstream, answer.result)
  t.match(await record(), {
    ...{ id: answer.result, action: 'IMAGINE', status: 'SUBMITTED', progress: '0%', prompt, state: 'mine' },
    ...{ submitTime: clock.now(), startTime: null, finishTime: null, imageUrl: '', failReason: null, buttons: [] },
    ...{ botType: 'MID_JOURNEY', properties: { finalPrompt: prompt } },
  })
  clock.pass(1240)
  const half = await record()
  t.match(half, { status: 'IN_PROGRESS', progress: '31%', startTime: Number, finishTime: null })
  t.match(decodePng((await download(upstream, half.imageUrl)).bytes), { width: 1360, height: 768 })
  clock.pass(2760)
  const done = await record()
  t.match(done, { status: 'SUCCESS', progress: '100%', finishTime: done.submitTime + 4000 })
  const { bytes, headers } = await download(upstream, done.imageUrl)
  t.equal(headers.get('content-type'), 'image/png')
  const picture = decodePng(bytes)
  t.match(picture, { width: 1360, height: 768, description: 'A lighthouse in a storm' })
  const corners = [picture.at(0, 0), picture.at(1359, 0), picture.at(0, 767), picture.at(1359, 767)]
  t.equal(new Set(corners).size, 4, 'each panel has a frame of its own colour')
})

t.test('what can be done with it: upscale, vary, again', async t => {
  const upstream = await simulator(t)
  const { buttons, id } = await drawn(upstream)
  t.same(
    buttons.map(({ label }: { label: string }) => label),
    ['U1', 'U2', 'U3', 'U4', '', 'V1', 'V2', 'V3', 'V4'],
  )
  for (const button of buttons) t.match(button, { customId: /^MJ::JOB::/, type: 2, style: 2 })
  const press = async (at: number) => {
    const { result } = await submit(upstream, 'action', { taskId: id, customId: buttons[at].customId })
    return fetchTask(upstream, result)
  }
  const [upscaled, again, varied] = [await press(1), await press(4), await press(7)]
  t.match(upscaled, { action: 'UPSCALE', status: 'SUCCESS', customId: buttons[1].customId })
  t.match(again, { action: 'REROLL', status: 'SUCCESS' })
  t.match(varied, { action: 'VARIATION', status: 'SUCCESS' })
  t.equal(again.buttons.length, 9)
  t.match(
    upscaled.buttons.map(({ label }: { label: string }) => label),
    ['Vary (Subtle)', 'Vary (Strong)', 'Vary (Region)', 'Zoom Out 2x', 'Zoom Out 1.5x', 'Custom Zoom', '', '', '', ''],
  )
  const pictures = await Promise.all(
    [id, upscaled.id, again.id, varied.id].map(each => download(upstream, `/mj/image/${each}`)),
  )
  t.equal(new Set(pictures.map(({ bytes }) => bytes.toString('base64'))).size, 4)
  const [whole, one] = pictures.map(({ bytes }) => decodePng(bytes))
  t.same([one?.width, one?.height], [whole?.width, whole?.height])
  const [frames, frame] = [
    whole?.palette.subarray(3 * (whole?.at(1023, 0) ?? 0)),
    one?.palette.subarray(3 * (one?.at(0, 0) ?? 0)),
  ]
  t.same(frame?.subarray(0, 3), frames?.subarray(0, 3), 'the second panel, with its own frame')
  t.match(await submit(upstream, 'action', { taskId: id, customId: upscaled.buttons[0].customId }), { code: 4 })
})

t.test('the same by the older words', async t => {
  const upstream = await simulator(t)
  const { id } = await drawn(upstream)
  const actions = []
  for (const content of [`${id} U2`, `${id} v3`, `${id} R`]) {
    const { code, result } = await submit(upstream, 'simple-change', { content })
    t.equal(code, 1, content)
    actions.push((await fetchTask(upstream, result)).action)
  }
  t.same(actions, ['UPSCALE', 'VARIATION', 'REROLL'])
  t.match(await submit(upstream, 'change', { taskId: id, action: 'VARIATION', index: 1 }), { code: 1 })
  t.match(await submit(upstream, 'change', { taskId: id, action: 'REROLL' }), { code: 1 })
})

t.test('the same picture is upscaled once', async t => {
  const upstream = await simulator(t)
  const { id } = await drawn(upstream)
  const change = (index: number) => submit(upstream, 'change', { taskId: id, action: 'UPSCALE', index })
  const first = await change(2)
  t.match(first, { code: 1 })
  const second = await change(2)
  t.match(second, { code: 21, result: first.result, properties: { status: 'SUCCESS', imageUrl: String } })
  t.equal((await download(upstream, second.properties.imageUrl)).status, 200)
  t.match(await change(3), { code: 1 })
})

t.test('what has to be confirmed waits', async t => {
  const clock = new Clock()
  const upstream = await simulator(t, { now: clock.now })
  const { id } = await drawn(upstream)
  const { result: single } = await submit(upstream, 'change', { taskId: id, action: 'UPSCALE', index: 1 })
  const { buttons } = await fetchTask(upstream, single)
  const region = buttons.find(({ label }: { label: string }) => label === 'Vary (Region)')
  const waiting = await submit(upstream, 'action', { taskId: single, customId: region.customId })
  t.match(waiting, { code: 21, result: /^\d+$/ })
  clock.pass(60_000)
  t.match(await fetchTask(upstream, waiting.result), { action: 'INPAINT', status: 'MODAL', progress: '0%' })
  const confirmed = await submit(upstream, 'modal', { taskId: waiting.result, prompt: 'a red door', maskBase64: PNG })
  t.match(confirmed, { code: 1, result: waiting.result })
  t.match(await fetchTask(upstream, waiting.result), { status: 'SUCCESS', prompt: 'a red door', action: 'INPAINT' })
  t.match(await submit(upstream, 'modal', { taskId: waiting.result }), { code: 9 })
  t.match(await submit(upstream, 'modal', { taskId: id }), { code: 9 })
  t.match(await submit(upstream, 'modal', { taskId: '1' }), { code: 3 })
})

t.test('other things to ask for', async t => {
  const upstream = await simulator(t)
  const headers = { 'x-simulate': 'polls=0' }
  const done = async (path: string, body: object) => {
    const { body: answer } = await ask(upstream, `/mj/${path}`, body, { headers })
    return fetchTask(upstream, answer.result)
  }
  t.match(await done('submit/describe', { base64: PNG }), {
    action: 'DESCRIBE',
    properties: { finalPrompt: /^1\ufe0f\u20e3 .*\n\n2/u },
  })
  t.match(await done('submit/blend', { base64Array: [PNG, PNG], dimensions: 'PORTRAIT' }), {
    action: 'BLEND',
    status: 'SUCCESS',
  })
  t.match(await done('submit/shorten', { prompt: 'a very long way to say it' }), {
    action: 'SHORTEN',
    properties: { finalPrompt: 'very, long' },
  })
  t.match(await done('submit/edits', { prompt: 'x', image: PNG }), { action: 'EDITS', buttons: { length: 9 } })
  t.match(await done('insight-face/swap', { sourceBase64: PNG, targetBase64: PNG }), {
    action: 'SWAP_FACE',
    imageUrl: /\/mj\/image\//,
  })
  t.match(await done('submit/imagine', { prompt: 'x', botType: 'NIJI_JOURNEY' }), { botType: 'NIJI_JOURNEY' })
})

t.test('a film of a picture', { skip: without('ffprobe') }, async t => {
  const upstream = await simulator(t)
  const { id } = await drawn(upstream)
  const { result } = await submit(upstream, 'video', { taskId: id, index: 2, motion: 'low' })
  const { videoUrl, videoUrls, imageUrl } = await fetchTask(upstream, result)
  t.same(videoUrls, [{ url: videoUrl }])
  t.equal(imageUrl, '')
  t.match(await probe((await download(upstream, videoUrl)).bytes), {
    codec: 'h264',
    width: 832,
    height: 480,
    seconds: 5,
  })
})

t.test('several records at once, and the seed of a picture', async t => {
  const upstream = await simulator(t)
  const [one, other] = [await drawn(upstream, 'one'), await drawn(upstream, 'other')]
  const list = await ask(upstream, '/mj/task/list-by-condition', { ids: [one.id, '123', other.id] })
  t.same(list.body, [one, other])
  t.same((await ask(upstream, '/mj/task/list-by-condition', {})).body, [])
  t.match((await ask(upstream, `/mj/task/${one.id}/image-seed`)).body, { code: 1, result: /^\d+$/ })
})

t.test('a task that is not known is nothing at all', async t => {
  const upstream = await simulator(t)
  for (const id of ['1', 'x', `${(await drawn(upstream)).id}1`]) {
    const answer = await download(upstream, `/mj/task/${id}/fetch`)
    t.match(answer, { status: 200, bytes: { length: 0 } })
    t.match((await ask(upstream, `/mj/task/${id}/image-seed`)).body, { code: 3 })
    t.equal((await download(upstream, `/mj/image/${id}`)).status, 404)
  }
})

t.test('another process continues it, and draws the same picture', async t => {
  const clock = new Clock()
  const first = await simulator(t, { now: clock.now })
  const prompt = 'A lighthouse --sim takes=10s'
  const { result } = await submit(first, 'imagine', { prompt, state: 'mine' })
  clock.pass(10_000)
  const record = await fetchTask(first, result)
  const [same] = [await download(first, record.imageUrl)]
  const { result: upscaled } = await submit(first, 'change', { taskId: result, action: 'UPSCALE', index: 3 })
  await first.close()
  const second = await simulator(t, { now: clock.now })
  const after = await fetchTask(second, result)
  t.same(after, { ...record, imageUrl: after.imageUrl })
  t.ok((await download(second, after.imageUrl)).bytes.equals(same.bytes))
  clock.pass(5000)
  t.match(await fetchTask(second, upscaled), { action: 'UPSCALE', status: 'IN_PROGRESS', progress: '50%' })
  t.match(await submit(second, 'change', { taskId: result, action: 'VARIATION', index: 3 }), { code: 1 })
})

t.test('its ways for each mode', async t => {
  const upstream = await simulator(t)
  for (const mode of ['/fast', '/relax', '/mj-turbo']) {
    const { body } = await ask(upstream, `${mode}/mj/submit/imagine`, { prompt: 'x --sim polls=0' })
    t.match((await ask(upstream, `${mode}/mj/task/${body.result}/fetch`)).body, { status: 'SUCCESS' })
  }
})
