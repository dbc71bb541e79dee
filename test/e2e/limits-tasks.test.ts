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
