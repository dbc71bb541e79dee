import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { load } from '../../src/config/load.js'
import { packageRoot } from '../../src/core/package-root.js'
import { folderWith } from './support.js'

// Files as people write them who have just come: each slip is one finding, which says what to do.

const HEAD = 'version: 1\nkeys: { me: { secret: { hash: "sha256:DIGEST" } } }\n'.replace('DIGEST', '0'.repeat(64))
const UPSTREAM = 'upstreams: { sim: { kind: simulator } }\n'
const MODEL = 'models: { a: sim }\n'

/** `line:column message → suggestion` of each problem. */
async function findings(t: Test, text: string): Promise<readonly string[]> {
  const file = join(folderWith(t, { 'gateway.yaml': text }), 'gateway.yaml')
  const { problems } = await load({ file, env: {}, secrets: 'assume' })
  return problems.map(
    ({ position: { line, column }, message, suggestion }) =>
      `${line}:${column} ${message}${suggestion === undefined ? '' : ` → ${suggestion}`}`,
  )
}

const SLIPS: readonly (readonly [title: string, text: string, ...found: readonly string[]])[] = [
  [
    'entries that are not indented',
    `${HEAD}${UPSTREAM}models:\na: sim\nb: [sim]\n`,
    '5:1 "a" is not indented, so it is not under "models"; indent it',
  ],
  [
    'a section that is indented',
    `${HEAD}upstreams:\n  sim: { kind: simulator }\n  models:\n    a: sim\n    b: sim\n`,
    '5:3 "models" is indented, so it belongs to "upstreams"; unindent its line and those below it',
  ],
  [
    'members that are beside their entry',
    `${HEAD}upstreams:\n  sim:\n  kind: simulator\n  headers: { a: b }\nmodels: { a: sim }\n`,
    '5:3 "kind" is beside "sim", not under it; indent it by two more spaces',
  ],
  [
    'a member that is indented deeper than the one above',
    `${HEAD}${UPSTREAM}models:\n  a:\n    upstream: sim\n      as: large\n`,
    '7:7 this is indented deeper than the line above, which already has a value',
  ],
  [
    'entries with dashes',
    `${HEAD}${MODEL}upstreams:\n  - name: sim\n    kind: simulator\n`,
    '5:3 expected a mapping (name: value), but found a list; entries have names here instead of dashes: upstreams: { NAME: … }',
  ],
  ['an empty file', '', '1:1 the file is empty; `gateway init` writes a first one'],
  ['a file of comments', '# nothing yet\n', '1:1 the file is empty; `gateway init` writes a first one'],
  [
    'one value in the place of a section',
    `${HEAD}${UPSTREAM}${MODEL}listen: 8080\nlog: debug\nretry: 3\nstore: memory\n`,
    '5:9 expected a mapping (name: value), but found the number 8080 → { port: 8080 }',
    '6:6 expected a mapping (name: value), but found a text → { level: debug }',
    '7:8 expected a mapping (name: value), but found the number 3 → { attempts: 3 }',
    '8:8 expected a mapping (name: value), but found a text → { type: memory }',
  ],
  [
    'quotes where none belong',
    `${HEAD.replace('version: 1', 'version: "1"')}${UPSTREAM}${MODEL}listen: { port: "8080" }\nretry: { on: ["429"] }\n`,
    '1:10 expected 1: the version of the configuration language; remove the quotes',
    '5:17 expected a port, a number from 0 to 65535; remove the quotes',
    '6:15 expected connect, reset, first_byte, silent_stream, bad_response, queue, 4xx or 5xx, or a status such as 429, but found "429"; remove the quotes',
  ],
  [
    'quotes of a word processor',
    `version: 1\nkeys: { me: { secret: { env: “GATEWAY_KEY” } } }\n${UPSTREAM}${MODEL}`,
    '2:30 expected the name of an environment variable (letters, digits and _), such as NORTH_API_KEY; the secret itself is never written here; YAML does not know these quotes: write " or \'',
  ],
  [
    'a star without quotes inside brackets',
    `${HEAD}${UPSTREAM}models: { *: sim }\n`,
    '4:11 a name that starts with * needs quotes: "*"',
  ],
  [
    'models as other programs name them',
    `${HEAD}${UPSTREAM}models:\n  a: sim, sim\n  b: sim/gpt-4o\n  c: [sim/org/model]\n`,
    '5:6 expected the name of one upstream; write several as a list → [sim, sim]',
    '6:6 expected the name of an upstream; write its model beside it → { upstream: sim, as: gpt-4o }',
    '7:7 expected the name of an upstream; write its model beside it → { upstream: sim, as: org/model }',
  ],
  [
    'settings of requests at a model',
    `${HEAD}${UPSTREAM}models:\n  a: { upstream: sim, temperature: 0.2 }\n  b: { upstream: sim, models: [x], route: fallback }\n`,
    '5:23 unknown key "temperature": change requests: request: [{ default: { temperature: 0.2 } }] (set overwrites the client\'s value)',
    '6:23 unknown key "models": fallbacks are a list of targets: models: { NAME: [FIRST, SECOND] }',
    '6:36 unknown key "route": fallbacks are a list of targets: models: { NAME: [FIRST, SECOND] }',
  ],
  [
    'changes that are no list',
    `${HEAD}${UPSTREAM}models:\n  a: { upstream: sim, request: { set: { temperature: 1 } } }\n`,
    '5:32 expected a list such as [a, b], but found a mapping; write it as a list: [ ], or with a dash',
  ],
  [
    'failures as other programs name them',
    `${HEAD}${UPSTREAM}${MODEL}retry: { on: [timeout] }\n`,
    '5:15 expected connect, reset, first_byte, silent_stream, bad_response, queue, 4xx or 5xx, or a status such as 429, but found "timeout" → first_byte',
  ],
  [
    'kinds as people call them',
    `${HEAD}upstreams: { a: { kind: claude }, b: { kind: azure }, c: { kind: nonesuch } }\nmodels: { a: [a, b, c] }\n`,
    '3:25 no kind of upstream is called "claude" → anthropic',
    '3:46 no kind of upstream is called "azure" → azure-openai',
    '3:66 no kind of upstream is called "nonesuch"; gateway init --provider list prints them',
  ],
  [
    'settings as other programs name them',
    `${HEAD}${UPSTREAM}${MODEL}listen: { address: 127.0.0.1 }\nlog: { file: gateway.log }\nlimits: { rate: 5, max_body: 1MiB }\ntimeouts: { request: 5s }\nretry: { max_retries: 2, backoff: 1s }\n`,
    '5:11 unknown key "address": the address to listen on → host',
    '6:8 unknown key "file": where lines go: log: { to: { file: PATH } } → to',
    '7:11 unknown key "rate": requests in a window are a limit of a key, a group, a model or an upstream: limits: { requests: 60/min }',
    '7:20 unknown key "max_body": the largest body of a request → body',
    '8:13 unknown key "request": the time limit of a whole exchange → total',
    '9:10 unknown key "max_retries": attempts in all, the first included → attempts',
    '9:26 unknown key "backoff": the first wait before a target is asked again → wait',
  ],
  [
    'the place of a secret, but not under secret',
    `version: 1\nkeys: { me: { env: GATEWAY_KEY } }\n${UPSTREAM}${MODEL}`,
    '2:15 unknown key "env": write under secret where to find it: secret: { env: NAME } → secret',
  ],
  [
    'protocols by other names, which the path shows',
    `${HEAD}upstreams: { a: { base: https://a.example, speaks: { chat: POST /v1/chat/completions, openai: POST /v1/responses } } }\nmodels: { a: a }\n`,
    '3:87 no route has the protocol "openai", so this is never called → responses',
  ],
  [
    'paths without a method, and methods without a path',
    `${HEAD}${MODEL}upstreams:\n  sim: { base: https://a.example, speaks: { chat: /v1/chat/completions } }\nroutes:\n  /v1/x: off\n  POST v1/y: { protocol: chat, upstream: sim }\n  POST /v1/z: chat\n`,
    '5:51 expected a method and a path, such as POST /v1/chat/completions, or off → POST /v1/chat/completions',
    '7:3 expected a method in capital letters (WS for WebSockets), a space and a path, such as POST /v1/chat/completions → POST /v1/x',
    '8:3 expected a method in capital letters (WS for WebSockets), a space and a path, such as POST /v1/chat/completions → POST /v1/y',
    '9:15 expected a mapping such as { protocol: chat }, or off, but found "chat"',
  ],
]

for (const [title, text, ...expected] of SLIPS) {
  t.test(title, async t => {
    const found = await findings(t, text)
    t.equal(found.length, expected.length, found.join('\n'))
    for (const [index, one] of expected.entries()) t.ok(found[index]?.startsWith(one), found[index] ?? one)
  })
}

t.test('words of earlier versions are not words any more, and lead to words of today', t => {
  let count = 0
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { properties = {}, 'x-renamed': renamed = {} } = node as Record<string, Record<string, string>>
    for (const [old, present] of Object.entries(renamed)) {
      count += 1
      t.notOk(Object.hasOwn(properties, old), old)
      t.ok(Object.hasOwn(properties, present.split(':', 1)[0] ?? ''), present)
    }
    for (const inner of Object.values(node)) walk(inner)
  }
  for (const name of ['gateway', 'routes'])
    walk(JSON.parse(readFileSync(join(packageRoot(), `schemas/${name}.schema.json`), 'utf8')))
  t.ok(count > 0)
  t.end()
})

t.test('a section below an empty one is not one of its entries', async t => {
  const schema = JSON.parse(readFileSync(join(packageRoot(), 'schemas/gateway.schema.json'), 'utf8'))
  for (const section of Object.keys(schema.properties).filter(name => name !== 'version')) {
    const found = await findings(t, `${HEAD}${UPSTREAM}models:\n${section === 'models' ? '' : `${section}:\n`}`)
    t.notMatch(found.join('\n'), 'is not indented', section)
    t.match(found.join('\n'), '4:1 expected a mapping (name: value), but found nothing', section)
  }
})

t.test('names of sections are names of entries where the section itself is in its place', async t => {
  const text = `${HEAD}upstreams: { models: { kind: simulator }, keys: { kind: simulator, zzz: 1 } }\nmodels: { keys: models, routes: keys }\n`
  t.strictSame(
    (await findings(t, text)).map(one => one.slice(0, 30)),
    ['3:68 unknown key "zzz"'],
  )
})
