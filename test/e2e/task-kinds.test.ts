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
  GET /v1/songs: { task: { kind: ${kind}, action: list } }
  GET /v1/songs/{task_id}: { task: { kind: ${kind}, action: retrieve } }
  DELETE /v1/songs/{task_id}: { task: { kind: ${kind}, action: delete } }
  GET /v1/songs/{task_id}/content: { task: { kind: ${kind}, action: content } }
`

async function stage(t: Test, kind: string, script: TaskScript, kinds = ''): Promise<TestGateway> {
  const upstream = await startTaskUpstream(t, script)
  return startTestGateway(t, yamlOf(upstream.origin, routesOf(kind), kinds))
}

function yamlOf(origin: string, routes: string, kinds = ''): string {
  const speaks =
    'songs: POST /songs, songs.remix: "POST /songs/{task_id}/remix", songs.retrieve: "GET /songs/{task_id}"'
  return `version: 1
${CALLER}
store: { type: memory }
upstreams: { up: { base: "${origin}", speaks: { ${speaks} } } }
models: { singer: up }
${kinds}routes:${routes}`
}

type Json = Readonly<Record<string, unknown>>

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

t.test('everything else that tasks make comes with the type that it has, but for pages', async t => {
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

const MUSIC = `task_kinds:
  music:
    title: Song
    object: song
    members: { prompt: prompt, style: [style, genre], bpm: bpm, seconds: { from: [seconds, duration], as: text }, lyrics: lyrics }
    content: { song: [audio/mpeg, audio/*], cover: [image/png, image/*], sheet: application/pdf }
`

/** Makes a song with a cover and, where a page ought to be, an error page. */
const singer: TaskScript = ({ method, target }, { origin }) => {
  if (method === 'POST') return { body: { id: target.includes('remix') ? 'up-2' : 'up-1', status: 'queued' } }
  const type = { '/files/song': 'audio/wav', '/files/cover': 'application/octet-stream', '/files/sheet': 'text/html' }[
    target
  ]
  if (type !== undefined) return { headers: { 'content-type': type }, body: SOUND }
  const url = (name: string): string => `${origin}/files/${name}`
  const others = { status: 'failed', id: 'theirs', object: 'theirs', bpm: 121, title: 'A song' }
  return { body: { state: 'completed', made: { song: url('song'), cover: url('cover'), sheet: url('sheet') }, others } }
}

const SONGS = `
  POST /v1/songs: { protocol: songs, model: body.model, task: { kind: music } }
  POST /v1/songs/{task_id}/remix: { protocol: songs.remix, task: { kind: music, of: path.task_id } }
  GET /v1/songs: { task: { kind: music, action: list } }
  GET /v1/songs/{task_id}: { task: { kind: music, action: retrieve } }
  DELETE /v1/songs/{task_id}: { task: { kind: music, action: delete } }
  GET /v1/songs/{task_id}/content: { task: { kind: music, action: content } }
protocols:
  songs:
    task:
      id: id
      state: [state, status]
      result: { song: made.song, cover: made.cover, sheet: made.sheet }
      fields: { title: others.title, status: others.status, id: others.id, object: others.object, bpm: others.bpm }
      poll: { every: 10ms }
`

t.test('a kind of one’s own is YAML: its records, their order, its words, its content', async t => {
  const upstream = await startTaskUpstream(t, singer)
  const gateway = await startTestGateway(t, yamlOf(upstream.origin, SONGS, MUSIC))
  const get = (path: string): ReturnType<TestGateway['request']> => gateway.request(path, { method: 'GET' })
  const asked = { prompt: 'The sea', genre: 'shanty', bpm: 120, duration: 12, lyrics: ['too much'] }
  const { created_at, completed_at, expires_at, ...record } = (await made(gateway, asked)) as unknown as Json
  t.same(
    [created_at, completed_at, expires_at].map(time => typeof time),
    ['number', 'number', 'number'],
  )
  const { id } = record
  t.strictSame(record, {
    ...{ id, task_id: id, object: 'song', model: 'singer', status: 'completed', progress: 100 },
    ...{ prompt: 'The sea', style: 'shanty', bpm: 121, seconds: '12', title: 'A song', error: null },
  })
  const contents = [
    ['', 200, 'audio/wav'],
    ['?variant=song', 200, 'audio/wav'],
    ['?variant=cover', 200, 'image/png'],
    ['?variant=sheet', 502, 'application/json'],
    ['?variant=video', 400, 'application/json'],
  ] as const
  for (const [query, status, type] of contents) {
    const content = await get(`/v1/songs/${id}/content${query}`)
    t.equal(content.status, status, query)
    t.equal(content.header('content-type')?.split(';', 1)[0], type, query)
  }
  t.match((await get(`/v1/songs/${id}/content?variant=video`)).json(), {
    error: { param: 'variant', message: "'variant' must be one of song, cover, sheet." },
  })
  t.match((await get('/v1/songs')).json(), { object: 'list', data: [{ id, object: 'song' }], has_more: false })
  t.match((await get('/v1/songs/none')).json(), { error: { message: "Song with id 'none' not found." } })
  t.same(((await get('/v1/videos')).json() as { data: unknown }).data, [], 'it is none of the others')
  const gone = await gateway.request(`/v1/songs/${id}`, { method: 'DELETE' })
  t.strictSame(gone.json(), { id, object: 'song.deleted', deleted: true })
})

t.test('a kind may have nulls, a member for what one was made of, and the place of a shipped one', async t => {
  const upstream = await startTaskUpstream(t, singer)
  const kinds = `task_kinds:
  music: { object: song, nulls: true, parent: remix_of, members: { prompt: prompt, voice: voice }, content: { song: audio/wav } }
  video: { title: Clip, content: { clip: [video/mp4, video/*] } }
`
  const gateway = await startTestGateway(t, yamlOf(upstream.origin, SONGS, kinds))
  const first = await made(gateway, { prompt: 'The sea' })
  t.match(first, { prompt: 'The sea', voice: null, remix_of: null })
  const begun = await gateway.request(`/v1/songs/${first.id}/remix`, { body: { prompt: 'Once more' } })
  t.match(begun.json(), { object: 'song', prompt: 'Once more', voice: null, remix_of: first.id })
  t.match((await gateway.request('/v1/videos/none', { method: 'GET' })).json(), {
    error: { message: "Clip with id 'none' not found." },
  })
})

t.test('a kind may have any name that the schema takes', async t => {
  for (const name of ['model3d', 'Music_2', 'gone', 'a-name-of-thirty-two-characters-']) {
    const gateway = await stage(t, name, maker('audio/wav'), MUSIC.replace('  music:', `  ${name}:`))
    const { id, status } = await made(gateway, { prompt: 'The sea' })
    t.equal(status, 'completed', name)
    t.equal((await gateway.request(`/v1/songs/${id}`, { method: 'DELETE' })).status, 200)
  }
})

t.test('kinds come and go by reload: their tasks are followed while there are routes for them', async t => {
  const state = { is: 'running' }
  const script: TaskScript = (request, upstream) =>
    request.method === 'GET' && !request.target.startsWith('/files/') && state.is === 'running'
      ? { body: { state: 'running' } }
      : singer(request, upstream)
  const upstream = await startTaskUpstream(t, script)
  const without = yamlOf(upstream.origin, routesOf('audio').replaceAll('/v1/songs', '/v1/sounds'))
  const gateway = await startTestGateway(t, without)
  const reload = async (yaml: string): Promise<void> => {
    await gateway.write('gateway.yaml', yaml)
    await gateway.gateway.reload()
  }
  await reload(yamlOf(upstream.origin, SONGS, MUSIC))
  const { id } = (await gateway.request('/v1/songs', { body: { model: 'singer', prompt: 'x' } })).json() as Record_
  await gateway.log.find(line => line.task === id && line.to === 'running')
  await reload(without)
  t.equal((await gateway.request(`/v1/songs/${id}`, { method: 'GET' })).status, 404)
  state.is = 'completed'
  await reload(yamlOf(upstream.origin, SONGS, MUSIC.replace('object: song', 'object: melody')))
  await gateway.log.find(line => line.task === id && line.to === 'succeeded')
  const record = await gateway.request(`/v1/songs/${id}`, { method: 'GET' })
  t.match(record.json(), { id, object: 'melody', status: 'completed' })
  await reload(yamlOf(upstream.origin, SONGS, MUSIC))
  t.match((await gateway.request(`/v1/songs/${id}`, { method: 'GET' })).json(), { id, object: 'song' }, 'also at once')
})

proveNoLeak(t)
