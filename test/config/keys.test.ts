import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { KeyConfig } from '../../src/core/config.js'
import { type Trial, tryLoad } from './support.js'

const REST = 'upstreams: { sim: { kind: simulator } }\nmodels: { sim-text: sim }\n'
const LONG = 'gw-0123456789abcdef'

async function withKeys(
  t: Test,
  keys: string,
  env: Record<string, string> = {},
  files = {},
): Promise<Trial & { readonly keys: Readonly<Record<string, KeyConfig>> }> {
  const trial = await tryLoad(t, { 'gateway.yaml': `version: 1\nkeys:\n${keys}${REST}`, ...files }, { env })
  return { ...trial, keys: trial.config?.keys ?? {} }
}

function plain(key: KeyConfig | undefined): readonly string[] {
  return (key?.secrets ?? []).map(secret => (secret.type === 'plain' ? secret.secret.reveal() : secret.type))
}

t.test('a key may use every model unless it says which', async t => {
  const { keys } = await withKeys(t, '  a: { secret: { env: A } }\n  b: { secret: { env: B }, models: [sim-*] }\n', {
    A: `${LONG}a`,
    B: `${LONG}b`,
  })
  t.same(keys.a?.models, ['*'])
  t.same(keys.b?.models, ['sim-*'])
  t.equal(keys.a?.disabled, false)
})

t.test('a secret comes from a variable or a file, without the newline at its end', async t => {
  const { keys } = await withKeys(
    t,
    '  a: { secret: { env: A } }\n  b: { secret: { file: ./b.key } }\n',
    { A: `${LONG}a` },
    { 'b.key': `${LONG}b\r\n\n` },
  )
  t.same(plain(keys.a), [`${LONG}a`])
  t.same(plain(keys.b), [`${LONG}b`])
})

t.test('a key may be known by its hash alone', async t => {
  const digest = createHash('sha256').update(LONG).digest('hex')
  const { keys } = await withKeys(t, `  a: { secret: { hash: "sha256:${digest.toUpperCase()}" } }\n`)
  t.same(keys.a?.secrets, [{ type: 'digest', sha256: digest }])
})

t.test('two secrets are valid at once', async t => {
  const { keys } = await withKeys(t, '  a: { secret: [{ env: NEW }, { env: OLD }] }\n', {
    NEW: `${LONG}1`,
    OLD: `${LONG}2`,
  })
  t.same(plain(keys.a), [`${LONG}1`, `${LONG}2`])
})

t.test('of two secrets one may be absent', async t => {
  const { keys, problems } = await withKeys(t, '  a: { secret: [{ env: NEW }, { env: OLD }] }\n', { NEW: `${LONG}1` })
  t.same(plain(keys.a), [`${LONG}1`])
  t.equal(keys.a?.absent, undefined)
  t.same(problems, [])
})

t.test('a key without a secret says which variable or file is not there', async t => {
  const { keys, text } = await withKeys(t, '  a: { secret: { env: A } }\n  b: { secret: { file: ./b.key } }\n')
  t.match(keys.a, { secrets: [], absent: 'A is not set' })
  t.match(keys.b, { secrets: [], absent: './b.key does not exist' })
  t.match(text, 'warning: no key can be used, so every request gets 401: A is not set, ./b.key does not exist')
})

t.test('a key may be made on first start, only where its variable is not set', async t => {
  const line = '  a: { secret: { env: A, generate: true } }\n'
  t.same((await withKeys(t, line)).keys.a?.secrets, [{ type: 'generated' }])
  t.same(plain((await withKeys(t, line, { A: LONG })).keys.a), [LONG])
})

t.test('a disabled key needs no secret', async t => {
  const { keys, problems } = await withKeys(
    t,
    '  a: { secret: { env: A }, disabled: true }\n  b: { secret: { env: B } }\n',
    { A: '', B: LONG },
  )
  t.match(keys.a, { secrets: [], disabled: true })
  t.same(problems, [])
})

t.test('F-R1 an empty variable or file is an error, since an empty key would admit everyone', async t => {
  t.match((await withKeys(t, '  a: { secret: { env: A } }\n', { A: '' })).reported, ['empty-secret 3:16'])
  t.match((await withKeys(t, '  a: { secret: { env: A } }\n', { A: '  ' })).reported, ['empty-secret 3:16'])
  t.match((await withKeys(t, '  a: { secret: { file: ./a } }\n', {}, { a: '\n' })).reported, ['empty-secret 3:16'])
})

t.test('a secret of several lines or other letters is an error that does not print it', async t => {
  const { reported, text } = await withKeys(t, '  a: { secret: { env: A } }\n', { A: 'gw-canary\r\nx-injected: 1' })
  t.same(reported, ['bad-secret 3:16'])
  t.notMatch(text, 'canary')
})

t.test('a short key is a warning', async t => {
  t.same((await withKeys(t, '  a: { secret: { env: A } }\n', { A: 'fifteen-letters' })).reported, ['weak-secret 3:16'])
  t.same((await withKeys(t, '  a: { secret: { env: A } }\n', { A: 'sixteen-letters!' })).reported, [])
})

t.test('two keys cannot share a secret, even where one is a hash', async t => {
  const digest = createHash('sha256').update(LONG).digest('hex')
  const { reported } = await withKeys(
    t,
    `  a: { secret: { env: A } }\n  b: { secret: { hash: "sha256:${digest}" } }\n`,
    {
      A: LONG,
    },
  )
  t.same(reported, ['shared-secret 4:16'])
})

t.test('the last day of a key ends at midnight UTC', async t => {
  const { keys } = await withKeys(t, '  a: { secret: { env: A }, expires: 2999-12-31 }\n', { A: LONG })
  t.equal(keys.a?.expires, Date.parse('3000-01-01T00:00:00Z'))
})

t.test('secrets never show in what is printed', async t => {
  const { config } = await withKeys(t, '  a: { secret: { env: A } }\n', { A: LONG })
  t.notMatch(JSON.stringify(config), LONG)
})

t.test('models of keys and groups are filled in', async t => {
  const yaml = `version: 1
groups: { team: { models: ["$\{TEAM}-*"] } }
keys: { a: { secret: { env: A, generate: true }, group: team, models: ["$\{MODEL}"] } }
${REST}`
  const { config, text } = await tryLoad(t, yaml, { env: { TEAM: 'sim', MODEL: 'sim-text' } })
  t.equal(text, '')
  t.same(config?.keys.a?.models, ['sim-text'])
  t.same(config?.groups.team?.models, ['sim-*'])
  t.same((await tryLoad(t, yaml)).reported, ['unset-variable 2:28', 'unset-variable 3:72'])
})

t.test('what a check is for is filled in', async t => {
  const yaml = `version: 1
groups: { blue: {} }
keys: { a: { secret: { env: A, generate: true } } }
checks: { guard: { type: ./guard.mjs, when: { group: ["$\{GROUP}"], header: { x-tenant: "$\{TENANT}" } } } }
${REST}`
  const files = { 'gateway.yaml': yaml, 'guard.mjs': '' }
  const { config, reported } = await tryLoad(t, files, { env: { GROUP: 'blue', TENANT: 'acme' } })
  t.same(reported, [])
  t.match(config?.checks[0]?.when, { group: ['blue'], header: { 'x-tenant': { in: ['acme'] } } })
  t.same((await tryLoad(t, files)).reported, ['unset-variable 4:55', 'unset-variable 4:88'])
})
