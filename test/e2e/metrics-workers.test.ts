import t from 'tap'
import { ADMIN_SECRET } from '../helpers/admin.js'
import { type MetricsPage, readMetrics } from '../helpers/metrics-text.js'
import { type HoldingUpstream, startHoldingUpstream, until, WorkingGateway, workersYaml } from '../helpers/workers.js'

/** Metrics of several processes, which are replaced and killed. */

t.setTimeout(120_000)

async function scrape(gateway: WorkingGateway): Promise<MetricsPage> {
  // On a connection of its own, so that any of the workers may answer.
  const headers = { authorization: `Bearer ${ADMIN_SECRET}`, connection: 'close' }
  const answer = await fetch(`${gateway.adminOrigin}/metrics`, { headers })
  return readMetrics(await answer.text(), false)
}

/** What is counted by the process itself, and read at a scrape. */
const cpuTime = async (gateway: WorkingGateway): Promise<number> =>
  (await scrape(gateway)).sum('process_cpu_time_seconds_total')
const served = (page: MetricsPage): number => page.sum('gateway_requests_total', { outcome: 'ok' })

/** Lets both workers serve some requests: how many all together, once a scrape shows them. */
async function serve(gateway: WorkingGateway, upstream: HoldingUpstream): Promise<number> {
  const answers = await gateway.occupy(upstream, 40)
  upstream.release()
  await Promise.all(answers)
  // A request is counted when its connection has been looked after, a moment after its answer.
  await until(async () => served(await scrape(gateway)) === answers.length)
  return answers.length
}

t.test('metrics are those of all workers together, whichever answers, and after workers were replaced', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  const sent = await serve(gateway, upstream)
  for (const page of await Promise.all(Array.from({ length: 6 }, () => scrape(gateway)))) {
    t.equal(served(page), sent)
    t.equal(page.sum('http_server_request_duration_seconds_count', { http_response_status_code: '200' }), sent)
    t.equal(page.sum('gateway_config_generation'), 1, 'the same in all of them')
    t.ok(page.sum('process_memory_usage_bytes') > 60e6, 'of both')
  }

  const before = await cpuTime(gateway)
  for (let more = 0; more < 5; more++) t.equal(await gateway.chat(), 200)
  await gateway.admin('POST', '/admin/restart')
  await gateway.bin.until(/"all workers are new"/)
  t.equal(served(await scrape(gateway)), sent + 5, 'workers that end hand over what no scrape has shown')
  t.ok((await cpuTime(gateway)) > before, 'and the time that they took')
  t.equal(await gateway.chat(), 200)
  await until(async () => served(await scrape(gateway)) === sent + 6)
})

t.test('a killed worker takes nothing back that a scrape has shown', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream))
  const sent = await serve(gateway, upstream)
  for (const { pid } of await gateway.workers()) {
    const before = await cpuTime(gateway)
    process.kill(pid, 'SIGKILL')
    // A connection that the killed one had accepted is broken.
    const states = (): ReturnType<typeof gateway.workers> => gateway.workers().catch(() => [])
    await until(async () => (await states()).filter(one => one.pid !== pid).length === 2)
    for (let n = 0; n < 4; n++) t.equal(served(await scrape(gateway)), sent)
    t.ok((await cpuTime(gateway)) > before)
  }
})
