import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Bin, start } from '../cli/bin.js'
import { inTime, withResolvers } from '../helpers/journal.js'
import { DURABLE, storesOf } from '../helpers/store-kinds.js'
import {
  compatible,
  film,
  startTaskUpstream,
  type TaskRequest,
  type TaskScript,
  type TaskUpstream,
} from '../helpers/task-upstream.js'

// F-T1: the gateway is killed at marked points of a task's way, and started again on the same store. The points are
// where the upstream has a request in its hand: it answers, or does not, and the process ends then and there.

/** How often each point is tried; the long run sets more. */
const TIMES = Number(process.env.KILLS ?? 1)
t.setTimeout(120_000 + TIMES * 600_000)

const KEY = 'the-key-of-the-caller-0123456789'

type Point = (request: TaskRequest, count: (what: string) => number) => boolean

interface Mark {
  readonly name: string
  /** The request at which the process is killed. */
  readonly at: Point
  /** Whether the upstream answers it first; else the connection breaks with the process. */
  readonly answered: boolean
}

const isSubmit: Point = ({ method }) => method === 'POST'
const isPoll =
  (number: number): Point =>
  ({ method, target }, count) => {
    return method === 'GET' && !target.endsWith('/content') && count('poll') === number
  }
const isProof: Point = ({ target, headers }) => target.endsWith('/content') && headers.range === 'bytes=0-0'
const isContent: Point = ({ target, headers }) => target.endsWith('/content') && headers.range === undefined
const isDelete: Point = ({ method }) => method === 'DELETE'

const MARKS: readonly Mark[] = [
  { name: 'the upstream has the submit', at: isSubmit, answered: false },
  { name: 'the upstream has taken the submit', at: isSubmit, answered: true },
  { name: 'the upstream has the first poll', at: isPoll(1), answered: false },
  { name: 'the upstream has answered the first poll', at: isPoll(1), answered: true },
  { name: 'the upstream has the second poll', at: isPoll(2), answered: false },
  { name: 'the upstream has answered the second poll', at: isPoll(2), answered: true },
  { name: 'the upstream has answered that it is done', at: isPoll(3), answered: true },
  { name: 'the upstream is asked for the proof', at: isProof, answered: false },
  { name: 'the upstream has shown the proof', at: isProof, answered: true },
  { name: 'the upstream is asked for the content', at: isContent, answered: false },
  { name: 'the upstream is asked to delete', at: isDelete, answered: false },
  { name: 'the upstream has deleted', at: isDelete, answered: true },
]

interface Stage {
  readonly upstream: TaskUpstream
  readonly file: string
  /** Resolves when the process has been killed at its mark. */
  readonly killed: Promise<void>
  begin(t: Test): Promise<string>
}

/** A gateway that is killed when its upstream comes to the mark. `store` is the setting, as written. */
async function stage(t: Test, { at, answered }: Mark, store: string): Promise<Stage> {
  const counts = new Map<string, number>()
  const count = (what: string): number => counts.get(what) ?? 0
  const killed = withResolvers<void>()
  let victim: Bin | undefined
  let starts = 0
  const usual = compatible(
    { status: 'running', progress: 10 },
    { status: 'running', progress: 60 },
    { status: 'completed' },
  )
  const script: TaskScript = async (request, upstream) => {
    const { method, target } = request
    if (method === 'GET' && !target.endsWith('/content')) counts.set('poll', count('poll') + 1)
    const answer = usual(request, upstream)
    if (victim === undefined || !at(request, count)) return answer
    const doomed = victim
    victim = undefined
    const kill = async (): Promise<void> => {
      doomed.child.kill('SIGKILL')
      await doomed.ended
      killed.resolve()
    }
    if (!answered) {
      await kill()
      return 'hang'
    }
    // The answer is on its way when the process ends: with each turn the kernel may or may not have handed it over.
    setImmediate(() => void kill())
    return answer
  }
  const upstream = await startTaskUpstream(t, script)
  const folder = mkdtempSync(join(tmpdir(), 'gateway-killed-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(
    file,
    `version: 1
listen: { port: 0 }
store: ${store}
keys: { caller: { secret: { env: CALLER_KEY } } }
timeouts: { connect: 200ms, first_byte: 500ms }
tasks: { lease: 1s }
upstreams:
  up: { kind: openai, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY }, tasks: { poll: { every: 50ms }, deadline: 30s } }
models: { film: up }
`,
  )
  const begin = async (t: Test): Promise<string> => {
    const bin = start(t, ['serve', file], { env: { CALLER_KEY: KEY, UPSTREAM_KEY: 'upstream' } })
    const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
    // Only the first one is killed.
    if (starts++ === 0) victim = bin
    return origin
  }
  return { upstream, file, killed: killed.promise, begin }
}

const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

async function ask(origin: string, method: string, path: string, body?: object): Promise<Response | undefined> {
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
  return await fetch(`${origin}${path}`, init).catch(() => undefined)
}

interface Known {
  readonly id: string
  readonly status: string
  readonly prompt: string
}

async function list(origin: string): Promise<readonly Known[]> {
  const answer = await ask(origin, 'GET', '/v1/videos')
  return answer === undefined ? [] : ((await answer.json()) as { data: Known[] }).data
}

/** The record once it has ended. */
async function end(origin: string, id: string): Promise<Known | undefined> {
  for (;;) {
    const answer = await ask(origin, 'GET', `/v1/videos/${id}`)
    if (answer?.status === 404) return undefined
    const known = (await answer?.json()) as Known
    if (known.status === 'completed' || known.status === 'failed') return known
  }
}

for (const kind of DURABLE) {
  const store = storesOf(t, kind)
  for (const mark of MARKS) {
    for (let time = 1; time <= TIMES; time++) {
      t.test(`F-T1 killed when ${mark.name} (${kind.type}, ${time} of ${TIMES})`, { skip: kind.skip }, async t => {
        const { upstream, killed, begin } = await stage(t, mark, await store(t))
        const first = await begin(t)
        const body = { model: 'film', prompt: 'A cat' }
        const begun = await ask(first, 'POST', '/v1/videos', body)
        const acknowledged = begun?.status === 200 ? ((await begun.json()) as Known).id : undefined
        if (mark.at === isContent || mark.at === isDelete) {
          const known = await end(first, acknowledged ?? '')
          t.equal(known?.status, 'completed')
          await ask(
            first,
            mark.at === isDelete ? 'DELETE' : 'GET',
            `/v1/videos/${acknowledged}${mark.at === isDelete ? '' : '/content'}`,
          )
        }
        await inTime(killed, () => 'the mark was never reached')
        const second = await begin(t)
        const known = await list(second)
        t.equal(upstream.submits.length, 1, 'submitted once')
        if (mark.at === isDelete) {
          t.same(known, [], 'what was deleted stays deleted')
          await upstream.requests.count(mark.answered ? 1 : 2, ({ method }) => method === 'DELETE')
          return
        }
        t.equal(known.length, 1, 'the task is known')
        const [task] = known
        if (acknowledged !== undefined) t.equal(task?.id, acknowledged)
        const ended = await inTime(end(second, task?.id ?? ''), () => 'the task never ended')
        if (mark.at === isSubmit && acknowledged === undefined) {
          // Whether the upstream has it nobody knows; it is not asked again.
          t.match(ended, { status: 'failed', error: { code: 'submit_unconfirmed' } })
        } else {
          t.match(ended, { status: 'completed' })
          const content = await ask(second, 'GET', `/v1/videos/${task?.id}/content`)
          const expected = film(undefined) as { readonly body: Buffer }
          t.same(content && Buffer.from(await content.arrayBuffer()), expected.body)
        }
        t.equal(upstream.submits.length, 1, 'and never again')
      })
    }
  }

  t.test(
    `F-T1 killed when the upstream has the submit: the client’s own key leads to the same task (${kind.type})`,
    { skip: kind.skip },
    async t => {
      const { upstream, killed, begin } = await stage(t, MARKS[0]!, await store(t))
      const first = await begin(t)
      const init = {
        method: 'POST',
        headers: { ...headers, 'idempotency-key': 'order-1' },
        body: '{"model":"film","prompt":"A cat"}',
      }
      await fetch(`${first}/v1/videos`, init).catch(() => undefined)
      await killed
      const second = await begin(t)
      const again = await fetch(`${second}/v1/videos`, init)
      t.equal(again.status, 200)
      t.equal(((await again.json()) as Known).id, (await list(second))[0]?.id)
      t.equal(upstream.submits.length, 1)
    },
  )
}
