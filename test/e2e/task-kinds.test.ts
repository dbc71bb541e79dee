import t, { type Test } from 'tap'
import { proveNoLeak } from '../helpers/canaries.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { startTaskUpstream, type TaskScript } from '../helpers/task-upstream.js'

/** Tasks that make neither videos nor images: their records and the media types of their content. */

const SOUND = Buffer.concat([Buffer.from('ID3'), Buffer.alloc(61, 7)])

/** Makes what `type` says, from the first poll on: at an address, or, for `inline`, in the answer itself. */
const maker =
  (type: string, inline = false): TaskScript =>
  ({ method, target }, upstream) => {
    if (method === 'POST') return { body: { id: 'up-1', status: 'queued' } }
    if (target.startsWith('/files/')) return { headers: { 'content-type': type }, body: SOUND }
    const result = inline ? SOUND.toString('base64') : `${upstream.origin}/files/1`
    return { body: { id: 'up-1', status: 'completed', url: result, title: 'A song' } }
  }

const routesOf = (kind: string): string => `
  POST /v1/songs: { protocol: songs, model: body.model, task: { kind: ${kind}, id: id, state: status, result: url, fields: { title: title }, poll: { every: 10ms } } }
  GET /v1/songs: { task: { kind: ${kind}, do: list } }
  GET /v1/songs/{task_id}: { task: { kind: ${kind}, do: retrieve } }
  DELETE /v1/songs/{task_id}: { task: { kind: ${kind}, do: delete } }
  GET /v1/songs/{task_id}/content: { task: { kind: ${kind}, do: content } }
`

async function stage(t: Test, kind: string, script: TaskScript): Promise<TestGateway> {
  const upstream = await startTaskUpstream(t, script)
  const speaks = 'songs: POST /songs, songs.retrieve: "GET /songs/{task_id}"'
  return startTestGateway(
    t,
    `version: 1
${CALLER}
store: { type: memory }
upstreams: { up: { base: "${upstream.origin}", speaks: { ${speaks} } } }
models: { singer: up }
routes:${routesOf(kind)}`,
  )
}

interface Record_ {
  readonly id: string
  readonly status: string
}

/** The record of a task that has ended. */
async function made(gateway: TestGateway, body: Record<string, unknown>): Promise<Record_> {
  const answer = await gateway.request('/v1/songs', { body: { model: 'singer', ...body } })
  let record = answer.json() as Record_
  for (let polls = 0; polls < 1000 && (record.status === 'queued' || record.status === 'in_progress'); polls++) {
    record = (await gateway.request(`/v1/songs/${record.id}`, { method: 'GET' })).json() as Record_
  }
  return record
}

for (const inline of [false, true]) {
  t.test(
    `sound ${inline ? 'in the answer' : 'at an address'} has records of its own, and comes as what it is`,
    async t => {
      const gateway = await stage(t, 'audio', maker('audio/mpeg', inline))
      const record = await made(gateway, { prompt: 'A song of the sea', voice: 'alto', duration: 12 })
      t.match(record, {
        ...{ object: 'audio', model: 'singer', status: 'completed', progress: 100, error: null },
        ...{ prompt: 'A song of the sea', voice: 'alto', seconds: '12', title: 'A song' },
      })
      t.equal('remixed_from_video_id' in record, false)
      t.equal('size' in record, false)
      const content = await gateway.request(`/v1/songs/${record.id}/content`, { method: 'GET' })
      t.equal(content.status, 200, content.text)
      t.equal(content.header('content-type'), 'audio/mpeg')
      t.ok(content.body.equals(SOUND))
      const list = await gateway.request('/v1/songs', { method: 'GET' })
      t.match(list.json(), { object: 'list', data: [{ id: record.id, object: 'audio' }] })
      const other = await gateway.request(`/v1/songs/${record.id}/content?variant=video`, { method: 'GET' })
      t.match(other.json(), { error: { param: 'variant', message: /audio, image, text/ } })
      t.match((await gateway.request('/v1/videos', { method: 'GET' })).json(), { data: [] }, 'and is no video')
      t.match((await gateway.request(`/v1/videos/${record.id}`, { method: 'GET' })).json(), {
        error: { message: /^Video/ },
      })
      const gone = await gateway.request(`/v1/songs/${record.id}`, { method: 'DELETE' })
      t.strictSame(gone.json(), { id: record.id, object: 'audio.deleted', deleted: true })
      t.match((await gateway.request('/v1/songs/none', { method: 'GET' })).json(), {
        error: { message: "Audio with id 'none' not found." },
      })
    },
  )
}

t.test('whatever else tasks make comes with the type that it has, but for pages', async t => {
  for (const type of ['model/gltf-binary', 'application/zip', 'text/csv', 'video/mp4']) {
    const gateway = await stage(t, 'media', maker(type))
    const record = await made(gateway, { prompt: 'A chair', format: 'glb' })
    t.match(record, { object: 'media', status: 'completed', prompt: 'A chair', format: 'glb', title: 'A song' })
    const content = await gateway.request(`/v1/songs/${record.id}/content`, { method: 'GET' })
    t.equal(content.status, 200, content.text)
    t.equal(content.header('content-type'), type)
  }
  const gateway = await stage(t, 'media', maker('text/html'))
  const { id } = await made(gateway, { prompt: 'A chair' })
  t.equal((await gateway.request(`/v1/songs/${id}/content`, { method: 'GET' })).status, 502)
})

proveNoLeak(t)
