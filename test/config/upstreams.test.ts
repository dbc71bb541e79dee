import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type LoadOptions, load } from '../../src/config/load.js'
import type { UpstreamConfig } from '../../src/core/config.js'
import { packageRoot } from '../../src/core/package-root.js'
import { asRoot } from '../helpers/platform.js'
import { BASE, faults, folderWith, SHIPPED, type Trial, tryLoad } from './support.js'

async function withUpstream(
  t: Test,
  yaml: string,
  env: Record<string, string> = {},
  kinds = '',
): Promise<Trial & { readonly north: UpstreamConfig | undefined }> {
  const text = `${BASE.replace('models:', `  north: ${yaml}\nmodels:`)}${kinds === '' ? '' : `kinds:\n${kinds}`}`
  const trial = await tryLoad(t, text, { env })
  return { ...trial, north: trial.config?.upstreams.north }
}

const MINIMAL = 'base: https://north.example, speaks: { chat: POST /chat }'

t.test('an upstream may stand for itself', async t => {
  const { north } = await withUpstream(t, `{ ${MINIMAL} }`)
  t.match(north, { base: 'https://north.example', off: undefined, credential: undefined })
  t.same(north?.speaks.chat, { call: { method: 'POST', target: '/chat' }, request: [], response: [] })
})

t.test('a kind gives what the upstream does not say, and its kind what that does not say', async t => {
  const { north } = await withUpstream(t, '{ kind: compass, secret: { env: KEY } }', { KEY: 'n' })
  t.equal(north?.kind, 'compass')
  t.equal(north?.base, 'https://api.compass.example/v9')
  t.same(north?.credential?.place, { in: 'header', name: 'authorization', scheme: 'Bearer' })
  t.equal(north?.credential?.secret?.reveal(), 'n')
  t.same(north?.forward, { request: [], response: ['x-ratelimit-*'], trace: true })
  t.same(north?.timeouts, { first_byte: 90_000 })
})

t.test('the upstream wins over its kind; headers and speaks merge entry by entry', async t => {
  const { north } = await withUpstream(
    t,
    '{ kind: compass, base: "http://127.0.0.1:9/x/", headers: { X-Mine: a }, timeouts: { idle: 1s }, speaks: { embeddings: off, chat: POST /mine } }',
  )
  t.equal(north?.base, 'http://127.0.0.1:9/x')
  t.same({ ...north?.headers }, { 'x-version': '1', 'x-mine': 'a' })
  t.same(north?.timeouts, { first_byte: 90_000, idle: 1000 })
  t.same(Object.keys(north?.speaks ?? {}), ['chat'])
  t.equal(north?.speaks.chat?.call.target, '/mine')
})

t.test("a user's kind may build on a shipped one", async t => {
  const { north, problems } = await withUpstream(
    t,
    '{ kind: mine }',
    {},
    '  mine: { kind: compass, base: https://mine.example, secret: { env: MINE } }\n',
  )
  t.same(faults({ problems }), [])
  t.match(north, { base: 'https://mine.example', off: 'MINE is not set' })
})

t.test('secret is short for credential.secret', async t => {
  const short = await withUpstream(
    t,
    '{ kind: bearer, base: https://x.example, speaks: { chat: POST /c }, secret: { env: KEY } }',
    { KEY: 'n' },
  )
  const long = await withUpstream(
    t,
    '{ base: https://x.example, speaks: { chat: POST /c }, credential: { in: query, name: key, secret: { env: KEY } } }',
    { KEY: 'n' },
  )
  t.equal(short.north?.credential?.secret?.reveal(), 'n')
  t.same(long.north?.credential?.place, { in: 'query', name: 'key' })
  t.equal(long.north?.credential?.secret?.reveal(), 'n')
})

t.test('an upstream that needs no secret has none and is on', async t => {
  const { north } = await withUpstream(t, '{ kind: compass }')
  t.equal(north?.off, undefined)
  t.equal(north?.credential?.secret, undefined)
})

t.test('an upstream whose secret is absent or empty is off and says why, and that is not a problem', async t => {
  t.match(await withUpstream(t, '{ kind: compass, secret: { env: KEY } }'), {
    north: { off: 'KEY is not set' },
    problems: [],
  })
  t.match(await withUpstream(t, '{ kind: compass, secret: { env: KEY } }', { KEY: '' }), {
    north: { off: 'KEY is empty' },
    problems: [],
  })
  t.match(await withUpstream(t, '{ kind: compass, secret: { file: ./absent } }'), {
    north: { off: './absent does not exist' },
    problems: [],
  })
  t.match(await withUpstream(t, '{ kind: compass, disabled: true }'), { north: { off: 'disabled' }, problems: [] })
})

t.test('what is checked without its secret need not have its variables set either', async t => {
  const own = `  north: { kind: compass, base: "https://$\{HOST}", secret: { env: KEY } }\n`
  const yaml = BASE.replace('models:', `${own}models:`)
  const { config, reported } = await tryLoad(t, yaml, { secrets: 'assume' })
  t.same(reported, ['unused-upstream 6:3'])
  t.equal(config?.upstreams.north?.base, 'https://off.invalid')
  // Managers are asked later, by what needs them.
  const vault = 'secret_managers: { vault: { address: "https://vault.example", token: { env: TOKEN } } }\n'
  const managed = yaml.replace('{ env: KEY }', '{ vault: secret/data/north, field: a }') + vault
  t.same((await tryLoad(t, managed, { secrets: 'leave' })).reported, ['unused-upstream 6:3'])
  const oauth = `credential: { type: oauth2, token_url: "$\{TOKEN_URL}", client_id: a }, secret: { env: KEY }`
  t.same((await tryLoad(t, yaml.replace('secret: { env: KEY }', oauth), { secrets: 'assume' })).reported, [
    'unused-upstream 6:3',
  ])
})

t.test('what is off need not have its variables set', async t => {
  t.match(await withUpstream(t, '{ kind: tenant, secret: { env: KEY } }'), {
    north: { off: 'KEY is not set', base: 'https://off.invalid' },
    problems: [],
  })
  t.match((await withUpstream(t, '{ kind: tenant, secret: { env: KEY } }', { KEY: 'n' })).reported, [
    'unset-variable 6:18',
  ])
  t.match((await withUpstream(t, '{ kind: tenant }', { TENANT_NAME: 'acme' })).north, {
    base: 'https://acme.tenant.example',
  })
})

const WRONG = `limits: { requests: 60/m }, timeouts: { total: 999h }, retry: { budget: 200% }, proxy: "foo://bar", pool: { age: 999h }`

t.test(
  'what is wrong with an upstream is an error also where its secret is absent, assumed or in a manager',
  async t => {
    const rules = (reported: readonly string[]): readonly string[] => reported.map(one => one.replace(/ .*/, ''))
    const expected = Array.from({ length: 5 }, () => 'bad-value')
    for (const [secret, secrets] of [
      ['{ env: KEY }', 'assume'],
      ['{ env: KEY }', 'leave'],
      ['{ vault: secret/data/north, field: key }', 'leave'],
    ] as const) {
      const own = `  north: { kind: compass, secret: ${secret}, ${WRONG} }\n`
      const { reported } = await tryLoad(t, BASE.replace('models:', `${own}models:`), { secrets })
      t.same(
        rules(reported).filter(rule => rule === 'bad-value'),
        expected,
        `${secret} ${secrets}`,
      )
    }
    t.same(rules((await withUpstream(t, `{ kind: compass, disabled: true, ${WRONG} }`)).reported), expected)
  },
)

t.test(
  'a file that is not there is an error of an upstream that has its secret, and a warning of one that lacks it',
  async t => {
    const own = '{ kind: compass, secret: { env: KEY }, tls: { ca: ./absent.pem } }'
    const yaml = BASE.replace('models:', `  north: ${own}\nmodels:`)
    const severities = async (options: Partial<LoadOptions>): Promise<readonly string[]> =>
      faults(await tryLoad(t, yaml, options)).map(({ rule, severity }) => `${rule} ${severity}`)
    t.same(await severities({ env: { KEY: 'n' } }), ['unreadable-file error'])
    t.same(await severities({}), ['unreadable-file warning'])
    t.same(await severities({ secrets: 'assume' }), ['unreadable-file warning'])
    const disabled = await withUpstream(t, own.replace('kind:', 'disabled: true, kind:'))
    t.same(faults(disabled), [], 'nothing needs it')
  },
)

t.test(
  'of a value whose variable is not set, only that is reported, and nothing where the secret is absent',
  async t => {
    const value = (name: string): string => `"$\{${name}}"`
    const words = `tls: { ca: ${value('CA')} }, timeouts: { total: ${value('T')} }, retry: { budget: ${value('R')} }, limits: { queue: ${value('Q')} }`
    const own = `{ kind: compass, http2: true, base: ${value('HOST')}, secret: { env: KEY }, ${words} }`
    const { reported } = await withUpstream(t, own, { KEY: 'n' })
    t.same(
      reported.map(one => one.replace(/ .*/, '')),
      Array.from({ length: 5 }, () => 'unset-variable'),
    )
    t.same(faults(await withUpstream(t, own)), [])
  },
)

t.test('what is wrong with the credential of a shipped kind is reported at the upstream', async t => {
  const own = '{ kind: kling-signed, secret: { env: KEY } }'
  const yaml = BASE.replace('models:', `  north: ${own}\nmodels:`)
  const env = { KEY: 'too-short', KLING_ACCESS_KEY: 'a' }
  const { text } = await tryLoad(t, yaml, { env, shipped: packageRoot() })
  t.match(
    text,
    /^gateway\.yaml:6:18 {2}upstreams\.north\.kind {2}the kind "kling-signed" cannot be used: a key for HS256/,
  )
})

t.test('what a variable brings is held against the same rules and never printed', async t => {
  const trial = async (base: string): Promise<Trial> =>
    withUpstream(t, '{ kind: compass, base: "${' + 'BASE}" }', { BASE: base })
  t.match((await trial('https://x.example/v1/')).config?.upstreams.north, { base: 'https://x.example/v1' })
  t.same((await trial('')).reported, ['unset-variable 6:33'])
  for (const base of [
    'x',
    'ftp://canary',
    'https://user:canary@x',
    'https://x/?canary',
    'https://x/#canary',
    'https://x/\r\ncanary',
    'embedded:simulator',
    'javascript:canary',
  ]) {
    const { reported, text } = await trial(base)
    t.same(reported, ['bad-base 6:33'], base)
    t.notMatch(text, 'canary')
  }
})

t.test('the embedded simulator is for the kind simulator only', async t => {
  const { config } = await tryLoad(t, BASE)
  t.equal(config?.upstreams.sim?.base, 'embedded:simulator')
  t.same((await withUpstream(t, '{ kind: compass, base: "embedded:simulator" }')).reported, ['bad-base 6:33'])
})

t.test('F-C13 a header value that a variable breaks in two is refused', async t => {
  const { reported } = await withUpstream(t, '{ kind: compass, headers: { x-a: "${' + 'VALUE}" } }', {
    VALUE: 'a\r\nx-b: c',
  })
  t.same(reported, ['bad-value 6:43'])
})

t.test('verbs, retries and another call for streams are kept as they are written', async t => {
  const { north } = await withUpstream(
    t,
    '{ base: https://x.example, retry: { on: [429] }, request: [{ remove: [a] }], speaks: { chat: { call: POST /c, stream: "POST /s?alt=sse", response: [{ wrap: x }] } } }',
  )
  t.same(north?.retry, { on: [429] })
  t.match(north?.request, [{ remove: ['a'] }])
  t.match(north?.speaks.chat, {
    call: { target: '/c' },
    stream: { method: 'POST', target: '/s?alt=sse' },
    response: [{ wrap: 'x' }],
  })
})

t.test(
  'F-R3 a secret file that cannot be read is an error, so that the last good configuration stays',
  { skip: asRoot },
  async t => {
    const folder = folderWith(t, {
      'gateway.yaml': BASE.replace('models:', '  north: { kind: compass, secret: { file: ./n.key } }\nmodels:'),
      'n.key': 'n',
    })
    chmodSync(join(folder, 'n.key'), 0o000)
    const { problems } = await load({ file: join(folder, 'gateway.yaml'), env: {}, shipped: SHIPPED })
    t.match(problems, [{ rule: 'unreadable-file', message: 'cannot read this file: permission is denied' }])
  },
)
