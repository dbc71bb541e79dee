import t from 'tap'
import { run } from '../cli/bin.js'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { startHoldingUpstream, until, WorkingGateway, workersYaml } from '../helpers/workers.js'

/** Several processes on one port: real processes, which are killed and stopped. */

t.setTimeout(120_000)

t.test('limits hold over all workers together, to the request', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream, '', 'budget: 0.5 USD/total'))
  const statuses = await Promise.all(Array.from({ length: 120 }, () => gateway.chat()))
  let passed = statuses.filter(status => status === 200).length
  t.ok(passed <= 50, `${passed} of 120 at once`)
  t.equal(passed + statuses.filter(status => status === 429).length, 120)
  // What one worker holds and does not use, others get soon.
  while (passed < 50) if ((await gateway.chat()) === 200) passed++
  t.same(await Promise.all(Array.from({ length: 10 }, () => gateway.chat())), Array(10).fill(429))
  t.equal(upstream.received, 50)
  const served = new Set(gateway.logged('request').map(({ worker }) => worker))
  t.same([...served].sort(), [1, 2], 'both workers have served')
})

t.test('a reload is accepted by all workers or by none, and reported once', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  let isLoading = true
  const statuses = new Map<number | string, number>()
  const load = Array.from({ length: 4 }, async () => {
    while (isLoading) {
      const status = await gateway.chat()
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  gateway.write(workersYaml(upstream).replace('m: up', 'm: nowhere'))
  await gateway.bin.until(/"msg":"reload failed/)
  t.same(
    (await gateway.workers()).map(({ generation }) => generation),
    [1, 1],
  )
  const problem = gateway.bin.stderr.match(/"at":"([^"]*)"/)?.[1]
  t.match(problem, /gateway\.yaml:9:\d+$/)
  const readiness = async (): Promise<unknown> => (await fetch(`${gateway.origin}/readyz`)).json()
  await until(async () => {
    const seen = await Promise.all(Array.from({ length: 6 }, readiness))
    return seen.every(one => JSON.stringify(one).includes('"valid":false'))
  })

  for (const number of [2, 3, 4]) {
    gateway.write(workersYaml(upstream, `time_zone: Europe/Berlin\nlog: { level: info } # ${number}\n`))
    await gateway.bin.until(new RegExp(`"msg":"reloaded","generation":${number}`))
    t.same(
      (await gateway.workers()).map(({ generation }) => generation),
      [number, number],
    )
  }
  const { data } = await gateway.admin<{ data: { number: number; serving: boolean }[] }>('GET', '/admin/generations')
  t.match(data[0], { number: 4, serving: true })
  t.same(await gateway.admin('POST', '/admin/reload'), { generation: 4, warnings: [] })
  isLoading = false
  await Promise.all(load)
  t.same([...statuses.keys()], [200], `no request fails: ${JSON.stringify([...statuses])}`)
  t.equal(gateway.logged('reloaded').length, 3)
  t.equal(gateway.logged('reload failed; the last valid configuration stays').length, 1)
})

t.test('while the file is invalid, a new worker serves what the others serve', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  gateway.write('keys: [')
  await gateway.bin.until(/"msg":"reload failed/)
  for (const { pid } of await gateway.workers()) process.kill(pid, 'SIGKILL')
  await until(async () => {
    const states = await gateway.workers().catch(() => [])
    return states.length === 2
  })
  t.equal(await gateway.chat(), 200)
})

t.test('gateway reload --restart replaces the workers one after another, and no request fails', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  const before = await gateway.workers()
  let isLoading = true
  const failed: (number | string)[] = []
  const load = Array.from({ length: 4 }, async () => {
    while (isLoading) {
      const status = await gateway.chat()
      if (status !== 200) failed.push(status)
    }
  })
  const env = { CALLER_KEY: 'x'.repeat(32), GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const asked = await run(['reload', '--restart'], { cwd: gateway.folder, env })
  t.match(asked, { code: 0, stdout: 'the workers are replaced, one after another\n' })
  await gateway.bin.until(/"all workers are new"/)
  const after = await gateway.workers()
  isLoading = false
  await Promise.all(load)
  t.same(failed, [])
  t.same(
    after.map(({ number }) => number),
    [1, 2],
  )
  t.notOk(after.some(({ pid }) => before.some(one => one.pid === pid)))
  t.equal(gateway.logged('a worker has ended').length, 0, 'none has died')
})

t.test('requests in flight outlive reloads and the end of their worker', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  const answers = await gateway.occupy(upstream, 8)
  gateway.write(workersYaml(upstream, 'time_zone: Europe/Berlin\n'))
  await gateway.bin.until(/"msg":"reloaded","generation":2/)
  const env = { CALLER_KEY: 'x'.repeat(32), GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  t.match(await run(['reload', '--restart'], { cwd: gateway.folder, env }), { code: 0 })
  await gateway.bin.until(/"msg":"the workers are replaced/)
  // Both have heard of it before they answer this.
  for (let times = 0; times < 4; times++) await gateway.workers()
  t.equal(gateway.logged('drained').length, 0, 'a worker waits for its requests')
  upstream.release()
  t.same(await Promise.all(answers), Array(answers.length).fill(200))
  await gateway.bin.until(/"all workers are new"/)
  t.equal(gateway.logged('request').length, answers.length, 'each was served once')
})
