import t from 'tap'
import type { Simulator } from '../../../../simulator/src/index.js'
import { open, simulator } from '../../support.js'
import { ask, download } from './support.js'

async function begin(upstream: Simulator, wishes: string): Promise<string> {
  const { body } = await ask(upstream, '/v1/videos', {
    model: `sim-video?${wishes}`,
    prompt: 'x',
    size: '320x180',
    seconds: '4',
  })
  return body.id
}

t.test('a task that stalls', async t => {
  const upstream = await simulator(t)
  const id = await begin(upstream, 'polls=2&stall=85')
  for (const progress of [50, 85, 85, 85]) {
    t.match((await ask(upstream, `/v1/videos/${id}`)).body, { status: 'in_progress', progress })
  }
})

t.test('an unknown state, until it is over', async t => {
  const upstream = await simulator(t)
  const id = await begin(upstream, 'polls=2&state=dreaming')
  t.match((await ask(upstream, `/v1/videos/${id}`)).body, { status: 'dreaming' })
  t.match((await ask(upstream, `/v1/videos/${id}`)).body, { status: 'completed' })
})

t.test('a task that is lost', async t => {
  const upstream = await simulator(t)
  const id = await begin(upstream, 'polls=1&lost')
  t.equal((await ask(upstream, `/v1/videos/${id}`)).status, 404)
  t.equal((await ask(upstream, `/v1/videos/${id}/content`)).status, 404)
  t.same((await ask(upstream, '/v1/videos')).body.data, [])
})

t.test('a task that is done without a film', async t => {
  const upstream = await simulator(t)
  const id = await begin(upstream, 'polls=1&ends=empty')
  t.match((await ask(upstream, `/v1/videos/${id}`)).body, { status: 'completed', progress: 100 })
  t.match(await ask(upstream, `/v1/videos/${id}/content`), { status: 404 })
})

t.test('a task that fails, and one that is blocked', async t => {
  const upstream = await simulator(t)
  for (const [ends, code] of [
    ['failed', 'video_generation_failed'],
    ['blocked', 'moderation_blocked'],
  ]) {
    const id = await begin(upstream, `polls=1&ends=${ends}`)
    t.match((await ask(upstream, `/v1/videos/${id}`)).body, { status: 'failed', completed_at: null, error: { code } })
  }
})

t.test('polls that are refused say how long to wait, and are counted for each task', async t => {
  const upstream = await simulator(t)
  const wishes = 'polls=1&poll.status=429&poll.retry-after=7&poll.times=2'
  for (const id of [await begin(upstream, wishes), await begin(upstream, wishes)]) {
    const refused = await ask(upstream, `/v1/videos/${id}`)
    t.match(refused, { status: 429, body: { error: { code: 'rate_limit_exceeded' } } })
    t.equal(refused.headers.get('retry-after'), '7')
    t.equal((await ask(upstream, `/v1/videos/${id}`)).status, 429)
    t.match(await ask(upstream, `/v1/videos/${id}`), { status: 200, body: { status: 'completed' } })
    t.equal((await download(upstream, `/v1/videos/${id}/content`)).status, 200)
  }
})

t.test('polls that break', async t => {
  const upstream = await simulator(t)
  t.equal((await ask(upstream, `/v1/videos/${await begin(upstream, 'poll.status=503')}`)).status, 503)
  const html = await fetch(`${upstream.origin}/v1/videos/${await begin(upstream, 'poll.html')}`)
  t.match(await html.text(), /<html>/)
  const id = await begin(upstream, 'poll.reset')
  await t.rejects(ask(upstream, `/v1/videos/${id}`))
})

t.test('content of another type, an address that has expired', async t => {
  const upstream = await simulator(t)
  const content = async (wishes: string) => download(upstream, `/v1/videos/${await begin(upstream, wishes)}/content`)
  t.match((await content('polls=0&content.html')).headers.get('content-type'), 'text/html')
  t.equal((await content('polls=0&content.status=410')).status, 410)
  t.equal((await content('polls=0&content.empty')).bytes.length, 0)
})

t.test('content that breaks off before its length', async t => {
  const upstream = await simulator(t)
  for (const wish of ['content.truncate=100', 'content.cut-after=1', 'content.reset-after=1']) {
    const id = await begin(upstream, `polls=0&${wish}`)
    // A reset may overtake what was sent before it, the head included.
    const got = await received(upstream, `/v1/videos/${id}/content`).catch((error: NodeJS.ErrnoException) => error.code)
    if (got === 'ECONNRESET') t.match(wish, 'reset')
    else t.match(got, { broken: true }, wish)
    if (!wish.includes('reset')) t.ok(typeof got === 'object' && got.length > 0, wish)
  }
})

t.test('content that comes slowly comes whole', async t => {
  const upstream = await simulator(t)
  const id = await begin(upstream, 'polls=0&content.pace=1ms&content.split=5000')
  const whole = await download(upstream, `/v1/videos/${await begin(upstream, 'polls=0')}/content`)
  t.ok((await download(upstream, `/v1/videos/${id}/content`)).bytes.equals(whole.bytes))
})

t.test('the header of the request that begins a task counts as its model would', async t => {
  const upstream = await simulator(t)
  const headers = { 'x-simulate': 'polls=1 ends=failed poll.status=500 poll.times=1' }
  const { body } = await ask(upstream, '/v1/videos', { model: 'sim-video', prompt: 'x' }, { headers })
  t.equal((await ask(upstream, `/v1/videos/${body.id}`)).status, 500)
  t.match((await ask(upstream, `/v1/videos/${body.id}`)).body, { status: 'failed' })
})

t.test('an unknown fault is refused at once', async t => {
  const upstream = await simulator(t)
  const { status, body } = await ask(upstream, '/v1/videos', { model: 'sim-video?poll.stat=1', prompt: 'x' })
  t.equal(status, 400)
  t.match(body.error, { code: 'unknown_fault' })
})

/** How much came, and whether it broke off. */
function received({ port }: Simulator, path: string): Promise<{ length: number; broken: boolean }> {
  return new Promise((resolve, reject) => {
    const sent = open(port, path, {}, 'GET', response => {
      let length = 0
      response.on('data', chunk => {
        length += chunk.length
      })
      response.on('error', () => {})
      response.on('close', () => resolve({ length, broken: !response.complete }))
    })
    sent.on('error', reject)
    sent.end()
  })
}
