import t from 'tap'
import { simulator } from '../../support.js'
import { ask, download } from '../videos/support.js'
import { drawn, fetchTask, PNG, submit } from './support.js'

t.test('codes on demand', async t => {
  const upstream = await simulator(t)
  const wish = (code: number) => submit(upstream, 'imagine', { prompt: `x --sim code=${code} polls=0` })
  t.match(await wish(21), { code: 21, result: /^\d+$/, properties: { status: 'SUCCESS' } })
  const queued = await wish(22)
  t.match(queued, { code: 22, properties: { numberOfQueues: 1 } })
  t.match(await fetchTask(upstream, queued.result), { status: 'SUCCESS' })
  for (const code of [3, 4, 9, 23]) {
    const refused = await wish(code)
    t.match(refused, { code, description: String })
    t.notOk('result' in refused)
  }
})

t.test('a word that is not allowed', async t => {
  const upstream = await simulator(t)
  const refused = await submit(upstream, 'imagine', { prompt: 'A NUDE body' })
  t.match(refused, { code: 24, properties: { promptEn: 'A NUDE body', bannedWord: 'nude' } })
  t.notOk('result' in refused)
  t.match(await submit(upstream, 'imagine', { prompt: 'A denuded hill' }), { code: 1 })
})

t.test('errors have status 200', async t => {
  const upstream = await simulator(t)
  const { id } = await drawn(upstream)
  const { result: running } = await submit(upstream, 'imagine', { prompt: 'x --sim takes=10m' })
  const { result: single } = await submit(upstream, 'change', { taskId: id, action: 'UPSCALE', index: 1 })
  const cases: readonly (readonly [string, object, number])[] = [
    ['imagine', { prompt: ' ' }, 4],
    ['imagine', {}, 4],
    ['imagine', { prompt: 'x', base64Array: ['no picture'] }, 4],
    ['imagine', { prompt: 'x', botType: 5 }, 4],
    ['imagine', { prompt: 'x'.repeat(8193) }, 4],
    ['change', { taskId: id, action: 'UPSCALE', index: 5 }, 4],
    ['change', { taskId: id, action: 'OTHER', index: 1 }, 4],
    ['change', { taskId: '1', action: 'UPSCALE', index: 1 }, 3],
    ['change', { taskId: running, action: 'UPSCALE', index: 1 }, 9],
    ['change', { taskId: single, action: 'UPSCALE', index: 1 }, 9],
    ['simple-change', { content: `${id} U5` }, 4],
    ['simple-change', { content: `${id} U` }, 4],
    ['action', { taskId: id, customId: 'MJ::JOB::upsample::1::other' }, 4],
    ['describe', {}, 4],
    ['blend', { base64Array: [PNG] }, 4],
    ['blend', { base64Array: [PNG, PNG], dimensions: 'ROUND' }, 4],
  ]
  for (const [what, body, code] of cases) {
    const { status, body: answer } = await ask(upstream, `/mj/submit/${what}`, body)
    t.match(
      { status, answer },
      { status: 200, answer: { code, description: String } },
      `${what} ${JSON.stringify(body).slice(0, 80)}`,
    )
  }
  t.match(await ask(upstream, '/mj/submit/imagine', { prompt: 'x --sim nothing' }), { status: 400, body: { code: 4 } })
})

t.test('a picture that fails, is blocked, or is not there when it is done', async t => {
  const upstream = await simulator(t)
  const ended = async (ends: string) => {
    const { result } = await submit(upstream, 'imagine', { prompt: `x --sim polls=1 ends=${ends}` })
    return fetchTask(upstream, result)
  }
  for (const ends of ['failed', 'blocked']) {
    t.match(await ended(ends), { status: 'FAILURE', progress: '', imageUrl: '', failReason: /^\[/ })
  }
  t.match(await ended('empty'), { status: 'SUCCESS', progress: '100%', imageUrl: '', failReason: null })
})

t.test('a picture that stalls, is lost, or is in an unknown state', async t => {
  const upstream = await simulator(t)
  const begun = async (wish: string) => (await submit(upstream, 'imagine', { prompt: `x --sim ${wish}` })).result
  const stalled = await begun('polls=1&stall=85')
  for (let polls = 0; polls < 3; polls += 1)
    t.match(await fetchTask(upstream, stalled), { status: 'IN_PROGRESS', progress: '85%' })
  t.equal(await fetchTask(upstream, await begun('polls=1 lost')), undefined)
  t.match(await fetchTask(upstream, await begun('polls=2 state=PAUSED')), { status: 'PAUSED' })
})

t.test('polls that are refused, one by one and in lists; pictures that cannot be had', async t => {
  const upstream = await simulator(t)
  const begun = async (wish: string) => (await submit(upstream, 'imagine', { prompt: `x --sim ${wish}` })).result
  const id = await begun('polls=1 poll.status=429 poll.retry-after=3 poll.times=1')
  const refused = await ask(upstream, `/mj/task/${id}/fetch`)
  t.match(refused, { status: 429, body: { code: 9, description: String } })
  t.equal(refused.headers.get('retry-after'), '3')
  t.match(await fetchTask(upstream, id), { status: 'SUCCESS' })
  const other = await begun('polls=1 poll.status=503 poll.times=1')
  const list = () => ask(upstream, '/mj/task/list-by-condition', { ids: ['1', other] })
  t.equal((await list()).status, 503)
  t.equal((await list()).status, 200)
  const gone = await begun('polls=0 content.status=410')
  t.equal((await download(upstream, `/mj/image/${gone}`)).status, 410)
})

t.test('a submit that breaks', async t => {
  const upstream = await simulator(t)
  const refused = await ask(upstream, '/mj/submit/imagine', { prompt: 'x --sim status=503' })
  t.match(refused, { status: 503, body: { code: 9 } })
})
