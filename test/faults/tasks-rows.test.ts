import t, { type Test } from 'tap'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { type LogLine, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { DONE as DRAWN, imageProxy } from '../helpers/image-upstream.js'
import { withResolvers } from '../helpers/journal.js'
import type { Answer, RequestOptions } from '../helpers/raw-client.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'
import { EVERY, storesOf } from '../helpers/store-kinds.js'
import { FILM, film, startTaskUpstream, type TaskRequest, type TaskUpstream } from '../helpers/task-upstream.js'

// What must hold for a task in every failure, on every type of store: one gateway, and one model for each
// kind of failure.

const RUNNING = { status: 'in_progress', progress: 85 }
const DONE = { status: 'completed', progress: 100 }

/** How the tasks of each model are followed; all of them are of one upstream, which goes by the model's name. */
const MODELS: Readonly<Record<string, string>> = {
  film: 'poll: { every: 20ms }',
  lost: 'poll: { every: 20ms }',
  endless: 'poll: { every: 20ms }, deadline: 300ms, grace: 1ms',
  stalled: 'poll: { every: 20ms }, stall: 200ms',
  late: 'poll: { every: 20ms, slowest: 30ms }, deadline: 150ms, grace: 1h',
  empty: 'poll: { every: 20ms }',
  odd: 'poll: { every: 20ms, slowest: 30ms }',
  shaky: 'poll: { every: 20ms }',
  cut: 'poll: { every: 20ms }',
  expired: 'poll: { every: 20ms }',
  brief: 'poll: { every: 20ms }, retention: 1ms',
  inner: 'poll: { every: 20ms }',
}

interface Stage {
  readonly gateway: TestGateway
  readonly films: TaskUpstream
  readonly images: TaskUpstream
  /** Someone else's key. */
  readonly other: string
  /** A place that no gateway may call. */
  readonly inner: TaskUpstream
  /** Connections to a place that the configuration names, at an address that it does not. */
  readonly hook: { readonly url: string; readonly calls: readonly unknown[] }
  /** Lets the task end that is late. */
  finish(): void
  begin(model: string, more?: object): Promise<string>
  /** What became of a task, once it is in that state. */
  reaches(id: string, state: string): Promise<Record<string, unknown>>
  changes(id: string): readonly LogLine[]
}

async function stage(t: Test, store: string): Promise<Stage> {
  const inner = await startTaskUpstream(t, () => film(undefined), '127.0.0.3')
  const hook = await startRawUpstream(t)
  const hookPort = new URL(hook.origin).port
  const finished = withResolvers<void>()
  let over = false
  finished.promise.then(() => {
    over = true
  })
  const odd = [{ status: 500 }, 'reset', { status: 429 }, { body: Buffer.from('<html>') }, { status: 401 }] as const
  const counts = new Map<string, number>()
  const count = (name: string): number => {
    counts.set(name, (counts.get(name) ?? 0) + 1)
    return counts.get(name) ?? 0
  }
  const content = (model: string, { headers }: TaskRequest) => {
    if (model === 'empty') return { status: 404 }
    if (headers.range !== undefined) return film(headers.range)
    if (model === 'expired') return { status: 404 }
    if (model === 'inner') return { status: 302, headers: { location: `${inner.origin}/a.mp4` } }
    if (model === 'cut') return { headers: { 'content-length': `${FILM.length}` }, body: FILM.subarray(0, 1000) }
    if (model !== 'shaky') return film(undefined)
    return (['reset', { status: 503 }] as const)[count('shaky') - 1] ?? film(undefined)
  }
  const poll = (model: string) => {
    if (model === 'lost') return { status: 404 }
    if (model === 'endless' || model === 'stalled' || (model === 'late' && !over)) return { body: RUNNING }
    if (model === 'odd') return odd[count('odd') - 1] ?? { body: DONE }
    return { body: DONE }
  }
  const films = await startTaskUpstream(t, request => {
    if (request.method === 'POST') return { body: { id: `${request.json().model}-${count('begun')}` } }
    const [, model = '', , below] = /^\/v1\/videos\/(\w+)-(\d+)(\/content)?/.exec(request.target) ?? []
    return below === undefined ? poll(model) : content(model, request)
  })
  const images = await startTaskUpstream(t, imageProxy({ records: [{ status: 'SUBMITTED', progress: '0%' }, DRAWN] }))
  const other = canary('caller')
  const secret = 'secret: { env: UPSTREAM_KEY }'
  const upstreams = Object.entries(MODELS).map(
    ([name, tasks]) => `  ${name}: { kind: openai, base: "${films.origin}", ${secret}, tasks: { ${tasks} } }`,
  )
  const gateway = await startTestGateway(
    t,
    `version: 1
store: ${store}
keys: { caller: { secret: { env: CALLER_KEY } }, other: { secret: { env: OTHER_KEY } } }
media: { fetch: { allow: [127.0.0.2], http: true, ports: [${inner.port}] } }
webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost], ports: [${hookPort}] }
upstreams:
${upstreams.join('\n')}
  draw: { kind: midjourney-proxy, base: "${images.origin}", ${secret}, tasks: { poll: { every: 20ms } } }
models: { midjourney: draw, ${Object.keys(MODELS).map(name => `${name}: ${name}`)} }
`,
    { env: { OTHER_KEY: other, HOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' } },
  )
  const changes = (id: string): readonly LogLine[] =>
    gateway.log.items.filter(line => line.msg === 'task changed' && line.task === id)
  return {
    gateway,
    films,
    images,
    other,
    inner,
    hook: { url: `https://localhost:${hookPort}/hook`, calls: hook.connections.items },
    finish: finished.resolve,
    changes,
    begin: async (model, more = {}) => {
      const isImage = model === 'midjourney'
      const path = isImage ? '/mj/submit/imagine' : '/v1/videos'
      const answer = await gateway.request(path, { body: { model, prompt: 'A cat', ...more } })
      if (answer.status !== 200) throw new Error(answer.text)
      const { id, result } = answer.json() as { id: string; result: string }
      return isImage ? result : id
    },
    reaches: async (id, state) => {
      await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to === state)
      return (await gateway.request(`/v1/videos/${id}`)).json() as Record<string, unknown>
    },
  }
}

/** From which state to which, and by which reason, a task went. */
const wayOf = (changes: readonly LogLine[]): readonly (readonly unknown[])[] =>
  changes.map(({ from, to, code }) => (code === undefined ? [from, to] : [from, to, code]))

/** Names that are not ids of tasks, and want to be something else. */
const CLIMBING = [
  ...['..', '.', '%2e%2e', '%2E%2E%2Fmodels', '..%2f..%2fetc%2fpasswd', '....//', 'task_..', '%00', 'a%00b'],
  ...['a%0d%0ab', '%c0%ae%c0%ae', '%252e%252e', '..;', '..;x', '%5c..%5c', 'task_%2e%2e%2f', 'vid_1', 'task_ZZ'],
  ...['%ff', '%', '%zz', `task_${'a'.repeat(33)}`, `task_${'A'.repeat(32)}`, `task_${'a'.repeat(32)}%20`],
  ...['task_\u00e9', '{task_id}', '*', '$ne', '__proto__', 'constructor', 'toString', '%5f%5fproto%5f%5f', 'content'],
  ...['remix', '~', '@', ':cancel', 'x:delete', '%2f', '%2f%2f', 'a%2fb', '%3fkey=1', '%23', 'a;b', 'a,b', 'a=b'],
  ...['a&b', 'null', 'undefined', '0', '-1', '1e9', "'%20or%201=1", '%22', '%3c%3e', '%f0%9f%98%80', 'a'.repeat(300)],
  ...['tasks-video', ' ', '%20', '%09', '%7f', '%e2%80%ae', `task_${'0'.repeat(31)}%00`, `task_${'0'.repeat(31)}%25`],
]

for (const kind of EVERY) {
  const store = storesOf(t, kind)
  t.test(kind.type, { skip: kind.skip }, async t => {
    const { gateway, films, images, other, inner, hook, finish, begin, reaches, changes } = await stage(
      t,
      await store(t),
    )
    const get = (path: string, options?: RequestOptions): Promise<Answer> => gateway.request(path, options)
    const begun: string[] = []
    const started = async (model: string, more?: object): Promise<string> => {
      const id = await begin(model, more)
      begun.push(id)
      return id
    }

    for (const [model, code, message] of [
      ['lost', 'task_lost', /no longer knows/],
      ['endless', 'deadline', /in time/],
      ['stalled', 'stalled', /stopped/],
      ['empty', 'no_artifact', /without a result/],
    ] as const) {
      t.test(`F-T2 ${model}: failed with a reason, once`, async t => {
        const id = await started(model)
        t.match(await reaches(id, 'failed'), { status: 'failed', error: { code, message } })
        // A slow machine may come to its first poll when time is up already.
        const ways = [
          [['queued', 'failed', code]],
          [
            ['queued', 'running'],
            ['running', 'failed', code],
          ],
        ]
        t.ok(
          ways.some(way => JSON.stringify(way) === JSON.stringify(wayOf(changes(id)))),
          JSON.stringify(wayOf(changes(id))),
        )
        t.match(changes(id).at(-1), { kind: 'video', owner: 'caller', upstream: model })
      })
    }

    t.test('F-T2 a success after the deadline is kept', async t => {
      const id = await started('late')
      t.match(await reaches(id, 'failed'), { error: { code: 'deadline' } })
      finish()
      t.match(await reaches(id, 'succeeded'), { status: 'completed', error: null })
      t.match(changes(id).at(-1), { from: 'failed', to: 'succeeded', late: true })
    })

    t.test('F-T2 trouble while polling is invisible, and ends nothing', async t => {
      const id = await started('odd')
      t.match(await reaches(id, 'succeeded'), { status: 'completed' })
      t.same(wayOf(changes(id)), [['queued', 'succeeded']])
    })

    t.test(
      'F-T4 ranges pass, a fetch that fails before its first byte is tried again, nothing begins anew',
      async t => {
        const id = await started('shaky')
        await reaches(id, 'succeeded')
        const submits = films.submits.length
        t.same((await get(`/v1/videos/${id}/content`)).body, FILM)
        const part = await get(`/v1/videos/${id}/content`, { headers: { range: 'bytes=100-199' } })
        t.same([part.status, part.header('content-range')], [206, `bytes 100-199/${FILM.length}`])
        t.same(part.body, FILM.subarray(100, 200))
        t.equal(films.submits.length, submits)
      },
    )

    t.test('F-T4 a fetch that breaks in the middle shows as broken; the rest comes by its range', async t => {
      const id = await started('cut')
      await reaches(id, 'succeeded')
      const client = await gateway.open(`/v1/videos/${id}/content`)
      const head = await client.head()
      const first = await client.body(head, bytes => bytes.length >= 1000)
      films.breakAll()
      await client.closed()
      t.equal(first.whole, false)
      const rest = await get(`/v1/videos/${id}/content`, { headers: { range: `bytes=${first.body.length}-` } })
      t.same(Buffer.concat([first.body, rest.body]), FILM)
    })

    t.test('F-T4 content that has expired: 410, here and upstream, and the task is known still', async t => {
      for (const model of ['expired', 'brief']) {
        const id = await started(model)
        await reaches(id, 'succeeded')
        compatibleError(t, await get(`/v1/videos/${id}/content`), 410, 'expired')
        t.match((await get(`/v1/videos/${id}`)).json(), { id, status: 'completed' })
      }
    })

    t.test('F-X1 content at an inner address is not fetched, and the log says why', async t => {
      const id = await started('inner')
      await reaches(id, 'succeeded')
      compatibleError(t, await get(`/v1/videos/${id}/content`), 502, 'bad_upstream_response')
      await gateway.log.find(line => line.msg === 'request' && line.blocked === 'loopback address')
      t.equal(inner.requests.items.length, 0)
    })

    t.test('F-X1 a webhook at a name that leads to an inner address: given up before anything connects', async t => {
      const id = await started('film', { webhook_url: hook.url })
      await reaches(id, 'succeeded')
      const line = await gateway.log.find(line => line.msg === 'notification given up' && line.task === id)
      t.match(line, { blocked: 'loopback address', attempt: 1 })
      t.equal(hook.calls.length, 0)
    })

    t.test('F-A4 a task of someone else and one that never was: the same bytes, and no call upstream', async t => {
      const [video, image] = [await started('film'), await begin('midjourney')]
      await reaches(video, 'succeeded')
      await reaches(image, 'succeeded')
      const calls = (): number => films.requests.items.length + images.requests.items.length
      const before = calls()
      const never = `task_${'0123456789abcdef'.repeat(2)}`
      const ways: readonly (readonly [string, (id: string) => readonly [string, RequestOptions?]])[] = [
        [video, id => [`/v1/videos/${id}`]],
        [video, id => [`/v1/videos/${id}/content`]],
        [video, id => [`/v1/videos/${id}/content?variant=thumbnail`]],
        [video, id => [`/v1/videos/${id}`, { method: 'DELETE' }]],
        [video, id => [`/v1/videos/${id}/remix`, { body: { prompt: 'A dog' } }]],
        [video, id => [`/v1/videos?after=${id}`]],
        [image, id => [`/v1/videos/${id}`]],
        [image, id => [`/mj/task/${id}/fetch`]],
        [image, id => [`/mj/task/${id}/image-seed`]],
        [image, id => [`/mj/image/${id}`]],
        [image, id => [`/mj/task/list-by-condition`, { body: { ids: [id] } }]],
        [image, id => [`/mj/submit/change`, { body: { taskId: id, action: 'REROLL' } }]],
        [image, id => [`/mj/submit/simple-change`, { body: { content: `${id} U1` } }]],
      ]
      for (const [theirs, way] of ways) {
        const ask = async (id: string): Promise<readonly unknown[]> => {
          const [path, options] = way(id)
          const answer = await get(path, { ...options, key: other })
          return [answer.status, answer.text.replaceAll(id, 'ID'), answer.head.fields.map(([name]) => name)]
        }
        const [foreign, unknown] = [await ask(theirs), await ask(never)]
        t.same(foreign, unknown, way('ID')[0])
        t.ok([400, 404].includes(Number(foreign[0])) || foreign[1] === '[]', `${way('ID')[0]}: ${foreign[0]}`)
      }
      t.match((await get('/v1/videos', { key: other })).json(), { data: [], first_id: null })
      t.equal(calls(), before)
      t.match((await get(`/v1/videos/${video}`)).json(), { status: 'completed' })
      const told = await gateway.log.count(
        18,
        line => line.msg === 'request' && line.key === 'other' && line.status === 404,
      )
      for (const line of told) t.match(line, { model: undefined, upstream: undefined, error: 'not_found' })
    })

    t.test('F-A5 ids have 128 random bits', async t => {
      const ids = await Promise.all(Array.from({ length: 64 }, () => started('film')))
      const bits = new Array<number>(128).fill(0)
      for (const id of ids) {
        t.match(id, /^task_[0-9a-f]{32}$/)
        const value = BigInt(`0x${id.slice(5)}`)
        for (let bit = 0; bit < 128; bit++) bits[bit] = (bits[bit] ?? 0) + Number((value >> BigInt(bit)) & 1n)
      }
      // Of 64 coins each falls on one side between 10 and 54 times but for one in ten million.
      t.ok(
        bits.every(count => count > 10 && count < 54),
        'no bit is fixed or counts',
      )
      for (const id of ids) await reaches(id, 'succeeded')
    })

    t.test(`F-C14 ${CLIMBING.length} ids that climb, or are none: 404 or 400, and nothing goes upstream`, async t => {
      const before = films.requests.items.length + images.requests.items.length
      for (const name of CLIMBING) {
        const written = encodeURI(name).replaceAll('%25', '%')
        for (const path of [`/v1/videos/${written}`, `/v1/videos/${written}/content`, `/mj/task/${written}/fetch`]) {
          const { status } = await get(path)
          t.ok([400, 404].includes(status), `${path}: ${status}`)
        }
        const { status } = await get(`/v1/videos?after=${encodeURIComponent(name)}`)
        t.equal(status, 400, `after=${name}`)
      }
      t.equal(films.requests.items.length + images.requests.items.length, before)
    })

    t.test('nothing is lost, and nothing was begun twice', async t => {
      const listed: string[] = []
      for (let after = ''; ; ) {
        const page = await get(`/v1/videos?order=asc&limit=40${after}`)
        const { data, has_more, last_id } = page.json() as {
          data: readonly { id: string; status: string }[]
          has_more: boolean
          last_id: string
        }
        listed.push(...data.map(({ id }) => id))
        for (const { id, status } of data) t.match(status, /^(completed|failed)$/, id)
        if (!has_more) break
        after = `&after=${last_id}`
      }
      t.same([...listed].sort(), [...begun].sort())
      t.equal(films.submits.length, begun.length)
    })
  })
}

proveNoLeak(t)
