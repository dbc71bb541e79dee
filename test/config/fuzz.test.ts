import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { BASE, tryLoad } from './support.js'

const CANARY = 'sk-canary-Zq8Xw3vT1n'

const GOOD = `version: 1
listen: { host: 127.0.0.1, port: 8080 }
limits: { body: 20MiB, headers: 30s }
include: [parts/*.yaml]
keys:
  ops: { secret: { env: KEY_OPS }, models: ["*"] }
  search:
    secret:
      - env: KEY_SEARCH
      - file: ./search.key
    expires: 2999-12-31
upstreams:
  sim: { kind: simulator }
  north:
    base: https://\${NORTH_HOST:-north.example}
    credential: { in: header, name: authorization, scheme: Bearer, secret: { env: NORTH_API_KEY } }
    headers: { x-version: "3" }
    speaks:
      chat: POST /v1/chat/completions
      embeddings: { call: POST /v1/embed, request: [{ rename: { input: texts } }] }
  west:
    kind: compass
    secret: ${CANARY}
models:
  swift-large:
    - { upstream: north, as: swift-large-2025, weight: 3 }
    - { upstream: sim, weight: 1 }
  "sim-*": sim
routes:
  POST /v1/things/{id}: { protocol: chat, model: body.model, stream: body.stream }
  GET /v1/models: off
`
const PART = 'models:\n  part: sim\n'
const ENV = { KEY_OPS: CANARY, KEY_SEARCH: `${CANARY}-2`, NORTH_API_KEY: `${CANARY}-3` }

/** Bytes, lines and words of the file are removed, doubled, swapped and replaced; the same number gives the same file. */
function mutate(text: string, seed: number): Buffer {
  let state = (seed + 1) * 2654435761
  const random = (below: number): number => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) ^ 3266489917) >>> 0
    return state % below
  }
  const lines = text.split('\n')
  const at = random(lines.length)
  const line = lines[at] ?? ''
  const column = random(line.length + 1)
  const pieces = [
    '[',
    ']',
    '{',
    '}',
    '"',
    "'",
    ':',
    ': ',
    '- ',
    '\t',
    '*',
    '&a ',
    '#',
    '|',
    '>',
    '%',
    '@',
    '\u0000',
    '\u2028',
    '🚀',
    '${',
    '\r',
    '? ',
    '!',
    '---\n',
    ', ',
  ]
  const piece = pieces[random(pieces.length)] ?? ''
  switch (random(9)) {
    case 0:
      lines.splice(at, 1)
      break
    case 1:
      lines.splice(at, 0, line)
      break
    case 2:
      lines[at] = line.slice(0, column) + piece + line.slice(column)
      break
    case 3:
      lines[at] = line.slice(0, column) + line.slice(column + 1)
      break
    case 4:
      lines[at] = `  ${line}`
      break
    case 5:
      lines[at] = line.replace(/^ {2}/, '')
      break
    case 6:
      lines[at] = line.replace(/\w+/, word => word.split('').reverse().join(''))
      break
    case 7:
      lines.length = at
      break
    default:
      lines[at] = line.replace(/[\w.]+(?=[^\w]*$)/, ['null', '-1', 'true', '[]', '{}', '1e999', '*'][random(7)] ?? '')
  }
  const bytes = Buffer.from(lines.join('\n'))
  if (random(12) === 0 && bytes.length > 0) bytes[random(bytes.length)] = 0x80 + random(0x80)
  return bytes
}

t.test(
  'F-R1 200 mutated configurations each give a configuration or problems with positions, and never a secret',
  async t => {
    let failed = 0
    for (let seed = 0; seed < 200; seed++) {
      const files = { 'gateway.yaml': mutate(GOOD, seed), 'parts/a.yaml': PART, 'search.key': `${CANARY}-4\n` }
      const { config, problems, text } = await tryLoad(t, files, { env: ENV })
      const everything = `${text}\n${JSON.stringify(problems)}`
      if (everything.includes(CANARY)) t.fail(`the mutation ${seed} shows a secret`, { text })
      if (/\bat .*\.js:\d/.test(text)) t.fail(`the mutation ${seed} shows a stack trace`, { text })
      if (config !== undefined) continue
      failed++
      const placed =
        problems.length > 0 && problems.every(problem => problem.position.line >= 1 && problem.position.column >= 1)
      if (!placed) t.fail(`the mutation ${seed} has a problem without a position`, { problems })
    }
    t.ok(failed > 100, `most mutations are refused (${failed})`)
  },
)

t.test('F-R1 every golden configuration cut off at each of its lines gives problems, never an exception', async t => {
  const folder = join(packageRoot(), 'test/golden/config')
  const text = readFileSync(join(folder, 'whole-language.txt'), 'utf8')
  const whole = text.slice(text.indexOf('version: 1'), text.indexOf('--- file: parts'))
  const lines = whole.split('\n')
  for (let end = 0; end < lines.length; end++) {
    const { config, problems } = await tryLoad(t, lines.slice(0, end).join('\n'))
    t.ok(config !== undefined || problems.length > 0)
  }
  t.ok(readdirSync(folder).length > 0)
})

t.test('F-R1 a file of 10 MiB is refused by its size, unread', async t => {
  const { text } = await tryLoad(t, { 'gateway.yaml': `${BASE}${'# padding\n'.repeat(1024 * 1024)}` })
  t.match(
    text,
    /^gateway\.yaml:1:1 {2}the file is too large: it has 10\d+ bytes; 1048576 are allowed; move entries into files of their own, and list those under include\n$/,
  )
})

t.test('F-R1 an alias bomb is refused in time and memory that do not grow with it', async t => {
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x]']
  for (let level = 1; level < 26; level++) {
    const [name, inner] = [String.fromCharCode(97 + level), String.fromCharCode(96 + level)]
    bomb.push(`${name}: &${name} [${Array(10).fill(`*${inner}`).join(', ')}]`)
  }
  const { reported } = await tryLoad(t, bomb.join('\n'))
  t.same(reported, ['alias-bomb 4:36'])
})

for (const [name, text] of Object.entries({
  'a million opening brackets': '['.repeat(1_000_000),
  'a million closing brackets': ']'.repeat(1_000_000),
  'list items on one line': '- '.repeat(200_000),
  'complex keys on one line': '? '.repeat(200_000),
  'one endless quoted text': `a: "${'x'.repeat(1_000_000)}`,
  'one endless word': 'x'.repeat(1_000_000),
  'a line of colons': 'b: '.repeat(200_000),
})) {
  t.test(`F-R1 ${name} is refused with one problem`, async t => {
    const { problems } = await tryLoad(t, text)
    t.equal(problems.length, 1)
    t.equal(problems[0]?.severity, 'error')
  })
}
