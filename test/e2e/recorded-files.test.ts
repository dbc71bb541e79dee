import { join } from 'node:path'
import t, { type Test } from 'tap'
import { body, json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { type Cassette, type CassetteExchange, cassettesIn } from '../helpers/cassettes.js'
import { relaysAnything } from '../helpers/emitted.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { recordingsFile, referenceFolder } from '../helpers/recordings.js'

// Files as real clients of other languages sent them, and as providers answered: uploaded, named in requests, read and
// deleted. What the provider got is what the client sent, and what the client gets is what the provider answered.

relaysAnything()

const FOLDERS = ['ruby_llm', 'ruby-openai', 'pydantic-ai', 'dd-trace-py', 'js-genai', 'llm-gemini', 'openllmetry']
const OF_FILES = /(?:uri|url): \S+\/(?:v1|v1beta)\/files/

const recorded = recordingsFile() !== undefined
const CASSETTES: readonly Cassette[] = recorded
  ? FOLDERS.flatMap(folder => cassettesIn(join(referenceFolder(), 'recordings', folder), OF_FILES))
  : []

interface Stage {
  readonly upstream: RawUpstream
  readonly gateway: TestGateway
}

/** One upstream that is a provider of all of them, by the shipped declarations. */
async function stage(t: Test): Promise<Stage> {
  const upstream = await startRawUpstream(t)
  const of = (kind: string, more = ''): string =>
    `{ kind: ${kind}, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY }${more} }`
  const yaml = [
    'version: 1',
    CALLER,
    `upstreams: { compatible: ${of('openai', ', speaks: { messages: POST /v1/messages }')}, native: ${of('native-generate')} }`,
    'models: { "gemini-*": native, "*": compatible }',
  ]
  return { upstream, gateway: await startTestGateway(t, `${yaml.join('\n')}\n`) }
}

const ROUTES = [
  /^POST \/v1\/files$/,
  /^(?:GET|DELETE) \/v1\/files\/[^/]+$/,
  /^GET \/v1\/files\/[^/]+\/content$/,
  /^POST \/upload\/v1beta\/files$/,
]
/** Where files are named. */
const NAMING = [/^POST \/v1\/(?:responses|messages)$/, /^POST \/v1beta\/models\/[^/]+:generateContent$/]

const lineOf = ({ method, url }: CassetteExchange): string => `${method} ${url.pathname}`
const isOfFiles = (one: CassetteExchange): boolean => ROUTES.some(route => route.test(lineOf(one)))

/** The exchanges about files of a cassette, and those that name a file that one before them uploaded. */
function scenesOf({ exchanges }: Cassette): readonly CassetteExchange[] {
  const names: string[] = []
  return exchanges.filter(one => {
    if (NAMING.some(route => route.test(lineOf(one)))) return names.some(name => one.body.includes(name))
    if (!isOfFiles(one)) return false
    const name = one.method === 'POST' && one.answer.length > 0 ? nameIn(JSON.parse(one.answer.toString())) : undefined
    if (name !== undefined) names.push(name)
    return true
  })
}

function nameIn({ id, file }: { readonly id?: string; readonly file?: { readonly name: string } }): string | undefined {
  return id ?? file?.name
}

/** Of a recorded request: what says what its body is, and how it should be uploaded. */
function headersOf({ headers }: CassetteExchange): Record<string, string> {
  const said = Object.entries(headers).filter(([name]) => name === 'content-type' || name.startsWith('x-goog-upload-'))
  return Object.fromEntries(said)
}

/** Files of the native interface last two days: these end a century later, so that they can still be used. */
function answerOf({ answer }: CassetteExchange): Buffer {
  return Buffer.from(answer.toString('latin1').replace('"expirationTime": "20', '"expirationTime": "21'), 'latin1')
}

/** Replays one exchange. `at`: where the client continues with an upload. */
async function replay(t: Test, { upstream, gateway }: Stage, scene: CassetteExchange, at?: string): Promise<Answer> {
  const { method, url, status, answerHeaders } = scene
  const name = lineOf(scene)
  const answer = answerOf(scene)
  const headers = Object.entries(answerHeaders)
    .filter(([field]) => field === 'content-type' || field.startsWith('x-goog-upload-'))
    // The provider's address is another one here.
    .map(([field, value]) => [field, value.replace(url.origin, upstream.origin)])
  upstream.answer(body(answer, { status, headers: Object.fromEntries(headers) }))
  const asked = upstream.requests.items.length
  const got = await gateway.request(at ?? url.pathname + url.search, {
    method,
    headers: headersOf(scene),
    ...(scene.body.length === 0 ? {} : { body: scene.body }),
  })
  t.equal(got.status, status, `${name}: ${got.text}`)
  t.ok(got.body.equals(answer), `${name}: the answer came back as it was`)
  t.equal(got.header('content-type'), answerHeaders['content-type'])
  t.equal(got.header('x-goog-upload-status'), answerHeaders['x-goog-upload-status'])
  t.equal(upstream.requests.items.length, asked + 1, 'one request went out')
  const sent = upstream.requests.items.at(-1)
  t.equal(sent?.method, method)
  t.equal(sent?.target, url.pathname + url.search, `${name}: went out to where it was sent`)
  t.ok(sent?.body.equals(scene.body), `${name}: went out as it was`)
  for (const [field, value] of Object.entries(headersOf(scene))) t.equal(sent?.header(field), value, field)
  return got
}

/** Makes a file the caller's that the recording does not upload. */
async function own({ upstream, gateway }: Stage, id: string): Promise<void> {
  upstream.answer(json({ id, object: 'file', created_at: 1, bytes: 1, filename: 'f', purpose: 'user_data' }))
  await gateway.request('/v1/files', { body: 'x' })
}

for (const cassette of CASSETTES) {
  const scenes = scenesOf(cassette)
  if (scenes.length === 0) continue
  t.test(`recorded, byte for byte: ${cassette.name}`, async t => {
    const play = await stage(t)
    const known = new Map<string, unknown>()
    let goesOn: string | undefined
    for (const scene of scenes) {
      const [, id] = /^\/v1\/files\/([^/]+)/.exec(scene.url.pathname) ?? []
      if (id !== undefined && !known.has(id)) await own(play, id)
      const got = await replay(t, play, scene, goesOn)
      const address = got.header('x-goog-upload-url')
      goesOn = address?.slice(play.gateway.origin.length)
      if (address !== undefined) {
        t.ok(address.startsWith(`${play.gateway.origin}/upload/v1beta/files?upload_id=`), 'the address is one here')
        t.notOk(address.includes(scene.answerHeaders['x-guploader-uploadid'] ?? '?'), 'and tells nothing of the other')
        t.equal(got.header('x-goog-upload-control-url'), undefined, 'nor is the other told in another header')
      }
      if (!isOfFiles(scene)) continue
      if (scene.method === 'DELETE') {
        known.delete(id ?? '')
        t.equal((await play.gateway.request(scene.url.pathname, { method: 'GET' })).status, 404, 'it is gone')
      } else if (scene.method === 'POST' && got.body.length > 0) {
        const { file, ...object } = got.json() as { id?: string; file?: { name: string } }
        known.set(nameIn({ ...object, ...(file && { file }) }) ?? '', file ?? object)
        const list = await play.gateway.request(file === undefined ? '/v1/files' : '/v1beta/files', { method: 'GET' })
        const { data, files } = list.json() as { data?: unknown[]; files?: unknown[] }
        t.same(data ?? files, [...known.values()], 'the list shows it as it was told')
      }
    }
  })
}

t.test('there are recordings of files of each kind', { skip: !recorded }, async t => {
  const all = CASSETTES.flatMap(scenesOf).map(lineOf)
  const count = (pattern: RegExp): number => all.filter(line => pattern.test(line)).length
  t.ok(count(/^POST \/v1\/files/) >= 15, `${count(/^POST \/v1\/files/)} uploads`)
  t.ok(count(/^GET .*content$/) >= 2, 'contents')
  t.ok(count(/^DELETE/) >= 5, 'deletions')
  t.ok(count(/^POST \/upload/) >= 2, 'an upload by the native dance')
  t.ok(
    NAMING.every(route => count(route) >= 1),
    'and requests that name what was uploaded, of three families',
  )
  // Documents were parsed when they were recorded.
  const sized = CASSETTES.flatMap(scenesOf).filter(
    ({ headers }) => headers['content-length'] !== undefined && headers['content-type'] !== 'application/json',
  )
  t.ok(sized.length >= 5)
  for (const one of sized) t.equal(one.body.length, Number(one.headers['content-length']), 'read to the byte')
})

proveNoLeak(t)
