import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { start } from '../cli/bin.js'
import { DURABLE, storesOf } from '../helpers/store-kinds.js'
import { compatible, startTaskUpstream, type TaskScript, type TaskUpstream } from '../helpers/task-upstream.js'

// How often clients ask is nothing to the upstream, regardless of the store, and however many processes there are.

t.setTimeout(240_000)

const KEY = 'the-key-of-the-caller-0123456789'
const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
/** Between two questions of the gateway about a task of `brisk`, milliseconds. */
const EVERY = 100
const POLLS = 1000
const CLIENTS = 20

interface Stage {
  readonly upstream: TaskUpstream
  /** Where the gateways are reached; each is a process. */
  readonly origins: readonly string[]
  /** When the upstream was asked about each of its tasks, by path, milliseconds. */
  readonly asked: ReadonlyMap<string, readonly number[]>
}

async function stage(t: Test, store: string, processes: number): Promise<Stage> {
  const asked = new Map<string, number[]>()
  const usual = compatible({ status: 'in_progress', progress: 5 })
  const script: TaskScript = (request, upstream) => {
    if (request.method === 'GET') asked.set(request.target, [...(asked.get(request.target) ?? []), performance.now()])
    return usual(request, upstream)
  }
  const upstream = await startTaskUpstream(t, script)
  const folder = mkdtempSync(join(tmpdir(), 'gateway-polled-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  const at = `kind: openai, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY }`
  writeFileSync(
    file,
    `version: 1
listen: { port: 0 }
store: ${store}
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams:
  calm: { ${at}, tasks: { poll: { first: 1ms, every: 1h, slowest: 1h } } }
  brisk: { ${at}, tasks: { poll: { first: 1ms, every: ${EVERY}ms } } }
models: { calm: calm, brisk: brisk }
`,
  )
  const bins = Array.from({ length: processes }, () =>
    start(t, ['serve', file], { env: { CALLER_KEY: KEY, UPSTREAM_KEY: 'u' } }),
  )
  const origins = await Promise.all(bins.map(async bin => (await bin.until(/"address":"([^"]+)"/))[1] ?? ''))
  return { upstream, origins, asked }
}

async function begin({ origins }: Stage, model: string): Promise<string> {
  const body = JSON.stringify({ model, prompt: 'A cat' })
  const answer = await fetch(`${origins[0]}/v1/videos`, { method: 'POST', headers, body })
  return ((await answer.json()) as { id: string }).id
}

/** Many polls by many clients of every process; the answers that are not what the upstream said last. */
async function poll({ origins }: Stage, id: string, polls: number): Promise<unknown[]> {
  const wrong: unknown[] = []
  const client = async (_: unknown, number: number): Promise<void> => {
    for (let n = 0; n < polls / CLIENTS; n++) {
      const answer = await fetch(`${origins[number % origins.length]}/v1/videos/${id}`, { headers })
      const record = (await answer.json()) as { id: string; status: string; progress: number }
      if (record.id !== id || record.status !== 'in_progress' || record.progress !== 5) wrong.push(record)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return wrong
}

/** Resolves when every process tells what the upstream said first. */
async function known({ origins }: Stage, id: string): Promise<void> {
  for (const origin of origins) {
    for (let status = ''; status !== 'in_progress'; ) {
      const answer = await fetch(`${origin}/v1/videos/${id}`, { headers })
      status = ((await answer.json()) as { status: string }).status
    }
  }
}

const KINDS = [
  { type: 'memory', skip: false, processes: 1, store: async () => '{ type: memory }' },
  ...DURABLE.map(kind => ({ type: kind.type, skip: kind.skip, processes: 2, store: storesOf(t, kind) })),
]

for (const { type, skip, processes, store } of KINDS) {
  t.test(`F-T3 ${POLLS} polls of one task: the upstream sees its own pace only (${type})`, { skip }, async t => {
    const staged = await stage(t, await store(t), processes)
    const { upstream, asked } = staged

    const calm = await begin(staged, 'calm')
    await known(staged, calm)
    t.same(await poll(staged, calm, POLLS), [], 'each is answered with what is known')
    t.equal(upstream.requests.items.length, 2, 'one submit, one question, and not one that a client put')

    const brisk = await begin(staged, 'brisk')
    await known(staged, brisk)
    t.same(await poll(staged, brisk, POLLS / 5), [])
    await upstream.requests.count(12, ({ target }) => target.endsWith('/vid_2'))
    const times = asked.get('/v1/videos/vid_2') ?? []
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    // Each question is timed from the answer to the one before, less a tenth: nothing can make it come earlier.
    t.ok(Math.min(...gaps) >= EVERY * 0.85, `${times.length} questions, ${Math.min(...gaps)} ms apart at least`)
    t.equal(asked.get('/v1/videos/vid_1')?.length, 1, 'nor was the other one asked about meanwhile')
    t.equal(upstream.submits.length, 2)
  })
}
