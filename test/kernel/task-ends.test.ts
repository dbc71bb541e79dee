import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { GatewayError } from '../../src/core/errors.js'
import type { StoredRecord } from '../../src/core/store.js'
import { FEATURES } from '../../src/features/index.js'
import { TASKS } from '../../src/features/tasks/tasks.js'
import type { Kernel } from '../../src/kernel/kernel.js'
import type { Feature, Stage } from '../../src/kernel/stages.js'
import type { TaskEnd } from '../../src/kernel/task-end.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { meter } from '../helpers/metered.js'
import { turn } from '../helpers/raw-upstream.js'
import { compatible, startTaskUpstream, type TaskScript, type TaskUpstream } from '../helpers/task-upstream.js'

/** A submit passes the gates, and a feature that keeps something with the task hears once of its end. */

const BODY = { model: 'm', prompt: 'A cat', seconds: '8', size: '1280x720' }
const DONE = compatible({ status: 'in_progress', progress: 5 }, { status: 'completed', progress: 100 })
const NEVER = compatible({ status: 'in_progress', progress: 5 })

function yamlOf(upstreams: readonly TaskUpstream[], store: string): string {
  const at = upstreams.map(
    ({ origin }, index) =>
      `u${index}: { kind: openai, base: "${origin}", secret: { env: UPSTREAM_KEY }, tasks: { poll: { first: 1ms, every: 100ms } } }`,
  )
  const targets = upstreams.map((_, index) => `{ upstream: u${index}, as: real-${index} }`)
  return `version: 1\n${CALLER}\nstore: ${store}\nupstreams: { ${at.join(', ')} }\nmodels: { m: [${targets.join(', ')}] }\nprices: { m: { request: 1.00 } }\n`
}

interface Staged extends ReturnType<typeof meter> {
  readonly gateway: TestGateway
  readonly ups: readonly TaskUpstream[]
  readonly ends: Journal<TaskEnd>
  submit(): Promise<string>
  record(id: string): Promise<StoredRecord | undefined>
}

/** `more`: of the stage. `settle`: what the feature does with an end. */
async function staged(
  test: Test,
  scripts: readonly TaskScript[],
  more: Partial<Stage> = {},
  settle: (end: TaskEnd) => void = () => undefined,
  store = '{ type: file }',
): Promise<Staged> {
  const ups: TaskUpstream[] = []
  for (const [index, script] of scripts.entries())
    ups.push(await startTaskUpstream(test, script, `127.0.0.${index + 1}`))
  const ends = new Journal<TaskEnd>('ends of tasks')
  let opened: Kernel | undefined
  const metered = meter()
  const stage: Stage = {
    ...metered.stage,
    afterAttempt(attempt, outcome) {
      metered.stage.afterAttempt?.(attempt, outcome)
      attempt.keep('meter', { reserved: attempt.number })
    },
    ...more,
  }
  const own: Feature = {
    name: 'meter',
    open(kernel) {
      opened = kernel
      return {
        async onTaskEnd(end) {
          ends.push(end)
          settle(end)
        },
      }
    },
    compile: ({ route }) => (route?.task === undefined ? undefined : stage),
  }
  const gateway = await startTestGateway(test, yamlOf(ups, store), { features: [...FEATURES, own] })
  const submit = async (): Promise<string> => {
    const answer = await gateway.request('/v1/videos', { body: BODY })
    return (answer.json() as { id: string }).id
  }
  const record = async (id: string) => await opened?.need(TASKS).repository.record('video', 'caller', id)
  return { ...metered, gateway, ups, ends, submit, record }
}

t.test('a task is accepted by one attempt, and its end is reported with what was kept', async t => {
  const { gateway, ends, ended, order, submit } = await staged(t, [DONE])
  const id = await submit()
  const common = { phase: 'accepted', status: 200, task: id, upstream: 'u0', number: 1, isSent: true, begun: false }
  t.match(await ended.count(1), [common])
  const [end] = await ends.count(1)
  const asked = { id, submit: id, kind: 'video', owner: 'caller', model: 'm', target: 'real-0', upstream: 'u0' }
  t.match(end, { ...asked, state: 'succeeded', code: undefined, kept: { reserved: 1 }, generation: 1 })
  t.match(end?.input, { seconds: '8', size: '1280x720' })
  t.equal((await gateway.request(`/v1/videos/${id}`)).status, 200)
  await gateway.log.count(2, line => line.msg === 'request')
  t.same(
    order.filter(one => one.endsWith('1')),
    ['before 1', 'after 1'],
    'neither polls of the upstream nor of the client pass gates',
  )
})

t.test('a shut gate passes the target over; what an upstream refuses ends with that attempt', async t => {
  const refusing: TaskScript = () => ({ status: 503, body: { error: { message: 'busy' } } })
  const shut: Partial<Stage> = {
    beforeAttempt: ({ exchange }) =>
      exchange.upstream.name === 'u0' ? new GatewayError('rate_limited', 'No.') : undefined,
  }
  const { ended, ends, submit, ups } = await staged(t, [DONE, refusing, DONE], shut)
  const id = await submit()
  t.match(await ended.count(2), [
    { upstream: 'u1', number: 2, phase: 'status', status: 503, task: undefined },
    { upstream: 'u2', number: 3, phase: 'accepted', task: id },
  ])
  t.match(await ends.count(1), [{ upstream: 'u2', kept: { reserved: 3 } }])
  t.equal(ups[0]?.submits.length, 0)
})

t.test('where every gate is shut there is no task', async t => {
  const shut = { beforeAttempt: () => new GatewayError('rate_limited', 'No budget is left.') }
  const { gateway, ups, ended } = await staged(t, [DONE, DONE], shut)
  const answer = await gateway.request('/v1/videos', { body: BODY })
  t.equal(answer.status, 429)
  t.match(answer.text, 'No budget is left.')
  t.same([ups[0]?.requests.items.length, ups[1]?.requests.items.length, ended.items.length], [0, 0, 0])
  t.match((await gateway.request('/v1/videos')).json(), { data: [] })
})

t.test('an end is reported again until it is settled, and then never more', async t => {
  let times = 0
  const { ends, submit, gateway, record } = await staged(t, [DONE], {}, () => {
    if (++times === 1) throw new GatewayError('unavailable', 'The store is away.')
  })
  const id = await submit()
  const [first, second] = await ends.count(2)
  t.same(first, second)
  // What the feature kept is forgotten then, and no process looks at the task again.
  let found = await record(id)
  for (let tries = 0; tries < 1000 && found?.due !== undefined; tries++) {
    await turn()
    found = await record(id)
  }
  t.match(found, { due: undefined, key: id })
  t.notMatch(Buffer.from(found?.value ?? []).toString(), '"notes"')
  await gateway.gateway.close()
  t.equal(ends.items.length, 2)
  t.equal(gateway.log.items.filter(line => line.msg === 'task charged').length, 1)
})

t.test('what a task has cost is in the log of one process, also where the next one has its end again', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-ends-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const store = `{ type: file, path: "${folder}" }`
  const fail = (): never => {
    throw new GatewayError('unavailable', 'The store is away.')
  }
  const first = await staged(t, [DONE], {}, fail, store)
  await first.submit()
  await first.ends.count(2)
  await first.gateway.gateway.close()
  const second = await staged(t, [DONE], {}, undefined, store)
  await second.ends.count(1)
  await second.gateway.gateway.close()
  const isCharged = ({ msg }: { readonly msg?: string }): boolean => msg === 'task charged'
  t.equal(first.gateway.log.items.filter(isCharged).length, 1)
  t.equal(second.gateway.log.items.filter(isCharged).length, 0)
})

t.test('tasks that are cancelled, deleted, or may have been begun', async t => {
  const cancelled = await staged(t, [NEVER])
  const id = await cancelled.submit()
  await cancelled.gateway.request(`/v1/videos/${id}`, { method: 'DELETE' })
  t.match(await cancelled.ends.count(1), [{ id, state: 'cancelled', kept: { reserved: 1 } }])
  const silent: TaskScript = () => ({ status: 502, body: {} })
  const unconfirmed = await staged(t, [silent])
  const doubtful = await unconfirmed.submit()
  t.match(await unconfirmed.ended.count(1), [{ phase: 'unconfirmed', status: 502, task: doubtful }])
  await unconfirmed.gateway.request(`/v1/videos/${doubtful}`, { method: 'DELETE' })
  t.match(await unconfirmed.ends.count(1), [{ id: doubtful, kept: { reserved: 1 } }])
})

interface Life {
  readonly child: ChildProcess
  readonly origin: string
  readonly ends: Journal<TaskEnd>
}

async function live(test: Test, file: string): Promise<Life> {
  const env = { ...process.env, CALLER_KEY: KEY, UPSTREAM_KEY: 'u' }
  const child = fork(join(import.meta.dirname, '../helpers/noting-gateway.js'), [file], { env, stdio: 'ignore' })
  test.teardown(() => void child.kill('SIGKILL'))
  const ends = new Journal<TaskEnd>('ends of tasks')
  const { origin } = await new Promise<{ origin: string }>(resolve => {
    child.on('message', (message: { origin: string } | { end: TaskEnd }) => {
      if ('end' in message) ends.push(message.end)
      else resolve(message)
    })
  })
  return { child, origin, ends }
}

const KEY = 'the-key-of-the-caller-0123456789'

t.test(
  'what is kept with a task outlives a process that is killed, and its end is reported by the next one',
  async t => {
    const upstream = await startTaskUpstream(t, NEVER)
    const folder = mkdtempSync(join(tmpdir(), 'gateway-ends-'))
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'gateway.yaml')
    writeFileSync(file, `${yamlOf([upstream], '{ type: file }')}listen: { port: 0 }\ntasks: { lease: 1s }\n`)
    const first = await live(t, file)
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const answer = await fetch(`${first.origin}/v1/videos`, { method: 'POST', headers, body: JSON.stringify(BODY) })
    const { id } = (await answer.json()) as { id: string }
    // Another one is being submitted when the process is killed.
    upstream.script = () => 'hang'
    const body = JSON.stringify(BODY)
    const lost = fetch(`${first.origin}/v1/videos`, { method: 'POST', headers, body }).catch(() => undefined)
    await upstream.requests.count(2, ({ method }) => method === 'POST')
    const gone = once(first.child, 'exit')
    first.child.kill('SIGKILL')
    await Promise.all([gone, lost])
    upstream.script = compatible({ status: 'completed', progress: 100 })
    const second = await live(t, file)
    const both = await second.ends.count(2)
    const kept = { number: 1 }
    t.match(
      both.find(one => one.id === id),
      { submit: id, state: 'succeeded', kept },
    )
    t.match(
      both.find(one => one.id !== id),
      { state: 'failed', code: 'submit_unconfirmed', kept },
    )
    t.equal(first.ends.items.length, 0)
  },
)
