import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { compatible, startTaskUpstream, type TaskUpstream } from '../helpers/task-upstream.js'
import { type Bin, run, start } from './bin.js'

t.setTimeout(120_000)

const ENV = {
  CALLER_KEY: 'the-key-of-the-caller-0123456789',
  OTHER_KEY: 'the-key-of-another-0123456789',
  UPSTREAM_KEY: 'u',
}

interface Stage {
  readonly upstream: TaskUpstream
  readonly file: string
  readonly gateway: Bin
  begin(key: string, prompt: string): Promise<string>
}

async function stage(t: Test): Promise<Stage> {
  const upstream = await startTaskUpstream(t, compatible({ status: 'running', progress: 30 }))
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tasks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(
    file,
    `version: 1
listen: { port: 0 }
store: { type: file, path: ./data }
keys: { caller: { secret: { env: CALLER_KEY } }, other: { secret: { env: OTHER_KEY } } }
upstreams:
  up:
    kind: openai
    base: "${upstream.origin}"
    secret: { env: UPSTREAM_KEY }
    speaks: { videos.cancel: "POST /v1/videos/{task_id}/cancel" }
    tasks: { poll: { every: 50ms } }
models: { film: up, film-2: up }
task_kinds: { music: { content: { music: audio/mpeg } } }
`,
  )
  const gateway = start(t, ['serve', file], { env: ENV })
  const [, origin = ''] = await gateway.until(/"address":"([^"]+)"/)
  const begin = async (key: string, prompt: string): Promise<string> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'film', prompt })
    const answer = await fetch(`${origin}/v1/videos`, { method: 'POST', headers, body })
    return ((await answer.json()) as { id: string }).id
  }
  return { upstream, file, gateway, begin }
}

t.test('tasks: list, show and cancel beside a running gateway', async t => {
  const { upstream, file, gateway, begin } = await stage(t)
  const mine = await begin(ENV.CALLER_KEY, 'A cat')
  const theirs = await begin(ENV.OTHER_KEY, 'A dog')
  await gateway.until(new RegExp(`"task":"${mine}"[^\\n]*"to":"running"`))
  await gateway.until(new RegExp(`"task":"${theirs}"[^\\n]*"to":"running"`))
  const tasks = (...args: string[]) => run(['tasks', ...args, '--file', file], { env: ENV })

  const all = await tasks('list')
  t.equal(all.code, 0, all.stderr)
  t.match(all.stdout, /^ID +KIND +KEY +MODEL +UPSTREAM +STATE +PROGRESS +BEGUN +ERROR\n/)
  t.match(all.stdout, new RegExp(`${mine} +video +caller +film +up +running +30 %`))
  t.match(all.stdout, theirs)

  const blast = await run(['blast', 'other', '--store', '--file', file], { env: ENV })
  t.equal(blast.code, 1)
  t.match(blast.stdout, /^in the store: 1 tasks in flight; /m)

  const filtered = await tasks(
    'list',
    '--owner',
    'other',
    '--state',
    'running',
    '--model',
    'film',
    '--upstream',
    'up',
    '--json',
  )
  t.same(
    filtered.stdout
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as { id: string }).id),
    [theirs],
  )
  for (const none of [
    ['--state', 'failed'],
    ['--model', 'film-2'],
    ['--owner', 'nobody'],
    ['--upstream', 'elsewhere'],
    ['--kind', 'music'],
  ]) {
    t.equal((await tasks('list', ...none, '--json')).stdout.trim(), '', none.join(' '))
  }
  t.match((await tasks('list', '--kind', 'video', '--json')).stdout, mine)
  const strange = await tasks('list', '--kind', 'opera')
  t.equal(strange.code, 2)
  t.match(strange.stderr, /no kind of tasks is called opera; there are: audio, image, media, music, operation, video\n/)
  for (const [limit, message] of [
    ['1', /^only the first 1 are shown; raise --limit to see more\n$/],
    ['2', /^$/],
  ] as const) {
    const few = await tasks('list', '--limit', limit, '--json')
    t.equal(few.stdout.trim().split('\n').length, Number(limit))
    t.match(few.stderr, message)
  }
  t.match((await tasks('show', mine)).stdout, /state +running\n/)
  t.match(JSON.parse((await tasks('show', mine, '--json')).stdout), { id: mine, owner: 'caller', progress: 30 })

  const cancelled = await tasks('cancel', mine)
  t.equal(cancelled.code, 0)
  t.match(cancelled.stdout, `${mine} is cancelled`)
  await upstream.requests.find(({ method, target }) => method === 'POST' && target.endsWith('/cancel'))
  t.match(JSON.parse((await tasks('show', mine, '--json')).stdout), {
    state: 'cancelled',
    error: { code: 'cancelled' },
  })
  const from = '"from":"running","to":"cancelled"'
  await gateway.until(new RegExp(`"task":"${mine}"[^\\n]*${from}`))
  t.notMatch((await tasks('show', mine, '--json')).stdout, 'unreported')
  t.equal((await tasks('cancel', mine)).code, 0, 'it is cancelled already')

  const unknown = await tasks('show', 'task_0')
  t.equal(unknown.code, 1)
  t.match(unknown.stderr, 'there is no task task_0')
  t.equal((await tasks('list', '--state', 'sleeping')).code, 2)
})

t.test('tasks: no other process can read tasks in memory', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tasks-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, 'version: 1\nstore: { type: memory }\n')
  const { code, stderr } = await run(['tasks', 'list', '--file', file])
  t.equal(code, 1)
  t.match(stderr, /store: \{ type: memory \}/)
})
