import t from 'tap'
import { chatEvent, chunk, DONE, hang, LAST_CHUNK, startStream } from '../helpers/answers.js'
import { eventsOf } from '../helpers/expect.js'
import { withResolvers } from '../helpers/journal.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { until, WorkingGateway, workersYaml } from '../helpers/workers.js'

/** Responses in the background that are read, and cancelled, by way of another worker than the one that makes them. */

t.setTimeout(60_000)

const END = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`

type Test = Parameters<typeof WorkingGateway.start>[0]

async function stage(t: Test): Promise<{ up: RawUpstream; gateway: WorkingGateway }> {
  const up = await startRawUpstream(t)
  const yaml = workersYaml(up)
    .replace('kind: openai-compatible,', 'speaks: { chat: POST /v1/chat/completions },')
    .replace(
      'secret: { env: CALLER_KEY } }\nmodels',
      'credential: { in: header, name: x-key, secret: { env: CALLER_KEY } } }\nmodels',
    )
  return { up, gateway: await WorkingGateway.start(t, yaml) }
}

async function begin(gateway: WorkingGateway): Promise<string> {
  const answer = await gateway.ask('POST', '/v1/responses', { model: 'm', input: 'a', background: true })
  return (JSON.parse(answer.text) as { id: string }).id
}

/** Reads a response's events on connections of their own until both workers have been asked: what each reader got. */
async function readByBoth(gateway: WorkingGateway, path: string): Promise<Promise<{ status: number; text: string }>[]> {
  const readers: Promise<{ status: number; text: string }>[] = []
  const busy = async (): Promise<number> => (await gateway.workers()).filter(({ requests }) => requests > 1).length
  while ((await busy()) < 2) {
    for (let count = 0; count < 6; count++) readers.push(gateway.ask('GET', path))
    if (readers.length > 200) throw new Error('one worker gets all requests')
  }
  return readers
}

t.test('any worker sends the events of a response that another one makes, from one on', async t => {
  const { up, gateway } = await stage(t)
  const { promise: more, resolve: goOn } = withResolvers<void>()
  up.answer(async peer => {
    await startStream(peer)
    await peer.send(chunk(chatEvent('one')))
    await more
    for (let n = 0; n < 100; n++) await peer.send(chunk(chatEvent('x'.repeat(300))))
    await peer.send(chunk(END + DONE))
    await peer.send(LAST_CHUNK)
  })
  const id = await begin(gateway)
  const readers = await readByBoth(gateway, `/v1/responses/${id}?stream=true&starting_after=1`)
  goOn()
  const answers = await Promise.all(readers)
  const [first] = answers
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(new Set(answers.map(({ text }) => text)).size, 1, 'all got the same bytes')
  const events = eventsOf(first?.text ?? '')
  t.equal(events.at(-1)?.event, 'response.completed')
  t.same(
    events.map(({ data }) => (JSON.parse(data) as { sequence_number: number }).sequence_number),
    events.map((_, n) => n + 2),
    'from the one after, without a gap',
  )
})

t.test('a response that another worker makes is cancelled, and its upstream let go at once', async t => {
  const { up, gateway } = await stage(t)
  up.answer(hang)
  const id = await begin(gateway)
  await up.requests.count(1)
  const readers = await readByBoth(gateway, `/v1/responses/${id}?stream=true`)
  const cancelled = await gateway.ask('POST', `/v1/responses/${id}/cancel`)
  t.match(JSON.parse(cancelled.text), { status: 'cancelled' })
  await up.aborts.count(1)
  for (const { text } of await Promise.all(readers))
    t.match(JSON.parse(eventsOf(text).at(-1)?.data ?? ''), {
      type: 'response.failed',
      response: { status: 'cancelled' },
    })
})

t.test('events that no worker has any more are refused', async t => {
  const { up, gateway } = await stage(t)
  up.answer(hang)
  const id = await begin(gateway)
  await up.requests.count(1)
  for (const { pid } of await gateway.workers()) process.kill(pid, 'SIGKILL')
  await until(() => gateway.logged('a worker has ended').length === 2)
  await until(async () => (await gateway.workers().catch(() => [])).length === 2)
  t.match(await gateway.ask('GET', `/v1/responses/${id}?stream=true`), { status: 400, text: /no longer kept/ })
})
