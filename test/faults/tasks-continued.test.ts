import t from 'tap'
import { type Store, StoreError } from '../../src/core/store.js'
import type { Feature } from '../../src/kernel/stages.js'
import { canary } from '../helpers/canaries.js'
import { startTestGateway } from '../helpers/gateway.js'
import { imageProxy, imageYaml } from '../helpers/image-upstream.js'
import { withFeature } from '../helpers/metered.js'
import type { Answer } from '../helpers/raw-client.js'
import { startTaskUpstream } from '../helpers/task-upstream.js'

// An upstream continues a task, and the store is away for a moment when that is written.

const UPSTREAM_ID = '1320098173410001'
const BUDGET = 'prices: { midjourney: { request: 0.1 }, niji: { request: 0.1 }, direct: { request: 0.1 } }\n'
const CANCEL = 'routes: { "POST /mj/task/{task_id}/cancel": { task: { kind: image, action: cancel } } }\n'

for (const [what, method, isOver] of [
  ['the task itself', 'replace', false],
  ['the task itself, which has ended meanwhile', 'replace', true],
  ['the record of the request', 'delete', false],
] as const)
  t.test(`${what} cannot be written at first: the task continues, and nothing else is left`, async t => {
    let faults = 0
    let store: Store | undefined
    const away: Feature = {
      name: 'away',
      open(kernel) {
        store = kernel.store
        const [replace, remove] = [store.replace.bind(store), store.delete.bind(store)]
        const fail = (of: string): boolean => of === method && faults-- > 0
        const refuse = (): Promise<never> => Promise.reject(new StoreError('unavailable', 'it is away'))
        store.replace = (...args) => (fail('replace') ? refuse() : replace(...args))
        store.delete = (...args) => (fail('delete') ? refuse() : remove(...args))
        return {}
      },
      compile: () => undefined,
    }
    let cancel: () => Promise<Answer>
    const proxy = imageProxy({ records: [{ status: 'MODAL', progress: '0%' }] })
    const upstream = await startTaskUpstream(t, async (request, self) => {
      if (!request.target.endsWith('modal')) return proxy(request, self)
      if (isOver) t.equal((await cancel()).status, 200)
      faults = 2
      return { body: { code: 1, description: 'ok', result: UPSTREAM_ID } }
    })
    const yaml = imageYaml(upstream.origin, 'poll: { every: 1h, first: 1h }', BUDGET + CANCEL)
    const own = yaml.replace('models: ["*"]', '$&, limits: { budget: 1 USD }')
    const env = { OTHER_KEY: canary('caller'), NIJI_KEY: canary('caller') }
    const gateway = await startTestGateway(t, own, { env, features: withFeature(away) })
    const post = (path: string, body: object) => gateway.request(path, { body })
    const { result: id } = (await post('/mj/submit/imagine', { prompt: 'A cat' })).json() as { result: string }
    cancel = () => post(`/mj/task/${id}/cancel`, {})
    const continued = await post('/mj/submit/modal', { taskId: id, prompt: 'A dog' })
    t.match([continued.status, continued.json()], [200, { result: id }])
    const keys = async () => (await store?.scan('tasks-image', { limit: 9 }))?.map(({ key }) => key)
    // The store answers at once: a request between two looks lets timers run.
    while ((await keys())?.length !== 1) await gateway.request('/v1/usage')
    t.same(await keys(), [id])
    t.ok(faults <= 0)
  })
