import t from 'tap'
import { until, WorkingGateway } from '../../helpers/workers.js'

const YAML = `keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"] }
upstreams: { sim: { kind: simulator } }
models: { m: { upstream: sim, as: sim-text } }
retry: { attempts: 1 }
health: off
workers: 2
`

interface Series {
  readonly totals: { readonly requests: number }
}

t.test('faults are on in all workers, also in new ones, and figures are those of all', async t => {
  const gateway = await WorkingGateway.start(t, YAML)
  const statuses = async (): Promise<readonly (number | string)[]> => {
    const all = await Promise.all(Array.from({ length: 16 }, () => gateway.chat()))
    return [...new Set(all)]
  }
  await gateway.admin('PUT', '/admin/faults', { upstream: 'sim', faults: 'status=500' })
  // A worker hears of it a moment later.
  await until(async () => (await statuses()).join() === '500')
  await gateway.admin('POST', '/admin/restart')
  await gateway.bin.until(/"all workers are new"/)
  t.same(await statuses(), [500], 'workers that take their places do as they did')
  await gateway.admin('DELETE', '/admin/faults')
  await until(async () => (await statuses()).join() === '200')
  const series = async (range: string): Promise<number> => {
    const { totals } = await gateway.admin<Series>('GET', `/admin/series?range=${range}`)
    return totals.requests
  }
  const sum = await series('15m')
  t.ok(sum >= 48, 'also of the workers that have ended')
  t.same([await series('24h'), await series('30d')], [sum, sum])
})
