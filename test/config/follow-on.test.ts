import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { load } from '../../src/config/load.js'
import { formatProblems } from '../../src/config/problems.js'
import { packageRoot } from '../../src/core/package-root.js'
import { folderWith } from './support.js'

// A fault is reported once, where it is: names that are unknown only because of it are not findings of their own.

t.setTimeout(120_000)

type Mapping = Record<string, unknown>

/** Every section, and references between all that can refer to one another. */
const WHOLE = `version: 1
listen: { host: 127.0.0.1, port: 8080 }
limits: { body: 8MiB, in_flight: 100 }
timeouts: { connect: 5s, first_byte: 30s, total: 5m }
retry: { attempts: 3, on: [connect, 503] }
store: { type: file, path: ./data }
spool: { path: ./spool }
log: { level: info }
media: { fetch: { allow: [images.example] } }
tasks: { lease: 20s }
webhooks: { secret: { env: WEBHOOK_SECRET }, allow: [hooks.example] }
interfaces: [compatible, messages]
defaults: { caller: { in: header, name: x-api-key } }
keys:
  me: { secret: { env: GATEWAY_KEY }, models: [text, "north-*"] }
  team: { secret: { env: TEAM_KEY }, models: ["*"] }
kinds:
  north:
    base: https://north.example
    credential: { in: header, name: authorization, scheme: Bearer }
    speaks: { chat: POST /v1/chat/completions, own: "POST /own/{thing}", files: "GET /v1/things/{id}" }
upstreams:
  up: { kind: north, secret: { env: NORTH_KEY } }
  sim: { kind: simulator }
models:
  text: [up, { upstream: sim, as: sim-text }, { upstream: sim, as: sim-other }]
  "north-*": { upstream: up, protocols: [chat] }
  judge: sim
default_models: { moderations: judge, chat: text }
protocols:
  own: { end: { data: "[DONE]" } }
resource_kinds:
  thing: { id: id, list: { pages: ids, member: data } }
routes:
  "POST /own/{thing}": { protocol: own, model: body.model, schema: mine, resource: { kind: thing, action: create } }
  "GET /v1/things/{id}": { protocol: files, resource: { kind: thing, action: read } }
  "POST /v1/rerank": off
  "POST /fixed": { protocol: chat, upstream: up }
schemas:
  mine: { type: object, properties: { model: { type: string } } }
`

/** The same names, in three files. */
const MAIN = 'version: 1\ninclude: [parts/*.yaml]\nkeys:\n  me: { secret: { env: GATEWAY_KEY }, models: [text] }\n'
const PARTS = {
  'parts/models.yaml': 'models:\n  text: up\ndefault_models: { chat: text }\n',
  'parts/upstreams.yaml':
    'upstreams:\n  up: { kind: openai-compatible, base: "https://north.example", secret: { env: A } }\n',
}

const SHIPPED_FILE = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8')

/** `models` → `moedls`, `model`, `Models`. */
function misspellings(name: string): readonly string[] {
  const swapped = `${name.slice(0, 2)}${name[3]}${name[2]}${name.slice(4)}`
  const all = [swapped, name.slice(0, -1), `${name[0]?.toUpperCase()}${name.slice(1)}`]
  return all.filter(one => one !== name)
}

/** Of one section: the entries of the shipped file are many, and alike. */
const ENTRIES_TRIED = 2

const WRONG_TYPES: readonly unknown[] = ['a text', [{ a: 'b' }], null]

function renamed(content: Mapping, from: string, to: string): Mapping {
  return Object.fromEntries(Object.entries(content).map(([name, value]) => [name === from ? to : name, value]))
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What may be broken of a file, each with its title and what the file then holds. */
function* breakages(content: Mapping): Generator<readonly [string, Mapping]> {
  for (const [section, value] of Object.entries(content)) {
    for (const name of misspellings(section)) yield [`${section} is spelt ${name}`, renamed(content, section, name)]
    for (const wrong of WRONG_TYPES) {
      if (Array.isArray(wrong) && Array.isArray(value)) continue
      yield [`${section} is ${JSON.stringify(wrong)}`, { ...content, [section]: wrong }]
    }
    if (!isMapping(value)) continue
    for (const [name, entry] of Object.entries(value).slice(0, ENTRIES_TRIED)) {
      const changed = (to: unknown): Mapping => ({ ...content, [section]: { ...value, [name]: to } })
      yield [`${section}.${name} is a list of lists`, changed([[1]])]
      if (isMapping(entry)) yield [`${section}.${name} has an unknown key`, changed({ ...entry, zzz: 1 })]
    }
  }
}

async function findings(t: Test, files: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const file = join(folderWith(t, files), 'gateway.yaml')
  const { problems } = await load({ file, env: {}, secrets: 'assume' })
  return problems.map(problem => formatProblems([problem], { color: false }))
}

async function checkEach(t: Test, name: string, files: Readonly<Record<string, string>>): Promise<void> {
  t.same(await findings(t, files), [], 'there is nothing to find before')
  for (const [title, content] of breakages(parse(files[name] ?? ''))) {
    const found = await findings(t, { ...files, [name]: stringify(content) })
    t.equal(found.length, 1, `${title}:\n${found.join('')}`)
  }
}

t.test('a broken section of a file with all of them', t => checkEach(t, 'gateway.yaml', { 'gateway.yaml': WHOLE }))

t.test('a broken section of the shipped file', t => checkEach(t, 'gateway.yaml', { 'gateway.yaml': SHIPPED_FILE }))

for (const name of ['gateway.yaml', ...Object.keys(PARTS)]) {
  t.test(`a broken section of ${name}, one of several files`, async t =>
    checkEach(t, name, { 'gateway.yaml': MAIN, ...PARTS }),
  )
}

t.test('a section under a word of other programs', async t => {
  for (const [section, word] of [
    ['upstreams', 'providers'],
    ['upstreams', 'backends'],
    ['models', 'deployments'],
    ['resource_kinds', 'things'],
    ['resource_kinds', 'objects'],
  ] as const) {
    const found = await findings(t, { 'gateway.yaml': stringify(renamed(parse(WHOLE), section, word)) })
    t.equal(found.length, 1, found.join(''))
    t.match(found[0], `unknown key "${word}"`)
  }
})

t.test('a section that occurs twice', async t => {
  for (const section of ['keys', 'kinds', 'upstreams', 'models', 'resource_kinds', 'routes', 'schemas', 'retry']) {
    for (const text of [`${section}: {}\n${WHOLE}`, `${WHOLE}${section}: {}\n`]) {
      const found = await findings(t, { 'gateway.yaml': text })
      t.equal(found.length, 1, found.join(''))
      t.match(found[0], `"${section}" is set twice`)
    }
  }
})

t.test('names that are wrong themselves are still reported beside a broken section', async t => {
  const text = WHOLE.replace('moderations: judge', 'moderations: jugde').replace('rerank": off', 'rerrank": off')
  const found = await findings(t, { 'gateway.yaml': text.replace('protocols:', 'protocosl:') })
  t.equal(found.length, 3)
  t.match(found.join(''), 'did you mean "judge"?')
  t.match(found.join(''), 'did you mean "POST /v1/rerank"?')
})
