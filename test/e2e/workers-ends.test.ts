import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { run } from '../cli/bin.js'
import { childrenOf } from '../helpers/children.js'
import { freePort } from '../helpers/store-servers.js'
import { startHoldingUpstream, until, WorkingGateway, workersYaml } from '../helpers/workers.js'

/** How a gateway with several processes starts and ends: real processes, which are killed. */

t.setTimeout(120_000)

t.test('SIGTERM drains all workers: what is open ends well, and the port is free', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  const answers = await gateway.occupy(upstream, 4)
  gateway.bin.child.kill('SIGTERM')
  await until(() => refuses(gateway.port))
  upstream.release()
  t.ok((await Promise.all(answers)).every(status => status === 200))
  t.equal((await gateway.bin.ended).code, 0)
  t.equal(gateway.logged('drained').length, 2)
})

t.test('F-P5 the supervisor is killed: workers finish what is open and end', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  const answers = await gateway.occupy(upstream, 4)
  const pids = (await gateway.workers()).map(({ pid }) => pid)
  gateway.bin.child.kill('SIGKILL')
  await until(() => refuses(gateway.port))
  upstream.release()
  t.ok((await Promise.all(answers)).every(status => status === 200))
  await until(() => !pids.some(isAlive))
})

t.test('the admin API ends all workers', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  t.same(await gateway.admin('POST', '/admin/drain'), { status: 'draining' })
  t.equal((await gateway.bin.ended).code, 0)
})

t.test('a worker that replaces another has the level that the admin API has set, from its first line', async t => {
  const gateway = await WorkingGateway.start(t, workersYaml(await startHoldingUpstream(t)))
  const before = (await gateway.workers()).map(({ pid }) => pid)
  const listening = gateway.logged('listening').length
  await gateway.admin('PUT', '/admin/log', { level: 'error' })
  for (const [at, pid] of before.entries()) {
    process.kill(pid, 'SIGKILL')
    await until(() => gateway.logged('a worker has ended').length > at)
    await until(async () => (await gateway.workers()).filter(one => one.pid !== pid).length === 2)
  }
  t.match(await gateway.admin('GET', '/admin/log'), { level: 'error', configured: 'info' })
  t.equal(await gateway.chat(), 200)
  gateway.bin.child.kill('SIGTERM')
  t.equal((await gateway.bin.ended).code, 0)
  t.equal(gateway.logged('a worker has ended').length, 2)
  t.equal(gateway.logged('listening').length, listening)
  t.equal(gateway.logged('request').length, 0)
})

t.test('SIGTERM while the successor of a worker starts: it does not begin to serve', async t => {
  const gateway = await WorkingGateway.start(t, workersYaml(await startHoldingUpstream(t)))
  const [first] = await gateway.workers()
  const listening = gateway.logged('listening').length
  const before = childrenOf(gateway.bin.child.pid)
  process.kill(first?.pid ?? Number.NaN, 'SIGKILL')
  await until(() => childrenOf(gateway.bin.child.pid).some(pid => !before.includes(pid)))
  gateway.bin.child.kill('SIGTERM')
  t.equal((await gateway.bin.ended).code, 0)
  t.equal(gateway.logged('listening').length, listening)
})

t.test('the simulator is one for all workers', async t => {
  const yaml = `keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
`
  const gateway = await WorkingGateway.start(t, yaml, ['--workers', '3'])
  t.same(
    (await gateway.workers()).map(({ number }) => number),
    [1, 2, 3],
  )
  const statuses = await Promise.all(Array.from({ length: 9 }, () => gateway.chat()))
  t.ok(statuses.every(status => status === 200))
  gateway.bin.child.kill('SIGTERM')
  t.equal((await gateway.bin.ended).code, 0, 'nothing keeps the supervisor')
})

t.test('a start that cannot be is one clear message', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  const args = ['serve', '--port', String(gateway.port), '--admin-port', '0', '--log-level', 'silent']
  const env = { CALLER_KEY: 'x'.repeat(32), GATEWAY_ADMIN_KEY: 'y'.repeat(32) }
  const taken = await run(args, { cwd: gateway.folder, env, bare: true })
  t.equal(taken.code, 1)
  t.match(taken.stderr, /^error: 127\.0\.0\.1:\d+ is in use by another process; choose another port/)

  const dying = `--import=data:text/javascript,${encodeURIComponent("if (process.argv[2] === 'work') process.exit(7)")}`
  const port = String(await freePort())
  const dead = await run(['serve', '--port', port, '--admin-port', '0', '--log-level', 'silent'], {
    cwd: gateway.folder,
    env,
    bare: true,
    flags: [dying],
  })
  t.equal(dead.code, 1)
  t.match(dead.stderr, /^error: no worker can be started: worker \d ended before it served \(exit 7\)/)
})

t.test('several workers on the command line need a store that they share', async t => {
  const yaml = `version: 1
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
store: { type: memory }
`
  const cwd = t.testdir({ 'gateway.yaml': yaml })
  const env = { CALLER_KEY: 'x'.repeat(32) }
  const { code, stderr } = await run(['serve', '--port', '0', '--workers', '2'], { cwd, env })
  t.equal(code, 1)
  t.match(stderr, /^gateway\.yaml:5:16 {2}store\.type {2}several workers need a store that they share/)
  t.match(await run(['serve', '--workers', '65'], { cwd, env }), { code: 2, stderr: /from 1 to 64/ })
})

async function refuses(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
