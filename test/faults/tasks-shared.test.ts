import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Bin, start } from '../cli/bin.js'
import { withResolvers } from '../helpers/journal.js'
import { DURABLE, storesOf } from '../helpers/store-kinds.js'
import { compatible, startTaskUpstream, type TaskScript, type TaskUpstream } from '../helpers/task-upstream.js'

// Several processes on one store: a task is one process's at a time.

t.setTimeout(240_000)

const KEY = 'the-key-of-the-caller-0123456789'
const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
const EVERY = 100

interface Process {
  readonly bin: Bin
  readonly origin: string
}

async function stage(
  t: Test,
  script: TaskScript,
  lease: string,
  store: string,
): Promise<{ upstream: TaskUpstream; open(): Promise<Process> }> {
  const upstream = await startTaskUpstream(t, script)
  const folder = mkdtempSync(join(tmpdir(), 'gateway-shared-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(
    file,
    `version: 1
listen: { port: 0 }
store: ${store}
tasks: { lease: ${lease} }
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams:
  up: { kind: openai, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY }, tasks: { poll: { every: ${EVERY}ms } } }
models: { film: up }
`,
  )
  const open = async (): Promise<Process> => {
    const bin = start(t, ['serve', file], { env: { CALLER_KEY: KEY, UPSTREAM_KEY: 'u' } })
    const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
    return { bin, origin }
  }
  return { upstream, open }
}

async function begin({ origin }: Process, more: Record<string, string> = {}): Promise<string> {
  const body = JSON.stringify({ model: 'film', prompt: 'A cat' })
  const answer = await fetch(`${origin}/v1/videos`, { method: 'POST', headers: { ...headers, ...more }, body })
  return ((await answer.json()) as { id: string }).id
}

async function status({ origin }: Process, id: string): Promise<string> {
  const answer = await fetch(`${origin}/v1/videos/${id}`, { headers })
  return ((await answer.json()) as { status: string }).status
}

for (const kind of DURABLE) {
  const store = storesOf(t, kind)
  t.test(
    `Idempotency-Key: the same request many times at once, at two processes, is one task (${kind.type})`,
    { skip: kind.skip },
    async t => {
      const { upstream, open } = await stage(t, compatible({ status: 'running' }), '30s', await store(t))
      const processes = [await open(), await open()]
      const rounds = 8
      for (let round = 0; round < rounds; round++) {
        const ids = await Promise.all(
          Array.from({ length: 6 }, (_, at) =>
            begin(processes[at % processes.length] as Process, { 'idempotency-key': `order-${round}` }),
          ),
        )
        t.equal(new Set(ids).size, 1, `one id: ${ids}`)
        t.equal(upstream.submits.length, round + 1, 'one submit')
      }
      const listed = await fetch(`${processes[0]?.origin}/v1/videos`, { headers })
      t.equal(((await listed.json()) as { data: unknown[] }).data.length, rounds, 'nothing is left of the others')
    },
  )

  t.test(
    `F-T5 the holder stopped past its lease, and continued: what it then knows changes nothing (${kind.type})`,
    { skip: kind.skip },
    async t => {
      const asked = withResolvers<void>()
      const late = withResolvers<void>()
      let polls = 0
      const usual = compatible({ status: 'completed' })
      const script: TaskScript = async (request, upstream) => {
        const isPoll = request.method === 'GET' && !request.target.endsWith('/content')
        if (isPoll && ++polls === 1) {
          asked.resolve()
          await late.promise
          return { body: { status: 'failed', error: { code: 'stale', message: 'An old answer.' } } }
        }
        return usual(request, upstream)
      }
      const { open } = await stage(t, script, '3s', await store(t))
      const holder = await open()
      const id = await begin(holder)
      await asked.promise
      holder.bin.child.kill('SIGSTOP')
      const other = await open()
      await other.bin.until(new RegExp(`"task":"${id}"[^\\n]*"to":"succeeded"`))
      late.resolve()
      holder.bin.child.kill('SIGCONT')
      for (let n = 0; n < 20; n++) {
        t.equal(await status(holder, id), 'completed')
        t.equal(await status(other, id), 'completed')
      }
      t.notMatch(holder.bin.stderr, /"to":"failed"/)
    },
  )

  t.test(
    `F-T3 F-T5 two processes: the upstream sees one poller a task, at its own pace (${kind.type})`,
    { skip: kind.skip },
    async t => {
      const seen = new Map<string, number[]>()
      const usual = compatible({ status: 'running' })
      const script: TaskScript = (request, upstream) => {
        if (request.method === 'GET') seen.set(request.target, [...(seen.get(request.target) ?? []), performance.now()])
        return usual(request, upstream)
      }
      const { open, upstream } = await stage(t, script, '30s', await store(t))
      const processes = [await open(), await open()]
      const ids: string[] = []
      for (let n = 0; n < 6; n++) ids.push(await begin(processes[n % 2] as Process))
      await upstream.requests.count(6 * 10, ({ method }) => method === 'GET')
      for (const times of seen.values()) {
        const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
        // Each poll is timed from the answer to the one before, less a tenth: nothing can make it come earlier.
        t.ok(Math.min(...gaps) >= EVERY * 0.85, `${Math.min(...gaps)} ms`)
      }
      for (const id of ids) for (const process of processes) t.equal(await status(process, id), 'in_progress')
    },
  )
}
