import t from 'tap'
import { tryLoad } from './support.js'

const FILES = {
  'gateway.yaml': `version: 1
include: [more.yaml]
keys:
  me: { secret: { env: GATEWAY_KEY, generate: true } }
upstreams:
  north: { kind: mine, speaks: { chat: POST /chat } }
models:
  one: north
  two: { upstream: north, as: x }
  swift-large:
    - north
    - { upstream: north, as: swift-l }
  many: { targets: [north, { upstream: north, as: m }], owner: me }
`,
  'more.yaml': `kinds:
  mine:
    kind: bearer
    base: https://mine.example
    timeouts: { idle: 1s }
routes:
  POST /v1/things: { protocol: chat, model: body.model, schema: chat.request }
`,
}

const PLACES: Readonly<Record<string, string>> = {
  'keys.me.secret': 'gateway.yaml:4:17',
  'models.one': 'gateway.yaml:8:8',
  'models.one[0].upstream': 'gateway.yaml:8:8',
  'models.two[0].as': 'gateway.yaml:9:31',
  'models.two[0]': 'gateway.yaml:9:8',
  'models.swift-large[1].as': 'gateway.yaml:12:30',
  'models.swift-large[0].upstream': 'gateway.yaml:11:7',
  'models.many[1].as': 'gateway.yaml:13:51',
  'models.many.owner': 'gateway.yaml:13:64',
  'upstreams.north.speaks.chat': 'gateway.yaml:6:40',
  'upstreams.north.base': 'more.yaml:4:11',
  'upstreams.north.timeouts.idle': 'more.yaml:5:23',
  'upstreams.north.credential.name': 'shipped/routes/kinds/bearer.yaml:3:33',
  'upstreams.north.retry.attempts': 'gateway.yaml:6:3',
  'routes["POST /v1/things"].schema': 'more.yaml:7:65',
  'routes["POST /v1/chat/completions"].protocol': 'shipped/routes/compatible.yaml:13:42',
  'protocols.chat.end': 'shipped/routes/compatible.yaml:8:10',
  version: 'gateway.yaml:1:10',
  'nothing.of.this': 'gateway.yaml:1:1',
  'models.absent': 'gateway.yaml:7:1',
  'not a path': 'gateway.yaml:1:1',
  '': 'gateway.yaml:1:1',
}

for (const [path, place] of Object.entries(PLACES)) {
  t.test(`${path || 'the empty path'} is found where it is written`, async t => {
    const { config, locate, folder } = await tryLoad(t, FILES)
    t.ok(config)
    const { position } = locate(path)
    const file = position.file.slice(
      position.file.startsWith(folder) ? folder.length + 1 : position.file.indexOf('shipped/'),
    )
    t.equal(`${file}:${position.line}:${position.column}`, place)
  })
}

t.test('a place comes with its line and length', async t => {
  const { locate } = await tryLoad(t, FILES)
  t.match(locate('models.two[0].as'), { length: 1, excerpt: '  two: { upstream: north, as: x }' })
})
