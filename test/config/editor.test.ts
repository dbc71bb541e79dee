import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { ownSchema } from '../../src/cli/own-schema.js'
import { load } from '../../src/config/load.js'
import { packageRoot } from '../../src/core/package-root.js'

// What editors run: the language service of the YAML server, with our schemas and nothing else.

interface Place {
  readonly line: number
  readonly character: number
}

interface Item {
  readonly label: string
  readonly documentation?: string | { readonly value: string }
  readonly insertText?: string
  readonly textEdit?: { readonly newText: string }
}

interface Service {
  configure(settings: object): void
  doValidation(document: object, isKubernetes: false): Promise<readonly { message: string; range: { start: Place } }[]>
  doComplete(document: object, place: Place, isKubernetes: false): Promise<{ items: readonly Item[] }>
  doHover(document: object, place: Place): Promise<{ contents: { value: string } } | null>
}

const require = createRequire(import.meta.url)
const { getLanguageService } = require('yaml-language-server/lib/umd/index.js') as {
  getLanguageService(parameters: object): Service
}
const { TextDocument } = require('vscode-languageserver-textdocument') as {
  TextDocument: { create(uri: string, language: string, version: number, text: string): object }
}

const SCHEMAS = pathToFileURL(join(packageRoot(), 'schemas/')).href

const service = getLanguageService({
  schemaRequestService: async (uri: string) => readFileSync(new URL(uri), 'utf8'),
  workspaceContext: { resolveRelativePath: (path: string, resource: string) => new URL(path, resource).href },
})
service.configure({
  validate: true,
  hover: true,
  completion: true,
  schemas: ['gateway', 'routes', 'kind'].map(name => ({
    uri: `${SCHEMAS}${name}.schema.json`,
    fileMatch: [`${name}.yaml`],
  })),
})

let count = 0
type FileName = 'gateway' | 'routes' | 'kind'

/** The server keeps parsed documents by address, so every document has its own. */
function document(text: string, name: FileName): object {
  count++
  return TextDocument.create(`file:///editor/${count}/${name}.yaml`, 'yaml', 1, text)
}

async function diagnose(text: string, name: FileName = 'gateway'): Promise<readonly string[]> {
  const found = await service.doValidation(document(text, name), false)
  return found.map(({ message, range }) => `${range.start.line + 1}:${range.start.character + 1} ${message}`)
}

/** `|` marks the cursor. */
function atCursor(marked: string): { text: string; place: Place } {
  const before = marked.slice(0, marked.indexOf('|')).split('\n')
  return { text: marked.replace('|', ''), place: { line: before.length - 1, character: before.at(-1)?.length ?? 0 } }
}

async function complete(marked: string, name: FileName = 'gateway'): Promise<readonly string[]> {
  return (await offered(marked, name)).map(item => item.label)
}

async function offered(marked: string, name: FileName = 'gateway'): Promise<readonly Item[]> {
  const { text, place } = atCursor(marked)
  const { items } = await service.doComplete(document(text, name), place, false)
  // The server's own word for any name.
  return items.filter(({ label }) => label !== 'property')
}

async function hover(marked: string, name: FileName = 'gateway'): Promise<string> {
  const { text, place } = atCursor(marked)
  return (await service.doHover(document(text, name), place))?.contents.value ?? ''
}

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: it is what people write
const GOOD: Readonly<Record<string, readonly [FileName, string]>> = {
  'a small file': ['gateway', 'version: 1\nupstreams: { sim: { kind: simulator } }\nmodels: { sim-text: sim }\n'],
  'every form of a model': [
    'gateway',
    'version: 1\nmodels:\n  a: north\n  b: { upstream: north, as: x }\n  c: [north, { upstream: south, weight: 2 }]\n  d: { targets: [north], owner: me }\n',
  ],
  'every form of a secret': [
    'gateway',
    `version: 1\nkeys:\n  a: { secret: { env: KEY_A, generate: true } }\n  b: { secret: [{ file: ./b }, { hash: "sha256:${'0'.repeat(64)}" }] }\n`,
  ],
  'variables in texts, numbers and choices': [
    'gateway',
    'version: 1\nlisten: { host: "${HOST:-::1}", port: "${PORT:-8080}" }\nlog:\n  level: ${LEVEL:-info}\nlimits: { body: "${BODY}" }\ntimeouts: { idle: "${IDLE}" }\n',
  ],
  'every verb': [
    'gateway',
    'version: 1\nupstreams:\n  north:\n    kind: bearer\n    request: [{ set: { a.b: 1 } }, { default: { c: [] } }, { rename: { d: e } }, { alias: { d: e } }, { remove: [f] }, { keep: [g] }, { wrap: h }, { wrap: { i.j: k } }]\n',
  ],
  'routes of every form': [
    'routes',
    'defaults: { caller: [{ in: header, name: x-key }, { in: query, name: key }, { in: subprotocol, prefix: key. }], errors: native }\nroutes:\n  GET /v1/models: off\n  POST /v1/x/{id}:go: { protocol: x, model: path.id, stream: true }\n  POST /v1/y: { protocol: y, model: body.model, stream: body.stream, limits: { body: 1MiB } }\n',
  ],
  'a kind': [
    'kind',
    'description: Ours\nkind: bearer\nbase: https://north.example\nspeaks: { chat: POST /v1/chat, old: off }\n',
  ],
}
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: it is what people write

for (const [title, [name, text]] of Object.entries(GOOD)) {
  t.test(`an editor finds nothing wrong with ${title}`, async t => {
    t.same(await diagnose(text, name), [])
  })
}

for (const folder of ['routes', 'routes/kinds', 'routes/tasks']) {
  for (const name of readdirSync(join(packageRoot(), folder)).filter(name => name.endsWith('.yaml'))) {
    t.test(`an editor finds the schema of ${folder}/${name} by its first line, and nothing wrong`, async t => {
      const file = join(packageRoot(), folder, name)
      const text = readFileSync(file, 'utf8')
      t.match(text, /^# yaml-language-server: \$schema=/)
      const opened = TextDocument.create(pathToFileURL(file).href, 'yaml', 1, text)
      t.same(await service.doValidation(opened, false), [])
    })
  }
}

const BAD: Readonly<Record<string, readonly [FileName, string, string]>> = {
  'an unknown top-level key': ['gateway', 'version: 1\nupsteams: {}\n', '2:1 Property upsteams is not allowed.'],
  'an unknown key of an upstream': [
    'gateway',
    'version: 1\nupstreams:\n  north:\n    bsae: https://x\n',
    '4:5 Property bsae is not allowed.',
  ],
  'a missing version': ['gateway', 'models: {}\n', '1:1 Missing property "version".'],
  'a literal secret': [
    'gateway',
    'version: 1\nupstreams:\n  north: { secret: abc }\n',
    '3:20 expected { env: NAME } or { file: path }: where to find the secret, never the secret itself',
  ],
  'a duration without its unit': [
    'gateway',
    'version: 1\ntimeouts:\n  idle: 30\n',
    '3:9 expected a duration with its unit, such as 500ms, 30s, 5m or 24h',
  ],
  'a port that is none': [
    'gateway',
    'version: 1\nlisten: { port: http }\n',
    '2:17 expected a port, a number from 0 to 65535',
  ],
  'a target without upstream': [
    'gateway',
    'version: 1\nmodels:\n  swift:\n    - { as: x }\n',
    '4:7 Missing property "upstream".',
  ],
  'an unknown verb': [
    'gateway',
    'version: 1\nupstreams:\n  north:\n    request:\n      - renam: { a: b }\n',
    '5:9 Property renam is not allowed.',
  ],
  'a method in small letters': [
    'routes',
    'routes:\n  post /v1/x: { protocol: x }\n',
    '2:3 expected a method in capital letters (WS for WebSockets), a space and a path, such as POST /v1/chat/completions',
  ],
  'a placement that does not exist': [
    'routes',
    'defaults:\n  caller: { in: headr, name: x }\n',
    '2:17 Value is not accepted. Valid values: "header", "query", "subprotocol".',
  ],
  'a log level that does not exist': [
    'gateway',
    'version: 1\nlog: { level: loud }\n',
    '2:15 Value is not accepted. Valid values: "trace", "debug", "info", "warn", "error", "fatal", "silent".',
  ],
  'a call without a method': [
    'kind',
    'speaks:\n  chat: /v1/chat\n',
    '2:9 expected a method and a path, such as POST /v1/chat/completions, or off',
  ],
}

for (const [title, [name, text, reported]] of Object.entries(BAD)) {
  t.test(`an editor marks ${title} where it is`, async t => {
    t.match(await diagnose(text, name), [reported])
  })
}

t.test('an editor offers every section at the top of the main file', async t => {
  const offered = await complete('version: 1\n|\n')
  for (const section of ['listen', 'keys', 'upstreams', 'models', 'routes', 'include', 'limits', 'store'])
    t.ok(offered.includes(section), section)
})

t.test('an editor offers the fields of an upstream that are not there yet', async t => {
  const offered = await complete('version: 1\nupstreams:\n  north:\n    kind: openai\n    |\n')
  for (const field of ['base', 'secret', 'credential', 'headers', 'speaks', 'request', 'disabled'])
    t.ok(offered.includes(field), field)
  t.notOk(offered.includes('kind'))
})

t.test('an editor offers the fields of a route, a target, a placement and a verb', async t => {
  t.ok((await complete('version: 1\nroutes:\n  POST /v1/x:\n    |\n')).includes('protocol'))
  t.ok((await complete('version: 1\nmodels:\n  swift:\n    - |\n')).includes('weight'))
  t.ok(
    (await complete('version: 1\nupstreams:\n  north:\n    credential:\n      in: header\n      |\n')).includes(
      'scheme',
    ),
  )
  t.ok((await complete('request:\n  - |\n', 'kind')).includes('rename'))
})

t.test('an editor offers the values of a choice', async t => {
  t.ok((await complete('version: 1\nstore:\n  type: |\n')).includes('memory'))
  t.ok((await complete('routes:\n  GET /v1/x:\n    answer: |\n', 'routes')).includes('models'))
})

function namesIn(folder: string): readonly string[] {
  const files = readdirSync(join(packageRoot(), folder)).filter(name => name.endsWith('.yaml'))
  return files.map(name => name.slice(0, -'.yaml'.length))
}

const KINDS = namesIn('routes/kinds')
const INTERFACES = namesIn('routes')
const FAILURES = ['connect', 'reset', 'first_byte', 'bad_response', 'queue', '4xx', '5xx', '429', '503']
const WAYS = ['an upstream', 'under another name there', 'with a fallback', 'shared by weight', 'with settings']

/** Where values are offered, and at least which. */
const OFFERED: readonly (readonly [place: string, marked: string, labels: readonly string[]])[] = [
  ['the kind of an upstream', 'version: 1\nupstreams:\n  north:\n    kind: |\n', KINDS],
  ['the kind of a kind', 'version: 1\nkinds:\n  north:\n    kind: |\n', KINDS],
  ['interfaces', 'version: 1\ninterfaces: [|]\n', INTERFACES],
  [
    'the protocol of a route',
    'version: 1\nroutes:\n  POST /x:\n    protocol: |\n',
    ['chat', 'messages', 'speech', 'rerank'],
  ],
  ['failures to retry', 'version: 1\nretry:\n  on:\n    - |\n', FAILURES],
  [
    'the secret of an upstream',
    'version: 1\nupstreams:\n  north:\n    secret: |\n',
    ['{ env: NAME }', '{ file: path }'],
  ],
  [
    'the secret of a key',
    'version: 1\nkeys:\n  team:\n    secret: |\n',
    ['{ env: NAME }', '{ env: NAME, generate: true }', '{ file: path }', '{ hash: sha256:… }'],
  ],
  ['the upstreams of a model', 'version: 1\nmodels:\n  fast: |\n', WAYS],
  [
    'what an upstream speaks',
    'version: 1\nupstreams:\n  north:\n    base: https://north.example\n    speaks:\n      |\n',
    ['chat', 'messages', 'responses', 'embeddings', 'generate'],
  ],
  ['models of requests that name none', 'version: 1\ndefault_models:\n  |\n', ['moderations', 'images.generations']],
  [
    'the protocols of a model',
    'version: 1\nmodels:\n  fast:\n    upstream: north\n    protocols:\n      - |\n',
    ['chat', 'embeddings'],
  ],
]

for (const [place, marked, labels] of OFFERED) {
  t.test(`an editor offers values for ${place}, each with a text`, async t => {
    const items = await offered(marked)
    const found = items.map(({ label }) => label)
    for (const label of labels) t.ok(found.includes(label), label)
    for (const { label, documentation } of items) {
      const text = typeof documentation === 'string' ? documentation : documentation?.value
      t.match(text, /\w{2,}.*\.$/s, label)
    }
  })

  t.test(`what an editor puts in for ${place} is valid`, async t => {
    const { text } = atCursor(marked)
    const at = marked.indexOf('|')
    for (const { label, insertText, textEdit } of await offered(marked)) {
      // As if every place that a snippet leaves open were filled with what it suggests.
      const put = (textEdit?.newText ?? insertText ?? '').replace(/\$\{\d+:([^}]*)\}/g, '$1')
      const indent = /(?:^|\n)( *)[^\n]*$/.exec(marked.slice(0, at))?.[1] ?? ''
      const filled = put.replaceAll('\n', `\n${indent}`)
      if (filled.includes('sha256:')) continue
      t.same(await diagnose(text.slice(0, at) + filled + text.slice(at)), [], `${label}: ${filled}`)
    }
  })
}

/** The server does not know its place in brackets that are empty: a first letter shows it. */
const IN_BRACKETS: readonly (readonly [marked: string, labels: readonly string[]])[] = [
  ['version: 1\nlog: { l| }\n', ['level']],
  ['version: 1\nlog: { level: d| }\n', ['debug', 'info']],
  ['version: 1\nupstreams:\n  north: { kind: openai, s| }\n', ['secret', 'speaks']],
  ['version: 1\nupstreams: { north: { kind: o| } }\n', ['openai', 'anthropic']],
  ['version: 1\nkeys: { me: { s| } }\n', ['secret', 'models', 'expires']],
  ['version: 1\nmodels: { fast: { upstream: north, a| } }\n', ['as', 'weight', 'traits']],
  ['version: 1\nroutes: { POST /x: { p| } }\n', ['protocol', 'model', 'stream']],
]

for (const [marked, labels] of IN_BRACKETS) {
  t.test(`an editor offers what fits in brackets behind the first letter: ${marked.slice(11, -1)}`, async t => {
    const found = await complete(marked)
    for (const label of labels) t.ok(found.includes(label), `${label} among ${found.join(', ')}`)
  })
}

t.test('an editor offers whole upstreams and keys', async t => {
  t.ok((await complete('version: 1\nupstreams:\n  |\n')).includes('a provider'))
  t.ok((await complete('version: 1\nkeys:\n  |\n')).includes("a caller's key"))
})

t.test('with the schema of its own file, an editor offers the names of upstreams and models', async t => {
  const text = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8')
  const folder = t.testdir({ 'gateway.yaml': text })
  const { config } = await load({ file: join(folder, 'gateway.yaml'), env: {}, secrets: 'assume' })
  if (config === undefined) throw new Error('the shipped file is valid')
  const schema = JSON.parse(readFileSync(new URL(`${SCHEMAS}gateway.schema.json`), 'utf8'))
  const uri = 'file:///own/gateway.schema.json'
  const own = getLanguageService({
    schemaRequestService: async () => JSON.stringify(ownSchema(schema, config)),
    workspaceContext: { resolveRelativePath: (path: string) => path },
  })
  own.configure({ validate: true, completion: true, schemas: [{ uri, fileMatch: ['own.yaml'] }] })
  const labels = async (marked: string): Promise<readonly string[]> => {
    const { text, place } = atCursor(marked)
    const opened = TextDocument.create(`file:///editor/${++count}/own.yaml`, 'yaml', 1, text)
    return (await own.doComplete(opened, place, false)).items.map(({ label }) => label)
  }
  for (const [marked, name] of [
    ['version: 1\nmodels:\n  fast: |\n', 'openai'],
    ['version: 1\nmodels:\n  fast:\n    upstream: |\n', 'anthropic'],
    ['version: 1\nmodels:\n  fast: { upstream: s| }\n', 'sim-chat'],
    ['version: 1\nkeys:\n  me:\n    models:\n      - |\n', 'sim-text'],
    ['version: 1\ndefault_models:\n  moderations: |\n', 'sim-moderate'],
  ] as const) {
    const found = await labels(marked)
    t.ok(found.includes(name), `${name} among ${found.join(', ')}`)
  }
  const opened = TextDocument.create('file:///editor/whole/own.yaml', 'yaml', 1, text)
  t.same(await own.doValidation(opened, false), [])
  const other = TextDocument.create('file:///editor/new/own.yaml', 'yaml', 1, 'version: 1\nmodels: { a: brand-new }\n')
  t.same(await own.doValidation(other, false), [], 'names that are new are no fault')
})

t.test('each schema has an address of its own', async t => {
  const ids = ['gateway', 'routes', 'kind'].map(name => {
    return JSON.parse(readFileSync(new URL(`${SCHEMAS}${name}.schema.json`), 'utf8')).$id as string
  })
  for (const [at, name] of ['gateway', 'routes', 'kind'].entries()) t.match(ids[at], `/${name}.schema.json`)
})

t.test('an editor explains what the cursor is on', async t => {
  t.match(await hover('version: 1\nupstreams:\n  north:\n    ba|se: https://x\n'), 'Address of the upstream')
  t.match(await hover('version: 1\nlimits: { bo|dy: 1MiB }\n'), 'Largest request body')
  t.match(await hover('version: 1\nupstreams:\n  north:\n    ki|nd: openai\n'), 'The kind of the upstream')
  t.match(await hover('version: 1\nroutes: { POST /x: { pro|tocol: chat } }\n'), "clients' protocol")
  t.match(await hover('version: 1\nmodels: { a: { upstream: x, a|s: y } }\n'), "upstream's name for the model")
  t.match(await hover('routes:\n  GET /x: { answer: models, bo|dy: none }\n', 'routes'), 'bytes that are not read')
  t.match(await hover('for|ward: { request: [x-*] }\n', 'kind'), 'Additional headers')
})
