import { GenerateVideosOperation, GoogleGenAI } from '@google/genai'
import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startTaskUpstream } from '../helpers/task-upstream.js'
import { simulator } from '../simulator/support.js'

/** Videos of the native interface, by its SDK: before upstreams that speak it, and before others. */

const ENDS: ReadonlySet<unknown> = new Set(['succeeded', 'failed', 'cancelled'])

interface Stage {
  readonly gateway: TestGateway
  readonly sdk: GoogleGenAI
}

function sdkOf(gateway: TestGateway, apiVersion = 'v1beta'): GoogleGenAI {
  return new GoogleGenAI({ apiKey: gateway.key, apiVersion, httpOptions: { baseUrl: gateway.origin } })
}

async function stage(t: Test, kind: string): Promise<Stage> {
  const { origin } = await simulator(t)
  const yaml = `version: 1
store: { type: memory }
${CALLER}
upstreams:
  up: { kind: ${kind}, base: "${origin}", secret: { env: UPSTREAM_KEY }, tasks: { poll: { every: 20ms } } }
models:
  film: { upstream: up, as: "sim-video?polls=1" }
  vendor/film: { upstream: up, as: "sim-video?polls=1" }
  slow: { upstream: up, as: "sim-video?takes=10m" }
  failed: { upstream: up, as: "sim-video?polls=1&ends=failed" }
  empty: { upstream: up, as: "sim-video?polls=1&ends=empty" }
`
  const gateway = await startTestGateway(t, yaml)
  return { gateway, sdk: sdkOf(gateway) }
}

/** The operation when its task has ended. */
async function ended({ gateway, sdk }: Stage, operation: GenerateVideosOperation): Promise<GenerateVideosOperation> {
  const id = operation.name?.split('/').at(-1)
  await gateway.log.find(line => line.msg === 'task changed' && line.task === id && ENDS.has(line.to))
  return sdk.operations.getVideosOperation({ operation })
}

for (const kind of ['openai', 'native-generate']) {
  t.test(`kind ${kind}, SDK: a video from its request to its bytes`, async t => {
    const at = await stage(t, kind)
    for (const [model, version] of [
      ['film', 'v1beta'],
      ['vendor/film', 'v1beta'],
      ['film', 'v1'],
    ] as const) {
      const one = { ...at, sdk: sdkOf(at.gateway, version) }
      const config = { durationSeconds: 5, aspectRatio: '9:16', numberOfVideos: 1, resolution: '720p' }
      const path = encodeURIComponent(model)
      const begun = await one.sdk.models.generateVideos({ model: path, source: { prompt: 'A cat' }, config })
      t.match(begun, { name: new RegExp(`^models/${path}/operations/task_`), done: undefined, response: undefined })
      const over = await ended(one, begun)
      t.equal(over.name, begun.name)
      t.equal(over.done, true)
      const uri = over.response?.generatedVideos?.[0]?.video?.uri ?? ''
      t.ok(uri.startsWith(at.gateway.origin), uri)
      const content = await fetch(uri)
      t.equal(content.headers.get('content-type'), 'video/mp4')
      t.equal(Buffer.from(await content.arrayBuffer()).toString('latin1', 4, 8), 'ftyp')
      const other = uri.replace(/(?<=signature=)./, one => (one === '_' ? 'A' : '_'))
      t.equal((await fetch(other)).status, 401)
      const short = await at.gateway.request(`/v1beta/operations/${begun.name?.split('/').at(-1)}`)
      t.match(short.json(), { name: begun.name, done: true })
    }
  })

  t.test(`kind ${kind}, SDK: while it runs, an end in failure, and one with nothing to show`, async t => {
    const at = await stage(t, kind)
    const source = { prompt: 'A cat' }
    const slow = await at.sdk.models.generateVideos({ model: 'slow', source })
    const running = await at.sdk.operations.getVideosOperation({ operation: slow })
    t.match(running, { name: slow.name, done: undefined, response: undefined, error: undefined })
    const download = await at.gateway.request(`/v1beta/operations/${slow.name?.split('/').at(-1)}:download`)
    t.match([download.status, download.json()], [409, { error: { status: /\w/ } }])
    for (const model of ['failed', 'empty']) {
      const over = await ended(at, await at.sdk.models.generateVideos({ model, source }))
      t.match(over, { done: true, error: { code: 13, message: /\w/ }, response: undefined }, model)
    }
  })
}

t.test('an image, and what only this interface says, reach an upstream that speaks it', async t => {
  const cloud = await startTaskUpstream(t, ({ method }) =>
    method === 'POST' ? { body: { name: 'models/veo/operations/1' } } : { body: { name: 'models/veo/operations/1' } },
  )
  const yaml = `version: 1
store: { type: memory }
${CALLER}
upstreams: { up: { kind: gemini-native, base: "${cloud.origin}", secret: { env: UPSTREAM_KEY } } }
models: { veo: { upstream: up, as: veo-3.1-generate-preview } }
`
  const gateway = await startTestGateway(t, yaml)
  const image = { imageBytes: 'iVBORw0KGgo=', mimeType: 'image/png' }
  const config = {
    ...{ aspectRatio: '9:16', resolution: '1080p', negativePrompt: 'people', personGeneration: 'allow_adult' },
    ...{ durationSeconds: 8, lastFrame: image, enhancePrompt: true },
  }
  await sdkOf(gateway).models.generateVideos({ model: 'veo', source: { prompt: 'A cat', image }, config })
  const [submit] = cloud.requests.items
  t.equal(submit?.target, '/v1beta/models/veo-3.1-generate-preview:predictLongRunning')
  const frame = { bytesBase64Encoded: 'iVBORw0KGgo=', mimeType: 'image/png' }
  t.same(submit?.json(), {
    instances: [{ prompt: 'A cat', image: frame, lastFrame: frame }],
    parameters: {
      ...{ aspectRatio: '9:16', resolution: '1080p', negativePrompt: 'people', personGeneration: 'allow_adult' },
      ...{ durationSeconds: 8, enhancePrompt: true },
    },
  })
})

t.test('what an upstream does not know is refused there, and operations of others are not found', async t => {
  const at = await stage(t, 'openai')
  const config = { personGeneration: 'allow_all' }
  const refused = at.sdk.models.generateVideos({ model: 'film', source: { prompt: 'A cat' }, config })
  await t.rejects(refused, { status: 400, message: /person_generation/ })
  const operation = new GenerateVideosOperation()
  operation.name = 'models/film/operations/task_00000000000000000000000000000000'
  await t.rejects(at.sdk.operations.getVideosOperation({ operation }), { status: 404, message: /NOT_FOUND/ })
  const several = { numberOfVideos: 2 }
  const two = at.sdk.models.generateVideos({ model: 'film', source: { prompt: 'A cat' }, config: several })
  await t.rejects(two, { status: 400, message: /sampleCount/ })
})

proveNoLeak(t)
