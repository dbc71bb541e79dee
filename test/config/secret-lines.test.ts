import t from 'tap'
import { holdsSecret, looksLikeKey } from '../../src/config/secret-lines.js'

function hides(text: string, number = 1): boolean {
  const lines = text.split('\n')
  return holdsSecret({ line: at => lines[at - 1] ?? '' }, number)
}

const HIDDEN = [
  'secret: abc',
  'secret: "abc',
  '    secret: &a abc',
  'north: { kind: x, secret: abc }',
  'secret: [{ env: A }, abc]',
  'secret: {abc}',
  'secret: -abc',
  'secret: { env: abc-def }',
  'env: sk_live_abc',
  'hash: abc',
  'secrets: abc',
  'sceret: abc',
  'api_key: abc',
  'apikey: abc',
  'key: abc',
  'token: abc',
  'password: abc',
  'Authorization: Bearer abc',
  'x-api-key: abc',
  '# secret: abc',
  'base: https://me:abc@north.example',
  'base: https://north.example/?api_key=abc',
  'keys: { me: abc }',
  'keys: [abc, def]',
  'as: sk-Zq8Xw3vT1n',
]

for (const line of HIDDEN) {
  t.test(`a line such as ${line} is not shown`, async t => {
    t.ok(hides(line))
  })
}

const SHOWN = [
  'secret: { env: NORTH_API_KEY }',
  'secret: { evn: NORTH_API_KEY }',
  'secret: { file: ./north.key }',
  'secret:',
  'secret: # below',
  'secret: [{ env: A }, { env: B }]',
  'secret: [',
  `hash: "sha256:${'0'.repeat(64)}"`,
  'credential: { in: header, name: authorization, scheme: Bearer }',
  'max_tokens: 5',
  'rename: { max_tokens: max_completion_tokens }',
  'key: ./tls/key.pem',
  'keys: { me: { secret: { env: A } } }',
  'as: Meta-Llama-3.1-405B-Instruct-Turbo',
  'as: accounts/fireworks/models/qwen2p5-72b-instruct',
  'base: https://api.north.example:8443/v1/2024-10-21',
]

for (const line of SHOWN) {
  t.test(`a line such as ${line} is shown`, async t => {
    t.notOk(hides(line))
  })
}

t.test('a line below a secret that belongs to it is not shown', async t => {
  t.ok(hides('secret: |\n  abc\n', 2))
  t.ok(hides('secret:\n  abc\n', 2))
  t.ok(hides('secret:\n- abc\n', 2))
  t.ok(hides('secret:\n  - { env: A }\n  - abc\n', 3))
  t.ok(hides('keys:\n  me: abc\n', 2))
})

t.test('a line below a secret that refers to one is shown', async t => {
  t.notOk(hides('secret:\n  env: NORTH_API_KEY\n', 2))
  t.notOk(hides('keys:\n  me: { secret: { env: A } }\n', 2))
  t.notOk(hides('secret: { env: A }\nmodels: [swift]\n', 2))
})

t.test('runs of letters with scattered digits look like keys, names with versions do not', async t => {
  for (const text of ['Zq8Xw3vT1nB', 'sk-proj-a1b2c3d4e5f6', 'AbCdEfGhIjKlMnOpQrStUvWx1'])
    t.ok(looksLikeKey(text), text)
  for (const text of ['swift-large-2025-08-07', 'text-embedding-3-small', 'gpt4o-mini', 'deployment', 'KEY_OPS'])
    t.notOk(looksLikeKey(text), text)
})

t.test('F-C12 a megabyte on one line is judged at once', async t => {
  for (const piece of ['x', 'x:', '{', ' ', '"', 'x: ', '[{}'])
    t.type(hides(piece.repeat(1_000_000 / piece.length)), 'boolean')
})

t.test('a line that is too long to be judged whole is not shown', async t => {
  const models = Array.from({ length: 40 }, (_, n) => `"model-${n}":"up"`).join()
  t.ok(hides(`{"models":{${models}},"headers":{"x-api-key":"words of a key"}}`, 1))
})

t.test('keys that are listed are not shown', async t => {
  t.ok(hides('keys:\n  - some-words-of-a-key', 2))
  t.notOk(hides('keys:\n  - { secret: { env: TEAM_KEY } }', 2))
})
