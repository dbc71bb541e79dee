import t from 'tap'
import { canary } from '../helpers/canaries.js'
import { startTestGateway } from '../helpers/gateway.js'
import { compatible, filmYaml, held, startTaskUpstream, type TaskScript } from '../helpers/task-upstream.js'

// What a task holds of a budget until it ends.

t.setTimeout(120_000)

const MORE = `prices: { film: { request: 0.1 } }
routes:
  POST /v1/videos/{task_id}/cancel: { task: { kind: video, action: cancel } }
`
const accepts = compatible({ status: 'running' })

for (const [what, script] of [
  ['accepts it later', accepts],
  ['never confirms it', (request, self) => (request.method === 'POST' ? { status: 502 } : accepts(request, self))],
] as const satisfies readonly (readonly [string, TaskScript])[])
  t.test(`a task that is cancelled while its upstream is asked, which ${what}, holds nothing`, async t => {
    const { script: slow, asked, answer } = held(script)
    const upstream = await startTaskUpstream(t, slow)
    const yaml = filmYaml(upstream.origin, undefined, MORE).replace('models: ["*"]', '$&, limits: { budget: 1 USD }')
    const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: canary('caller') } })
    const list = async (): Promise<readonly { readonly id: string; readonly status: string }[]> =>
      ((await gateway.request('/v1/videos')).json() as { data: [] }).data
    const budget = async (): Promise<{ readonly used: number; readonly reserved: number }> =>
      ((await gateway.request('/v1/usage')).json() as { limits: [never] }).limits[0]
    const begun = gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat' } })
    await asked
    const [{ id } = { id: '' }] = await list()
    t.equal((await gateway.request(`/v1/videos/${id}/cancel`, { method: 'POST' })).status, 200)
    // All that is due is done meanwhile.
    for (let turn = 0; turn < 20; turn++) t.match(await list(), [{ id, status: 'failed' }])
    t.match(await budget(), { used: 0, reserved: 0.1 })
    answer()
    t.match((await begun).json(), { id })
    while ((await budget()).reserved > 0);
    t.match(await budget(), { used: 0, reserved: 0 })
    t.equal(upstream.submits.length, 1)
  })

const WINDOWS = ['s', 'min', 'hour', 'day', 'month']
const all = (amount: string): string => `[${WINDOWS.map(window => `${amount}/${window}`).join(', ')}]`
/** So many groups, each in the next one. */
const groupsYaml = (count: number): string =>
  Array.from({ length: count }, (_, at) => {
    const outer = at + 1 < count ? `group: g${at + 1}, ` : ''
    return `  g${at}: { ${outer}limits: { budget: ${all('9 USD')}, tokens: ${all('9M')}, requests: ${all('9k')} } }`
  }).join('\n')

for (const [what, count] of [
  ['many bounds holds them until it ends', 7],
  ['the bounds of as many groups as may be within each other holds them until it ends', 64],
] as const)
  t.test(`a task under ${what}`, async t => {
    const upstream = await startTaskUpstream(t, compatible({ status: 'failed' }))
    const more = `${MORE}groups:\n${groupsYaml(count)}\n`
    const yaml = filmYaml(upstream.origin, undefined, more).replace('models: ["*"]', '$&, group: g0')
    const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: canary('caller') } })
    const reserved = async (): Promise<number> => {
      const { limits } = (await gateway.request('/v1/usage')).json() as { limits: { reserved?: number }[] }
      return limits.reduce((sum, one) => sum + (one.reserved ?? 0), 0)
    }
    const begun = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat' } })
    t.equal(begun.status, 200, begun.text)
    while ((await reserved()) > 0);
  })
