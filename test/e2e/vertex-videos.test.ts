import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { listening } from '../helpers/listening.js'
import { FILM, startTaskUpstream, type TaskScript, type TaskUpstream } from '../helpers/task-upstream.js'

// Videos of kind vertex, from the request to their bytes. Operations are in the service's documented shapes.

const PLACE = '/v1/projects/north/locations/us-central1'
const MODEL = `${PLACE}/publishers/google/models/veo-3.0-generate-001`
const OPERATION = 'projects/north/locations/us-central1/publishers/google/models/veo-3.0-generate-001/operations/op-1'
const TOKEN = 'Bearer canary-upstream-token'

interface Stage {
  readonly gateway: TestGateway
  readonly cloud: TaskUpstream
  /** Where objects of buckets are. */
  readonly bucket: TaskUpstream
}

/** `operation`: what every second poll is answered. */
async function stage(t: Test, operation: () => object, file: TaskScript = () => ({ body: FILM })): Promise<Stage> {
  let polls = 0
  const cloud = await startTaskUpstream(t, ({ target }) => {
    if (target === `${MODEL}:predictLongRunning`) return { body: { name: OPERATION } }
    if (target !== `${MODEL}:fetchPredictOperation`) return { status: 404 }
    return { body: polls++ % 2 === 0 ? { name: OPERATION } : { name: OPERATION, done: true, ...operation() } }
  })
  const bucket = await startTaskUpstream(t, file, '127.0.0.2')
  const metadata = createServer((_, response) => {
    const token = { access_token: TOKEN.slice('Bearer '.length), expires_in: 3600, token_type: 'Bearer' }
    response
      .writeHead(200, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
      .end(JSON.stringify(token))
  })
  const tokens = await listening(t, metadata)
  // The shipped kind, but for the address of the storage.
  const kind = readFileSync(join(packageRoot(), 'routes', 'kinds', 'vertex.yaml'), 'utf8')
    .replace('https://storage.googleapis.com', bucket.origin)
    .replace('[storage.googleapis.com]', `["127.0.0.2:${bucket.port}"]`)
    .replace('every: 10s', 'every: 20ms')
  const yaml = `version: 1
store: { type: file, path: ./data }
${CALLER}
media: { fetch: { allow: [127.0.0.2], http: true, ports: [${bucket.port}] } }
kinds:
  vertex:
${kind.replaceAll(/^/gm, '    ')}
upstreams: { vertex: { kind: vertex, base: "${cloud.origin}${PLACE}" } }
models: { veo: { upstream: vertex, as: veo-3.0-generate-001 } }
prices: { veo: { video_second: 0.40 } }
`
  const env = { GCE_METADATA_HOST: `127.0.0.1:${tokens}`, HOME: '/nowhere' }
  return { gateway: await startTestGateway(t, yaml, { env }), cloud, bucket }
}

async function made(gateway: TestGateway, body: object): Promise<string> {
  const begun = await gateway.request('/v1/videos', { body: { model: 'veo', prompt: 'A cat', ...body } })
  if (begun.status !== 200) throw new Error(begun.text)
  const { id } = begun.json() as { id: string }
  await gateway.log.find(line => line.msg === 'task changed' && line.task === id && ENDS.has(line.to))
  return id
}

const ENDS: ReadonlySet<unknown> = new Set(['succeeded', 'failed', 'cancelled'])
const GENERATED = 'type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse'

t.test('a video whose bytes are in the answer: its operation, its bytes, its cost', async t => {
  const videos = [{ bytesBase64Encoded: FILM.toString('base64'), mimeType: 'video/mp4' }]
  const { gateway, cloud } = await stage(t, () => ({
    response: { '@type': GENERATED, raiMediaFilteredCount: 0, videos },
  }))
  const image = 'data:image/png;base64,iVBORw0KGgo='
  const id = await made(gateway, { seconds: '6', size: '720x1280', input_reference: { image_url: image } })
  const [submit, first, second] = cloud.requests.items
  t.same(submit?.json(), {
    instances: [{ prompt: 'A cat', image: { mimeType: 'image/png', bytesBase64Encoded: 'iVBORw0KGgo=' } }],
    parameters: { durationSeconds: 6, aspectRatio: '9:16' },
  })
  t.same(first?.json(), { operationName: OPERATION })
  t.same(second?.target, `${MODEL}:fetchPredictOperation`)
  for (const { headers } of cloud.requests.items) t.equal(headers.authorization, TOKEN)
  const record = await gateway.request(`/v1/videos/${id}`)
  t.match(record.json(), { status: 'completed', model: 'veo', seconds: '6', size: '720x1280' })
  const content = await gateway.request(`/v1/videos/${id}/content`)
  t.equal(content.header('content-type'), 'video/mp4')
  t.same(content.body, FILM)
  const { plan } = gateway.gateway
  await gateway.gateway.close()
  t.match(await ledgerRecords({ gateway: { plan } }), [{ cost: 2_400_000, units: { video_second: 6 }, model: 'veo' }])
})

t.test('a video in a bucket is fetched with the account that made it', async t => {
  const videos = [{ gcsUri: 'gs://films/cats/sample_0.mp4', mimeType: 'video/mp4' }]
  const { gateway, bucket } = await stage(
    t,
    () => ({ response: { '@type': GENERATED, videos } }),
    // It is asked again, with the same token.
    (_, { requests }) => (requests.items.length === 1 ? { status: 503 } : { body: FILM }),
  )
  const id = await made(gateway, { parameters: { storageUri: 'gs://films/', sampleCount: 4, durationSeconds: 4 } })
  const content = await gateway.request(`/v1/videos/${id}/content`)
  t.same(content.body, FILM, content.text.slice(0, 200))
  const tries = bucket.requests.items.map(({ target, headers }) => [target, headers.authorization])
  t.same(tries, Array(2).fill(['/films/cats/sample_0.mp4', TOKEN]))
  const { plan } = gateway.gateway
  await gateway.gateway.close()
  t.match(await ledgerRecords({ gateway: { plan } }), [{ units: { video_second: 8 } }], 'one of the usual length')
})

t.test('a host that a bucket redirects to gets no token, and a refusal there is reported as one', async t => {
  const videos = [{ gcsUri: 'gs://films/a.mp4' }]
  const moved: TaskScript = ({ target }) =>
    target === '/films/a.mp4' ? { status: 302, headers: { location: '/elsewhere.mp4' } } : { body: FILM }
  const { gateway, bucket } = await stage(t, () => ({ response: { videos } }), moved)
  const id = await made(gateway, {})
  t.same((await gateway.request(`/v1/videos/${id}/content`)).body, FILM)
  t.equal(bucket.requests.items[1]?.headers.authorization, undefined)
  bucket.script = () => ({ status: 403 })
  t.equal((await gateway.request(`/v1/videos/${id}/content`)).status, 502)
})

const FAILURES: readonly (readonly [title: string, operation: object, status: string, error: object])[] = [
  [
    'an error',
    { error: { code: 3, message: 'The prompt is too long.' } },
    'failed',
    { code: 'invalid_argument', message: 'The prompt is too long.' },
  ],
  ['a cancelled operation', { error: { code: 1, message: 'CANCELLED' } }, 'cancelled', { code: 'cancelled' }],
  [
    'a filtered video',
    {
      response: { '@type': GENERATED, raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['Refused. Code: 29310472'] },
    },
    'failed',
    { message: 'Refused. Code: 29310472' },
  ],
  ['nothing', { response: { '@type': GENERATED } }, 'failed', { code: 'no_artifact' }],
]

t.test('what ends otherwise is reported, and costs nothing', async t => {
  const operations = FAILURES.map(([, operation]) => operation)
  const { gateway } = await stage(t, () => operations.shift() ?? {})
  for (const [title, , state, error] of FAILURES) {
    const id = await made(gateway, { seconds: '4' })
    t.match((await gateway.request(`/v1/videos/${id}`)).json(), { status: 'failed', error }, title)
    t.ok(gateway.log.items.some(line => line.task === id && line.to === state))
    t.equal((await gateway.request(`/v1/videos/${id}/content`)).status, 404)
  }
  const { plan } = gateway.gateway
  await gateway.gateway.close()
  t.strictSame(await ledgerRecords({ gateway: { plan } }), [])
})

proveNoLeak(t)
