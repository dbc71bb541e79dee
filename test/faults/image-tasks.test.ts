import t, { type Test } from 'tap'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { DONE, imageProxy, imageYaml, PICTURE, type Wire } from '../helpers/image-upstream.js'
import { type Answer, request } from '../helpers/raw-client.js'
import { startTaskUpstream, type TaskUpstream } from '../helpers/task-upstream.js'

// biome-ignore lint/suspicious/noExplicitAny: what a client reads
type Json = any

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: TaskUpstream
  /** The keys of someone else, and of one who may use one model only. */
  readonly keys: { readonly other: string; readonly niji: string }
  post(path: string, body: unknown, key?: string): Promise<Answer>
  get(path: string, key?: string): Promise<Answer>
  /** Begins a task and gives its id. */
  begin(body?: object): Promise<string>
  /** The record when the task is in that state. */
  reaches(id: string, state: string): Promise<Json>
  /** Follows an address of a record without a key. */
  follow(url: string): Promise<Answer>
}

async function stage(t: Test, wire: Wire = {}, task?: string, more?: string): Promise<Stage> {
  const upstream = await startTaskUpstream(t, imageProxy(wire))
  const keys = { other: canary('caller'), niji: canary('caller') }
  const env = { OTHER_KEY: keys.other, NIJI_KEY: keys.niji }
  const gateway = await startTestGateway(t, imageYaml(upstream.origin, task, more), { env })
  const own = (key = gateway.key) => ({ key })
  return {
    gateway,
    upstream,
    keys,
    post: (path, body, key) => gateway.request(path, { body, ...own(key) }),
    get: (path, key) => gateway.request(path, own(key)),
    begin: async (body = {}) => {
      const answer = await gateway.request('/mj/submit/imagine', { body: { prompt: 'A cat', ...body } })
      if (answer.status !== 200) throw new Error(answer.text)
      return (answer.json() as Json).result
    },
    reaches: async (id, state) => {
      await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to === state)
      return (await gateway.request(`/mj/task/${id}/fetch`)).json()
    },
    follow: url => {
      const { origin, pathname, search } = new URL(url)
      return request(t, origin, pathname + search)
    },
  }
}

// ── what is asked, and what the upstream gets of it

t.test('a prompt goes upstream byte by byte, and what is the gateway’s business does not', async t => {
  const { post, upstream } = await stage(t)
  const prompt = 'A  cat\u00a0\\ "x" --ar 16:9 --fast --v 6'
  const body = { prompt, base64Array: [], state: 's', accountFilter: { instanceId: '7' }, botType: 'NIJI_JOURNEY' }
  const begun = (await post('/mj/submit/imagine', body)).json() as Json
  t.match(begun, { code: 1, description: 'Submit success', result: /^task_[0-9a-f]{32}$/, properties: {} })
  t.equal(begun.taskId, begun.result)
  const [asked] = upstream.submits
  t.equal(asked?.target, '/mj/submit/imagine')
  t.same(asked?.json(), { prompt, base64Array: [], state: 's', botType: 'NIJI_JOURNEY' })
})

t.test('the key is at Bearer or mj-api-secret', async t => {
  const { gateway, keys, upstream } = await stage(t)
  const ask = (headers: Record<string, string>) =>
    request(t, gateway.origin, '/mj/submit/imagine', { body: { prompt: 'A cat' }, headers })
  t.equal((await ask({ authorization: `Bearer ${gateway.key}` })).status, 200)
  t.equal((await ask({ 'mj-api-secret': gateway.key })).status, 200)
  t.equal((await ask({ 'mj-api-secret': gateway.key, authorization: `Bearer ${gateway.key}` })).status, 200)
  for (const refused of [
    {},
    { 'mj-api-secret': 'nobody' },
    { 'mj-api-secret': keys.other, authorization: `Bearer ${gateway.key}` },
  ]) {
    const answer = await ask(refused)
    t.equal(answer.status, 401)
    t.match(answer.json(), { code: 9, description: /API key/, result: null })
  }
  t.equal(upstream.submits.length, 3)
  t.equal(upstream.submits[0]?.headers['mj-api-secret'], upstream.submits[1]?.headers['mj-api-secret'])
})

t.test('bots are models: the key’s list holds for them', async t => {
  const { post, upstream, keys } = await stage(t)
  const imagine = (botType: unknown, key?: string) => post('/mj/submit/imagine', { prompt: 'A cat', botType }, key)
  for (const bot of [undefined, null, '', 'MID_JOURNEY']) {
    t.equal((await imagine(bot)).status, 200)
    const refused = await imagine(bot, keys.niji)
    t.equal(refused.status, 404)
    t.match(refused.json(), { code: 3, description: /midjourney/, result: null })
  }
  t.equal((await imagine('NIJI_JOURNEY', keys.niji)).status, 200)
  t.equal((await imagine('BANANA')).status, 404)
  t.equal((await imagine(7)).status, 400)
  t.equal((await imagine('__proto__')).status, 404)
  t.equal(upstream.submits.length, 5)
})

t.test('a bot that is not a word of the route is a model, and goes upstream by its other name', async t => {
  const { post, upstream } = await stage(t)
  t.equal((await post('/mj/submit/imagine', { prompt: 'A cat', botType: 'direct' })).status, 200)
  t.same(upstream.submits[0]?.json(), { prompt: 'A cat', botType: 'NIJI_JOURNEY' })
})

t.test('modes are first segments, and no others than the declared ones', async t => {
  const { post, get, upstream, begin, gateway } = await stage(t)
  for (const mode of ['fast', 'mj-fast', 'relax', 'mj-relax', 'turbo', 'mj-turbo']) {
    t.equal((await post(`/${mode}/mj/submit/imagine`, { prompt: 'A cat' })).status, 200)
  }
  t.same(
    upstream.submits.map(({ target }) => target),
    ['fast', 'fast', 'relax', 'relax', 'turbo', 'turbo'].map(mode => `/mj-${mode}/mj/submit/imagine`),
  )
  const id = await begin()
  t.match((await get(`/turbo/mj/task/${id}/fetch`)).json(), { id })
  for (const path of ['/slow/mj/submit/imagine', '/Fast/mj/submit/imagine', '/fast/fast/mj/submit/imagine']) {
    t.equal((await post(path, { prompt: 'A cat' })).status, 404)
  }
  t.equal(
    gateway.log.items.some(line => line.level === 50),
    false,
  )
})

t.test('what does not match is refused in the family’s shape, and begins nothing', async t => {
  const { post, upstream } = await stage(t)
  const refusals: readonly (readonly [string, unknown])[] = [
    ['imagine', {}],
    ['imagine', { prompt: '' }],
    ['imagine', { prompt: ' \n ' }],
    ['imagine', { prompt: ['A cat'] }],
    ['imagine', { prompt: 'A cat', base64Array: 'x' }],
    ['imagine', '{"prompt":"a","prompt":"b"}'],
    ['imagine', '{"prompt":'],
    ['change', { action: 'UPSCALE', index: 1 }],
    ['change', { taskId: 'x', action: 'EXPLODE' }],
    ['change', { taskId: 'x', action: 'UPSCALE', index: 5 }],
    ['simple-change', { content: 'U1' }],
    ['action', { taskId: 'x' }],
    ['blend', { base64Array: ['one'] }],
    ['modal', { prompt: 'x' }],
  ]
  for (const [what, body] of refusals) {
    const answer = await post(`/mj/submit/${what}`, body)
    t.equal(answer.status, 400, `${what} ${JSON.stringify(body)}`)
    t.match(answer.json(), { code: 4, description: /\w/, result: null })
  }
  t.equal(upstream.requests.items.length, 0)
})

t.test('an upload is not a task: asked and answered', async t => {
  const answer = { code: 1, description: 'ok', result: ['https://cdn.example/1.png'] }
  const { post, upstream, keys } = await stage(t, { submit: () => ({ body: answer }) })
  const body = { base64Array: ['data:image/png;base64,AA=='] }
  const uploaded = await post('/fast/mj/submit/upload-discord-images', body)
  t.equal(uploaded.status, 200)
  t.same(uploaded.json(), answer)
  t.equal(upstream.submits[0]?.target, '/mj-fast/mj/submit/upload-discord-images')
  t.equal((await post('/mj/submit/upload-discord-images', body, keys.niji)).status, 404)
  t.equal(upstream.submits.length, 1)
})

t.test('Idempotency-Key: the same request is the same task, also where an older one continues', async t => {
  const wire: Wire = {
    submit: ({ target }) =>
      target.endsWith('modal') ? { body: { code: 1, description: 'ok', result: '1320098173410001' } } : undefined,
    records: [{ status: 'MODAL', progress: '0%' }],
  }
  const { gateway, begin, upstream, get } = await stage(t, wire)
  const id = await begin()
  const modal = async (key: string): Promise<Json> => {
    const headers = { 'idempotency-key': key }
    return (await gateway.request('/mj/submit/modal', { body: { taskId: id, prompt: 'x' }, headers })).json()
  }
  t.equal((await modal('a')).result, id)
  t.equal((await modal('a')).result, id)
  t.equal(upstream.submits.length, 2)
  t.match((await get(`/mj/task/${id}/fetch`)).json(), { id })
})

// ── what a task reports

t.test('a record has what the family’s clients read, and no address of the upstream', async t => {
  const records = [
    { status: 'NOT_START', progress: '0%' },
    { status: 'IN_PROGRESS', progress: '31%', imageUrl: '/attachments/half.png' },
    { ...DONE, promptEn: 'Cat', description: '/imagine 猫', botType: 'MID_JOURNEY', videoUrl: '' },
  ]
  const { begin, reaches, upstream, follow, gateway } = await stage(t, { records })
  const before = Date.now()
  const id = await begin({ prompt: '猫', state: 'mine' })
  const half = await reaches(id, 'running')
  t.match(half, { status: /IN_PROGRESS|SUCCESS/, progress: /%$/ })
  const record = await reaches(id, 'succeeded')
  t.match(record, {
    ...{
      id,
      action: 'IMAGINE',
      status: 'SUCCESS',
      prompt: '猫',
      promptEn: 'Cat',
      description: '/imagine 猫',
      state: 'mine',
    },
    ...{
      progress: '100%',
      failReason: null,
      botType: 'MID_JOURNEY',
      customId: '',
      maskBase64: '',
      videoUrl: '',
      videoUrls: [],
    },
    ...{
      properties: { finalPrompt: 'A cat --v 6' },
      buttons: [{ customId: /^MJ::JOB/, label: 'U1', type: 2, style: 2 }],
    },
  })
  t.ok(record.submitTime >= before && record.startTime >= record.submitTime && record.finishTime >= record.startTime)
  t.ok(record.imageUrl.startsWith(`${gateway.origin}/mj/image/${id}?expires=`))
  t.notMatch(JSON.stringify(record), upstream.origin)
  t.same((await follow(record.imageUrl)).body, PICTURE)
})

t.test('a picture can be seen while it is made, and is not kept then', async t => {
  const records = [{ status: 'IN_PROGRESS', progress: '31%', imageUrl: '/attachments/half.png' }]
  const { begin, reaches, follow, upstream } = await stage(t, { records })
  const { imageUrl } = await reaches(await begin(), 'running')
  const answer = await follow(imageUrl)
  t.equal(answer.status, 200)
  t.equal(answer.header('cache-control'), 'private, no-cache')
  t.ok(upstream.requests.items.some(({ target }) => target === '/attachments/half.png'))
})

t.test('a failure tells its reason, and its progress is empty', async t => {
  const records = [{ status: 'FAILURE', progress: '', failReason: 'Banned prompt detected', imageUrl: '/x.png' }]
  const { begin, reaches } = await stage(t, { records })
  t.match(await reaches(await begin(), 'failed'), {
    ...{ status: 'FAILURE', progress: '', failReason: 'Banned prompt detected', imageUrl: null },
  })
})

t.test('a description is a result though there is no picture', async t => {
  const record = { status: 'SUCCESS', progress: '100%', properties: { finalPrompt: '1 a cat' } }
  const { post, reaches } = await stage(t, { records: [record] })
  const { result } = (await post('/mj/submit/describe', { base64: 'data:image/png;base64,AA==' })).json() as Json
  t.match(await reaches(result, 'succeeded'), {
    ...{ action: 'IMAGINE', status: 'SUCCESS', properties: { finalPrompt: '1 a cat' } },
  })
})

t.test('F-T2 a picture that is done without there being one has failed', async t => {
  const { begin, reaches } = await stage(t, { records: [{ status: 'SUCCESS', progress: '100%' }] })
  t.match(await reaches(await begin(), 'failed'), { status: 'FAILURE', failReason: /without a result/ })
})

t.test('F-T2 a task that the upstream answers with nothing has failed when its time is up, with a reason', async t => {
  const poll = () => ({ body: Buffer.alloc(0) })
  const { begin, reaches } = await stage(t, { poll }, 'poll: { every: 20ms }, deadline: 300ms, grace: 1ms')
  t.match(await reaches(await begin(), 'failed'), { status: 'FAILURE', progress: '', failReason: /in time/ })
})

t.test('F-T2 a task that the upstream refuses to know has failed after ten refusals', async t => {
  const poll = () => ({ status: 400, body: { code: 4, description: 'task_no_found' } })
  const { begin, reaches, upstream } = await stage(t, { poll })
  t.match(await reaches(await begin(), 'failed'), { status: 'FAILURE', failReason: /no longer knows/ })
  t.equal(upstream.requests.items.filter(({ method }) => method === 'GET').length, 10)
})

t.test('F-U13 a record that is nested too deeply is not one: the upstream is asked again', async t => {
  const deep = Buffer.from(`{"status":"SUCCESS","properties":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`)
  let polls = 0
  const poll = () => (++polls < 3 ? { body: deep } : undefined)
  const { begin, reaches } = await stage(t, { poll })
  t.match(await reaches(await begin(), 'succeeded'), { status: 'SUCCESS' })
  t.equal(polls, 3)
})

t.test('F-T3 five hundred polls of one task: the upstream sees its own pace', async t => {
  const records = [{ status: 'IN_PROGRESS', progress: '85%' }]
  const { begin, reaches, get, upstream } = await stage(t, { records }, 'poll: { every: 500ms, first: 1ms }')
  const started = performance.now()
  const id = await begin()
  await reaches(id, 'running')
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => get(`/mj/task/${id}/fetch`)))
    for (const answer of answers) t.match(answer.json(), { id, progress: '85%' })
  }
  const most = 2 + Math.ceil((performance.now() - started) / 450)
  const polls = upstream.requests.items.filter(({ method }) => method === 'GET').length
  t.ok(polls <= most, `${polls} polls, at most ${most}`)
})

t.test('several records at once: the caller’s, each once, and nothing of what is not', async t => {
  const { begin, post, reaches, keys } = await stage(t)
  const [first, second] = [await begin(), await begin()]
  await reaches(first, 'succeeded')
  await reaches(second, 'succeeded')
  const list = async (body: unknown, key?: string) =>
    (await post('/mj/task/list-by-condition', body, key)).json() as readonly Json[]
  const ids = [second, first, second, `task_${'0'.repeat(32)}`, '1320098173410001', 7]
  t.same(
    (await list({ ids })).map(({ id, status }) => [id, status]),
    [
      [second, 'SUCCESS'],
      [first, 'SUCCESS'],
    ],
  )
  t.same(await list({ ids }, keys.other), [])
  t.same(await list({}), [])
  t.same(await list({ ids: [] }), [])
  const many = await post('/mj/task/list-by-condition', { ids: Array.from({ length: 101 }, (_, at) => `t${at}`) })
  t.equal(many.status, 400)
  t.match(many.json(), { code: 4 })
})

t.test('the seed is asked of the upstream that has the task', async t => {
  const { begin, get, upstream } = await stage(t)
  const id = await begin()
  const answer = await get(`/mj/task/${id}/image-seed`)
  t.same(answer.json(), { code: 1, description: 'ok', result: '1448093651' })
  // The gateway asks the upstream about the task as well, whenever it is time.
  const seeds = upstream.requests.items.filter(({ target }) => target.endsWith('/image-seed'))
  t.match(seeds, [{ method: 'GET', target: /^\/mj\/task\/\d+\/image-seed$/ }])
})

// ── what is made of a task

t.test('follow-ups go to the upstream of their task, under its id there, and are of its model', async t => {
  const { begin, post, upstream, reaches } = await stage(t)
  const id = await begin({ botType: 'NIJI_JOURNEY' })
  await reaches(id, 'succeeded')
  const parent = '1320098173410001'
  const asks: readonly (readonly [string, Json, Json])[] = [
    [
      'action',
      { taskId: id, customId: 'MJ::JOB::upsample::1::5f3c' },
      { taskId: parent, customId: 'MJ::JOB::upsample::1::5f3c' },
    ],
    ['change', { action: 'VARIATION', taskId: id, index: 2 }, { action: 'VARIATION', taskId: parent, index: 2 }],
    ['simple-change', { content: `${id}  U2` }, { content: `${parent}  U2` }],
    ['modal', { taskId: id, prompt: `not ${id}` }, { taskId: parent, prompt: `not ${id}` }],
    ['video', { taskId: id, motion: 'low' }, { taskId: parent, motion: 'low' }],
    ['edits', { prompt: 'x', taskId: id }, { prompt: 'x', taskId: parent }],
  ]
  for (const [what, body, sent] of asks) {
    const begun = (await post(`/mj/submit/${what}`, body)).json() as Json
    t.match(begun, { code: 1, result: /^task_/ }, what)
    t.not(begun.result, id)
    const asked = upstream.submits.at(-1)
    t.equal(asked?.target, `/mj/submit/${what}`)
    t.same(asked?.json(), sent)
  }
})

t.test('a film or a change of an image in the request needs no task', async t => {
  const { post, upstream } = await stage(t)
  const image = 'data:image/png;base64,AA=='
  for (const what of ['video', 'edits']) {
    t.equal((await post(`/mj/submit/${what}`, { prompt: 'A cat', image })).status, 200)
    t.same(upstream.submits.at(-1)?.json(), { prompt: 'A cat', image })
  }
})

t.test('a task that waits for what `modal` says continues as itself', async t => {
  let state: object = { status: 'MODAL', progress: '0%' }
  let asked = 0
  const waiting = { code: 21, description: 'Waiting for window confirm', result: '77', properties: { remix: true } }
  const wire: Wire = {
    submit: ({ target }) => {
      if (target.endsWith('imagine')) return undefined
      asked++
      if (!target.endsWith('modal')) return { body: waiting }
      // Before that it waits: a poll that saw it done sooner would be one of another upstream.
      state = DONE
      return { body: { code: 1, description: 'ok', result: '77', properties: {} } }
    },
    poll: id => (id === '77' ? { body: { id, action: 'CUSTOM_ZOOM', ...state } } : undefined),
  }
  const { begin, post, get, reaches } = await stage(t, wire)
  const parent = await begin()
  await reaches(parent, 'succeeded')
  const zoom = { taskId: parent, customId: 'MJ::CustomZoom::5f3c' }
  const begun = (await post('/mj/submit/action', zoom)).json() as Json
  t.match(begun, { code: 21, properties: { remix: true } })
  t.match((await get(`/mj/task/${begun.result}/fetch`)).json(), { status: 'MODAL' })
  const confirmed = (await post('/mj/submit/modal', { taskId: begun.result, prompt: 'A cat --zoom 2' })).json() as Json
  t.match(confirmed, { code: 1, result: begun.result, taskId: begun.result })
  t.match(await reaches(begun.result, 'succeeded'), { status: 'SUCCESS', action: 'CUSTOM_ZOOM' })
  t.equal(asked, 2)
})

t.test('a task that has ended stays as it is, though its upstream takes a `modal` for it', async t => {
  const wire: Wire = {
    submit: ({ target }) =>
      target.endsWith('modal') ? { body: { code: 1, description: 'ok', result: '1320098173410001' } } : undefined,
  }
  const { begin, post, get, reaches, upstream } = await stage(t, wire)
  const id = await begin()
  const record = await reaches(id, 'succeeded')
  t.match(record, { buttons: [{ label: 'U1' }] })
  t.match((await post('/mj/submit/modal', { taskId: id, prompt: 'x' })).json(), { code: 1, result: id })
  t.equal(upstream.submits.length, 2)
  t.same((await get(`/mj/task/${id}/fetch`)).json(), record)
})

// ── what the upstream refuses

t.test('what the upstream refuses by its code is passed on as it said it, and is not a task', async t => {
  let answer: object = {}
  const { post, gateway } = await stage(t, { submit: () => ({ body: answer }) })
  const banned = { code: 24, description: '可能包含敏感词', properties: { promptEn: 'x', bannedWord: 'x' } }
  for (answer of [
    banned,
    { code: 3, description: '无可用的账号实例' },
    { code: 4, description: 'x' },
    { code: 9, description: '!' },
  ]) {
    const refused = await post('/mj/submit/imagine', { prompt: 'A cat' })
    t.equal(refused.status, 200)
    t.same(refused.json(), answer)
  }
  for (answer of [
    { code: 23, description: 'full' },
    { code: 30, description: 'saturated' },
  ]) {
    const refused = await post('/mj/submit/imagine', { prompt: 'A cat' })
    t.equal(refused.status, 429)
    t.same(refused.json(), answer)
  }
  answer = { code: 22, description: '排队中', result: '5', properties: { numberOfQueues: 3 } }
  t.match((await post('/mj/submit/imagine', { prompt: 'A cat' })).json(), {
    code: 1,
    properties: { numberOfQueues: 3 },
  })
  answer = {
    code: 21,
    description: '已存在',
    result: '6',
    properties: { status: 'SUCCESS', imageUrl: 'http://10.0.0.1/x.png' },
  }
  const known = (await post('/mj/submit/imagine', { prompt: 'A cat' })).json() as Json
  t.match(known, { code: 1, properties: { status: 'SUCCESS' } })
  t.notMatch(JSON.stringify(known), '10.0.0.1')
  await gateway.log.count(6, line => line.error !== undefined && line.error !== null)
})

t.test('an upstream that is full hands over to the next one', async t => {
  const full = await startTaskUpstream(t, imageProxy({ submit: () => ({ body: { code: 23, description: 'full' } }) }))
  const free = await startTaskUpstream(t, imageProxy())
  const upstream = (name: string, origin: string): string =>
    `  ${name}: { kind: midjourney-proxy, base: "${origin}" }\n`
  const gateway = await startTestGateway(
    t,
    `version: 1\nkeys: { caller: { secret: { env: CALLER_KEY } } }\nstore: { type: memory }\nupstreams:\n${upstream('full', full.origin)}${upstream('free', free.origin)}models: { midjourney: [full, free] }\n`,
  )
  t.match((await gateway.request('/mj/submit/imagine', { body: { prompt: 'A cat' } })).json(), { code: 1 })
  t.same([full.submits.length, free.submits.length], [1, 1])
})

t.test('refusals by status keep it, and the gateway’s own credential is not the client’s business', async t => {
  let status = 400
  const { post } = await stage(t, { submit: () => ({ status, body: { code: 4, description: 'prompt_is_required' } }) })
  const asked = await post('/mj/submit/imagine', { prompt: 'A cat' })
  t.equal(asked.status, 400)
  t.same(asked.json(), { code: 4, description: 'prompt_is_required' })
  status = 401
  const refused = await post('/mj/submit/imagine', { prompt: 'A cat' })
  t.equal(refused.status, 502)
  t.match(refused.json(), { code: 9, description: /credential/, result: null })
})

// ── whose task it is

t.test('F-A4 a task of someone else and one that never was: the same bytes, and no call upstream', async t => {
  const { begin, reaches, get, post, keys, upstream } = await stage(t)
  const id = await begin()
  await reaches(id, 'succeeded')
  const unknown = `task_${'0'.repeat(32)}`
  const before = upstream.requests.items.length
  const ways: readonly ((id: string) => Promise<Answer>)[] = [
    id => get(`/mj/task/${id}/fetch`, keys.other),
    id => get(`/fast/mj/task/${id}/fetch`, keys.other),
    id => get(`/mj/task/${id}/image-seed`, keys.other),
    id => get(`/mj/image/${id}`, keys.other),
    id => post('/mj/submit/action', { taskId: id, customId: 'x' }, keys.other),
    id => post('/mj/submit/change', { taskId: id, action: 'REROLL' }, keys.other),
    id => post('/mj/submit/simple-change', { content: `${id} U1` }, keys.other),
    id => post('/mj/submit/modal', { taskId: id }, keys.other),
    id => post('/mj/submit/video', { taskId: id }, keys.other),
    id => post('/mj/submit/edits', { taskId: id, prompt: 'x' }, keys.other),
  ]
  for (const [index, way] of ways.entries()) {
    const [foreign, none] = [await way(id), await way(unknown)]
    t.equal(foreign.status, 404, `way ${index}`)
    t.equal(foreign.text, none.text)
    if (foreign.text !== '') t.same(foreign.json(), { code: 4, description: 'task_no_found', result: null })
  }
  t.equal(upstream.requests.items.length, before)
})

t.test('who may not use its model any more cannot take a task up', async t => {
  const { begin, reaches, post, upstream, gateway } = await stage(t)
  const id = await begin()
  await reaches(id, 'succeeded')
  const yaml = imageYaml(upstream.origin).replace('models: ["*"] }\n  other', 'models: [niji] }\n  other')
  await gateway.write('gateway.yaml', yaml)
  await gateway.gateway.reload()
  const refused = await post('/mj/submit/change', { taskId: id, action: 'REROLL' })
  t.equal(refused.status, 404)
  t.match(refused.json(), { code: 4, description: 'task_no_found' })
})

t.test('F-A5 ids are the gateway’s own, of 128 random bits', async t => {
  const { begin, upstream } = await stage(t)
  const ids = await Promise.all(Array.from({ length: 50 }, () => begin()))
  t.equal(new Set(ids).size, 50)
  for (const id of ids) t.match(id, /^task_[0-9a-f]{32}$/)
  t.equal(upstream.submits.length, 50)
})

t.test('F-C14 ids that climb, or are none: refused, and nothing goes upstream', async t => {
  const { begin, reaches, gateway, upstream } = await stage(t)
  const id = await begin()
  await reaches(id, 'succeeded')
  const before = upstream.requests.items.length
  const tricks = [
    ...['..', '%2e%2e', '..%2f..', '%2e%2e%2fsubmit', '.%2e', '%252e%252e', '..;', '%00', 'a%00b', '%ff', '%'],
    ...[`${id}/..`, `${id}%2f..`, `${id}%2e`, `${id}%20`, `${id}%3fx`, `x${id}`, `${id}x`, id.toUpperCase()],
    ...[
      'task_',
      'task_%30',
      '{id}',
      '1320098173410001',
      '%5c..%5c',
      '....//',
      '/',
      '//',
      '*',
      "'",
      '"',
      '<x>',
      'x'.repeat(4000),
    ],
  ]
  for (const trick of tricks) {
    for (const path of [`/mj/task/${trick}/fetch`, `/mj/task/${trick}/image-seed`, `/mj/image/${trick}`]) {
      const answer = await gateway.request(path)
      t.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`)
      t.match(answer.json(), { code: Number, description: String, result: null })
    }
  }
  for (const trick of ['../imagine', '%2e%2e', 'imagine/', './imagine', 'imagine%2f', 'IMAGINE', 'imagine;x']) {
    const answer = await gateway.request(`/mj/submit/${trick}`, { body: { prompt: 'A cat' } })
    t.ok([400, 404].includes(answer.status), `${trick}: ${answer.status}`)
  }
  t.equal(upstream.requests.items.length, before)
})

// ── links

t.test('a link is good without a key, until it expires, and for nothing else', async t => {
  const { begin, reaches, follow, gateway, upstream } = await stage(t)
  const id = await begin()
  const { imageUrl } = await reaches(id, 'succeeded')
  t.equal(
    (await gateway.request(`/mj/task/${id}/fetch`)).json() && (await reaches(id, 'succeeded')).imageUrl,
    imageUrl,
    'the same each time',
  )
  const whole = await follow(imageUrl)
  t.equal(whole.status, 200)
  t.equal(whole.header('content-type'), 'image/png')
  const head = await fetch(imageUrl, { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), String(PICTURE.length))
  const before = upstream.requests.items.length
  const url = new URL(imageUrl)
  const changed = (change: (url: URL) => void): string => {
    const other = new URL(url)
    change(other)
    return other.href
  }
  const signature = url.searchParams.get('signature') ?? ''
  const expires = Number(url.searchParams.get('expires'))
  const flipped = (at: number): string =>
    signature.slice(0, at) + (signature[at] === 'A' ? 'B' : 'A') + signature.slice(at + 1)
  const forged = [
    changed(one => one.searchParams.set('expires', String(expires + 1))),
    changed(one => one.searchParams.set('expires', `${expires}.0`)),
    changed(one => one.searchParams.set('variant', 'video')),
    changed(one => one.searchParams.set('signature', '')),
    changed(one => one.searchParams.set('signature', 'x'.repeat(64))),
    changed(one => one.searchParams.set('signature', signature.slice(0, 40))),
    changed(one => one.searchParams.set('signature', `${signature}=`)),
    changed(one => one.searchParams.delete('signature')),
    ...[0, 5, 20, 30, 40, signature.length - 2].map(at =>
      changed(one => one.searchParams.set('signature', flipped(at))),
    ),
    changed(one => {
      one.pathname = `/mj/image/task_${'0'.repeat(32)}`
    }),
  ]
  for (const one of forged) {
    const answer = await follow(one)
    t.equal(answer.status, 401, one)
    t.match(answer.json(), { code: 9, result: null })
  }
  t.equal(upstream.requests.items.length, before, 'nothing of that went upstream')
  const elsewhere = url.search
  for (const path of [`/mj/task/${id}/fetch`, `/mj/task/${id}/image-seed`]) {
    t.equal((await follow(`${url.origin}${path}${elsewhere}`)).status, 401, 'a signature opens images only')
  }
})

t.test('a link that has expired: 410, and nothing goes upstream', async t => {
  const { begin, reaches, follow, upstream, gateway } = await stage(t, {}, 'poll: { every: 20ms }, retention: 100ms')
  const id = await begin()
  const { imageUrl } = await reaches(id, 'succeeded')
  let before: number | undefined
  const said = new Set<string>()
  while (!said.has('This link has expired.')) {
    const answer = await follow(imageUrl)
    if (answer.status === 200) continue
    t.equal(answer.status, 410)
    t.match(answer.json(), { code: 9, description: /has expired/, result: null })
    said.add((answer.json() as Json).description)
    before ??= upstream.requests.items.length
  }
  t.equal((await gateway.request(`/mj/image/${id}`)).status, 410, 'with a key, too')
  t.equal(upstream.requests.items.length, before)
})

t.test('with a key the image needs no signature', async t => {
  const { begin, reaches, get } = await stage(t)
  const id = await begin()
  await reaches(id, 'succeeded')
  t.same((await get(`/mj/image/${id}`)).body, PICTURE)
  t.equal((await get(`/mj/image/${id}`, 'nobody')).status, 401)
})

t.test('links stand on the address by which the client came, in the words of trusted proxies alone', async t => {
  const { begin, reaches, gateway } = await stage(
    t,
    {},
    undefined,
    'listen: { trusted_proxies: [127.0.0.1, "10.0.0.0/8"] }\n',
  )
  const id = await begin()
  await reaches(id, 'succeeded')
  const seen = async (headers: Record<string, string>): Promise<string> => {
    const answer = await gateway.request(`/mj/task/${id}/fetch`, { headers })
    return new URL((answer.json() as Json).imageUrl).origin
  }
  t.equal(await seen({}), gateway.origin)
  t.equal(await seen({ host: 'images.example:8443' }), 'http://images.example:8443')
  t.equal(await seen({ 'x-forwarded-proto': 'https', 'x-forwarded-host': 'images.example' }), 'https://images.example')
  t.equal(
    await seen({ 'x-forwarded-proto': 'javascript', 'x-forwarded-host': 'images.example' }),
    'http://images.example',
  )
  // Some proxies add to what they were sent: what is before the entry of the outermost trusted one is its client's word.
  const lie = { 'x-forwarded-proto': 'http, https, http', 'x-forwarded-host': 'evil.example, images.example, inner' }
  t.equal(await seen({ ...lie, 'x-forwarded-for': '198.51.100.7, 10.0.0.9' }), 'https://images.example')

  const other = await stage(t)
  const untrusted = await other.begin()
  await other.reaches(untrusted, 'succeeded')
  const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '127.0.0.1' }
  const answer = await other.gateway.request(`/mj/task/${untrusted}/fetch`, { headers })
  t.equal(new URL((answer.json() as Json).imageUrl).origin, other.gateway.origin)
})

t.test('where no route answers links, records have the upstream’s own addresses', async t => {
  const records = [{ ...DONE, imageUrl: 'https://cdn.example/1.png' }]
  const more = 'routes:\n  GET /mj/image/{id}: off\n  HEAD /mj/image/{id}: off\n'
  const { begin, reaches } = await stage(t, { records }, undefined, more)
  t.equal((await reaches(await begin(), 'succeeded')).imageUrl, 'https://cdn.example/1.png')
})

t.test('F-X1 an image at a place that may not be called is not fetched', async t => {
  const elsewhere = await startTaskUpstream(t, imageProxy(), '127.0.0.2')
  const records = [{ ...DONE, imageUrl: `${elsewhere.origin}/1.png` }]
  const { begin, reaches, follow } = await stage(t, { records })
  const { imageUrl } = await reaches(await begin(), 'succeeded')
  const answer = await follow(imageUrl)
  t.equal(answer.status, 502)
  t.match(answer.json(), { code: 9, description: /may not be called/, result: null })
  t.equal(elsewhere.requests.items.length, 0)
})

// ── models that are reachable only here

t.test('a model of such an upstream is unknown on every other route', async t => {
  const { post, upstream } = await stage(t)
  const asks: readonly (readonly [string, object])[] = [
    ['/v1/chat/completions', { model: 'midjourney', messages: [{ role: 'user', content: 'A cat' }] }],
    ['/v1/images/generations', { model: 'midjourney', prompt: 'A cat' }],
    ['/v1/videos', { model: 'midjourney', prompt: 'A cat' }],
  ]
  for (const [path, body] of asks) {
    const answer = await post(path, body)
    t.equal(answer.status, 404)
    t.match(answer.json(), { error: { code: 'model_not_supported' } })
  }
  t.equal(upstream.requests.items.length, 0)
})

t.test(
  'a model that is declared to be served here alone is unknown elsewhere, whatever its upstream speaks',
  async t => {
    const upstream = await startTaskUpstream(t, imageProxy())
    const gateway = await startTestGateway(
      t,
      `version: 1\nkeys: { caller: { secret: { env: CALLER_KEY } } }\nstore: { type: memory }\nupstreams: { up: { kind: new-api, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY } } }\nmodels: { midjourney: { upstream: up, protocols: [mj] } }\n`,
    )
    const images = await gateway.request('/v1/images/generations', { body: { model: 'midjourney', prompt: 'A cat' } })
    t.equal(images.status, 404)
    t.equal((await gateway.chat({ model: 'midjourney' })).status, 404)
    t.equal(upstream.requests.items.length, 0)
    t.match((await gateway.request('/relax/mj/submit/imagine', { body: { prompt: 'A cat' } })).json(), { code: 1 })
    t.equal(upstream.submits[0]?.target, '/relax/mj/submit/imagine')
    t.match((await gateway.request('/v1/models')).json(), { data: [{ id: 'midjourney' }] })
  },
)

proveNoLeak(t)
