import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { load } from '../../src/config/load.js'
import { compileSchema } from '../../src/config/schemas.js'
import { atOnce } from '../../src/core/steps.js'
import { compiling } from '../../src/plan/compile.js'
import { differenceOf, type Side } from '../../src/plan/difference/difference.js'
import { headline } from '../../src/plan/difference/headline.js'
import { TrafficReplay } from '../../src/plan/difference/traffic.js'
import { requestFacts } from '../../src/plan/explain/request-facts.js'
import { certificate } from '../helpers/certificates.js'

const folder = t.testdir({
  'check.mjs': 'export const openCheck = () => ({ check: () => "pass" })\n',
  'login.mjs': 'export const openCredential = () => ({})\n',
})
const HOUR_MS = 3_600_000
const { cert, key } = certificate('gateway', new Date(Date.now() - HOUR_MS), new Date(Date.now() + HOUR_MS))
writeFileSync(join(folder, 'cert.pem'), cert)
writeFileSync(join(folder, 'key.pem'), key)

async function side(more: object): Promise<Side> {
  const text = JSON.stringify({
    version: 1,
    store: { type: 'memory' },
    upstreams: { up: { kind: 'openai-compatible', base: 'https://up.example' } },
    models: { swift: 'up', calm: 'up' },
    keys: { alice: { secret: { env: 'ALICE' } } },
    ...more,
  })
  const env = {
    ALICE: 'the-secret-of-alice',
    BOB: 'the-secret-of-bob',
    CARL: 'the-secret-of-carl',
    SIGN: 'a-secret-that-signs-addresses-for-all',
  }
  const { config, digest, problems } = await load({
    file: join(folder, 'gateway.yaml'),
    env,
    text: Buffer.from(text),
    secrets: 'assume',
  })
  if (config === undefined) throw new Error(`${problems.map(one => `${one.path} ${one.message}`).join('\n')} ${text}`)
  const { plan } = atOnce(compiling(config, digest, { compileSchema, generated: () => undefined }))
  return { plan, config }
}

/** What is marked as weaker, without its values. */
async function weaker(before: object, after: object): Promise<readonly string[]> {
  const changes = differenceOf(await side(before), await side(after))
  return changes
    .filter(({ marks }) => marks.includes('weaker'))
    .map(change => (change.about === 'requests' ? headline(change) : `${change.names.join()} ${change.what}`))
}

const check = { type: './check.mjs', when_it_fails: 'closed' }
const provider = { issuer: 'https://issuer.example', audience: ['gateway'], caller: { name: 'sub', models: ['swift'] } }
const record = { into: 'recordings', models: ['swift'], mask: ['emails', 'keys'] }
const alice = (more: object): object => ({
  telemetry: { otlp: { endpoint: 'http://127.0.0.1:4318' } },
  keys: { alice: { secret: { env: 'ALICE' }, ...more } },
})
const proxied = (more: object): object => ({
  upstreams: { up: { kind: 'openai-compatible', base: 'https://up.example', ...more } },
})
const limited = (limits: object): object => ({ ...alice({ limits }), unpriced: 'free' })
const routed = (more: object): object => ({
  schemas: { short: { type: 'object', maxProperties: 3 } },
  routes: { 'POST /own': { upstream: 'up', protocol: 'own', caller: [{ in: 'header', name: 'x-key' }], ...more } },
  ...proxied({ speaks: { own: 'POST /own' } }),
})
const groups = {
  tight: { limits: { requests: '5/s' }, models: ['swift'] },
  wide: { limits: { requests: '9/s' }, models: ['swift'] },
  small: { limits: { requests: '4/s' }, models: ['swift'] },
  free: { limits: { requests: '5/s' } },
}

const priced = {
  one: { limits: { budget: '5 USD/day', unpriced: 'refuse' } },
  other: { limits: { budget: '5 USD/day', unpriced: 'refuse' } },
}

/** What is before and after, and what of it is weaker; backwards nothing is, unless it is said. */
const CASES: readonly (readonly [string, object, object, readonly string[], (readonly string[])?])[] = [
  ['a check is gone', { checks: { one: check } }, {}, ['checks.one.module value']],
  [
    'a check is asked about less',
    { checks: { one: check } },
    { checks: { one: { ...check, models: ['swift'], when_it_fails: 'open' } } },
    ['checks.one.when_it_fails value', 'checks.one.models value'],
  ],
  ['TLS is gone', { listen: { tls: { cert: 'cert.pem', key: 'key.pem' } } }, {}, ['listen.tls.cert.path value']],
  [
    'other origins and proxies',
    { listen: { cors: { origins: ['https://a.example'] } } },
    { listen: { cors: { origins: ['https://a.example', 'https://b.example'] }, trusted_proxies: ['10.0.0.0/8'] } },
    ['listen.cors.origins value', 'listen.trusted_proxies value'],
  ],
  [
    'the admin API opens',
    { admin: {} },
    { admin: { write: true, metrics: 'open', host: '0.0.0.0' } },
    ['admin.host value', 'admin.write value', 'admin.metrics.open value'],
  ],
  [
    'tokens are taken of more, for more',
    { identity: { providers: { sso: provider } } },
    {
      identity: {
        providers: {
          sso: { ...provider, audience: ['gateway', 'other'], caller: { name: 'sub', models: ['swift', 'calm'] } },
        },
      },
    },
    ['identity.providers.sso.audience value', 'identity.providers.sso.caller.terms.models.value value'],
  ],
  ['tokens are taken', {}, { identity: { providers: { sso: provider } } }, ['identity.providers.sso.issuer value']],
  [
    'an upstream is reached without its proxy, and with an older TLS',
    proxied({ proxy: 'http://proxy.example:3128', tls: { min_version: 1.3 } }),
    proxied({ tls: { min_version: 1.2 } }),
    ['up egress'],
  ],
  [
    'the gateway has no proxy any more',
    { egress: { proxy: 'http://proxy.example:3128' } },
    {},
    ['egress.proxy.https.origin value', 'egress.proxy.http.origin value', 'up egress'],
  ],
  ['content is recorded', {}, { record }, ['record.into value']],
  [
    'more is recorded, with less masked',
    { record },
    { record: { into: 'recordings', mask: ['keys'] } },
    ['record.models value', 'record.mask value'],
  ],
  ['content is in traces', alice({}), alice({ trace: { content: 'masked' } }), ['alice trace']],
  [
    'content in traces is not masked',
    alice({ trace: { content: 'masked' } }),
    alice({ trace: { content: 'full' } }),
    ['alice trace'],
  ],
  ['what has no price is free', { unpriced: 'refuse', groups }, { unpriced: 'free', groups }, ['unpriced value']],
  [
    'what has no price is free for one budget',
    { unpriced: 'refuse', ...alice({ limits: { budget: '5 USD/day' } }) },
    { unpriced: 'refuse', ...alice({ limits: { budget: '5 USD/day', unpriced: 'free' } }) },
    ['alice unpriced'],
  ],
  [
    'a budget that is new says what is free',
    alice({}),
    alice({ limits: { budget: '5 USD/day', unpriced: 'free' } }),
    [],
    ['alice budget per day'],
  ],
  [
    'an upstream is in a region, which keys with that region may use',
    { ...proxied({}), ...alice({}) },
    { ...proxied({ region: 'eu' }), ...alice({}) },
    ['up region'],
  ],
  [
    'an upstream is in another region',
    { ...proxied({ region: 'us' }), ...alice({}) },
    { ...proxied({ region: 'eu' }), ...alice({}) },
    ['up region'],
    ['up region'],
  ],
  [
    'media and webhooks are in a region',
    { media: { fetch: { allow: ['media.example'] } }, webhooks: { secret: { env: 'SIGN' }, allow: ['hooks.example'] } },
    {
      media: { fetch: { allow: ['media.example'], region: 'eu' } },
      webhooks: { secret: { env: 'SIGN' }, allow: ['hooks.example'], region: 'eu' },
    },
    ['media.fetch.region value', 'webhooks.region value'],
  ],
  [
    'an upstream gets members and ids that it did not get',
    proxied({ members: { 'metadata.route': 'refuse' } }),
    proxied({ members: { 'metadata.route': 'pass' }, resources: { unknown: 'pass' } }),
    ['up resources.unknown', 'up members.metadata.route'],
  ],
  [
    'a route takes keys in another place, and checks less of a larger body',
    routed({ schema: 'short', limits: { body: '1KiB' } }),
    routed({
      caller: [
        { in: 'header', name: 'x-key' },
        { in: 'query', name: 'key' },
      ],
      limits: { body: '2KiB' },
    }),
    ['POST /own caller', 'POST /own limits.body', 'POST /own schema'],
  ],
  [
    'a budget opens where the store fails',
    limited({ budget: '5 USD/day' }),
    limited({ budget: '5 USD/day', when_store_fails: 'open' }),
    ['alice when_store_fails'],
  ],
  [
    'a limit of requests opens where the store fails',
    limited({ requests: '5/s', when_store_fails: 'closed' }),
    limited({ requests: '5/s' }),
    ['alice when_store_fails'],
  ],
  [
    'what the words say holds without them',
    limited({ requests: '5/s', when_store_fails: 'open' }),
    limited({ requests: '5/s' }),
    [],
  ],
  ['time for open requests at the end', { limits: { drain: '30s' } }, { limits: { drain: '60s' } }, []],
  ['sizes of all requests', { limits: { body: '1MiB' } }, { limits: { body: '2MiB' } }, ['limits.body value']],
  [
    'a key moves to a group with a larger bound',
    { groups, ...alice({ group: 'tight' }) },
    { groups, ...alice({ group: 'wide' }) },
    ['alice group'],
  ],
  [
    'a key moves to a group with all models',
    { groups, ...alice({ group: 'tight' }) },
    { groups, ...alice({ group: 'free' }) },
    ['alice group'],
  ],
  [
    'a key moves to a group that says the same of what has no price',
    { groups: priced, ...alice({ group: 'one' }) },
    { groups: priced, ...alice({ group: 'other' }) },
    [],
  ],
  [
    'a key moves to a group with a smaller bound',
    { groups, ...alice({ group: 'tight' }) },
    { groups, ...alice({ group: 'small' }) },
    [],
    ['alice group'],
  ],
]

for (const [what, before, after, expected, backwards = []] of CASES) {
  t.test(what, async t => {
    t.strictSame([...(await weaker(before, after))].sort(), [...expected].sort())
    t.strictSame(await weaker(after, before), backwards, 'backwards')
  })
}

t.test('the time zone of windows, and which requests are recorded, differ', async t => {
  const changes = differenceOf(await side({ groups }), await side({ groups, time_zone: 'Asia/Tokyo', record }))
  const lines = changes.map(headline)
  t.ok(lines.includes('setting time_zone: value UTC → Asia/Tokyo'), lines.join('\n'))
  const recorded = changes.filter(({ about, what }) => about === 'requests' && what.includes('recorded: none → yes'))
  t.strictSame([...new Set(recorded.flatMap(change => (change.about === 'requests' ? change.models : [])))], ['swift'])
})

/** Headlines of what differs, but for requests. */
async function entries(before: object, after: object): Promise<readonly string[]> {
  const changes = differenceOf(await side(before), await side(after))
  return changes
    .filter(({ about }) => about !== 'requests')
    .map(change => headline(change).replaceAll(DIGEST, 'DIGEST'))
}

const DIGEST = /\b[0-9a-f]{12}\b/g

/** What an upstream's credential is, before and after: each pair differs in one word. */
const CREDENTIALS: readonly (readonly [string, object, object])[] = [
  ['arguments of a command', { type: 'exec', command: ['print', 'a'] }, { type: 'exec', command: ['print', 'b'] }],
  ['the user of a password', { type: 'basic', user: 'a' }, { type: 'basic', user: 'b' }],
  ['scopes', { type: 'gcp', scopes: ['https://a.example'] }, { type: 'gcp', scopes: ['https://b.example'] }],
  [
    'another secret in headers',
    { type: 'headers', headers: { 'x-one': { env: 'ALICE' } } },
    { type: 'headers', headers: { 'x-one': { env: 'SIGN' } } },
  ],
  [
    'the path of a token server',
    { type: 'oauth2', token_url: 'https://id.example/a', client_id: 'me', secret: { env: 'ALICE' } },
    { type: 'oauth2', token_url: 'https://id.example/b', client_id: 'me', secret: { env: 'ALICE' } },
  ],
  [
    'a role',
    { type: 'aws-sigv4', service: 'bedrock', region: 'eu-west-1', role: 'arn:aws:iam::111122223333:role/a' },
    { type: 'aws-sigv4', service: 'bedrock', region: 'eu-west-1', role: 'arn:aws:iam::111122223333:role/b' },
  ],
  ['options of a module', { type: './login.mjs', options: { a: 1 } }, { type: './login.mjs', options: { a: 2 } }],
]

for (const [what, before, after] of CREDENTIALS) {
  t.test(`${what} of a credential differ, and are not shown`, async t => {
    const upstream = (credential: object): object =>
      proxied({ credential, ...('user' in credential ? { secret: { env: 'ALICE' } } : {}) })
    t.strictSame(await entries(upstream(before), upstream(after)), ['upstream up: secret one → another'])
    t.strictSame(await entries(upstream(after), upstream(after)), [])
  })
}

t.test('a budget refuses what has no price: explain, plan and past requests say so', async t => {
  const keys = {
    alice: { secret: { env: 'ALICE' }, limits: { budget: '5 USD/day' } },
    bob: { secret: { env: 'BOB' }, limits: { budget: '5 USD/day', unpriced: 'free' } },
    carl: { secret: { env: 'CARL' } },
  }
  const prices = { swift: { input: 1, output: 2 }, calm: { input: 1, output: 2 } }
  const unpriced = 'refuse'
  const [priced, one] = [
    await side({ unpriced, keys, prices }),
    await side({ unpriced, keys, prices: { calm: prices.calm } }),
  ]
  const path = '/v1/chat/completions'
  const statusOf = (key: string): number | undefined =>
    requestFacts(one.plan, { method: 'POST', path, model: 'swift', key }).error?.status
  t.strictSame(Object.keys(keys).map(statusOf), [403, undefined, undefined])
  const ofChat = (before: Side, after: Side): readonly string[] =>
    differenceOf(before, after).flatMap(change =>
      change.about === 'requests' && change.routes.includes(`POST ${path}`) && change.models[0] === 'swift'
        ? [`${change.marks.join()} ${change.keys.join()}: ${change.after}`]
        : [],
    )
  t.strictSame(ofChat(priced, one), ['unreachable alice: 403 no price', ' bob,carl: up as swift'])
  const { alice: _, ...others } = keys
  const open = await side({
    unpriced,
    keys: { alice: { secret: { env: 'ALICE' } }, ...others },
    prices: { calm: prices.calm },
  })
  t.strictSame(ofChat(open, one), [' alice: 403 no price'], 'its own budget is new')
  const replay = new TrafficReplay(one)
  for (const key of ['alice', 'bob']) replay.add({ route: `POST ${path}`, key, model: 'swift', upstream: 'up' })
  t.match(replay.facts(), { requests: 2, same: 1, refused: { '403 no price': 1 }, unreachable: 1 })
})

t.test('requests that a check is asked about differ, by model and key', async t => {
  const checks = { one: { ...check, models: ['swift'], when: { key: ['alice'] } } }
  const keys = { keys: { alice: { secret: { env: 'ALICE' } }, bob: { secret: { env: 'BOB' } } } }
  const changes = differenceOf(await side(keys), await side({ ...keys, checks }))
  const found = changes.flatMap(change =>
    change.about === 'requests' ? [[change.keys, change.models, change.what]] : [],
  )
  const says = (text: string): readonly string[] => [`checks: none → one (key alice: ${text})`]
  t.strictSame(
    [...new Set(found.map(one => JSON.stringify(one)))].sort(),
    [
      [['alice'], ['swift'], says('for this request')],
      [['bob'], ['swift'], says('not for this request (key)')],
    ].map(one => JSON.stringify(one)),
  )
})

t.test('routes that no upstream answers, and the model of requests that name none', async t => {
  const off = { routes: { 'GET /v1/models': 'off' } }
  t.strictSame(await entries({}, off), ['UNREACHABLE: route GET /v1/models is gone'])
  t.strictSame(await entries(off, {}), ['route GET /v1/models is new'])
  const byDefault = { default_models: { moderations: 'swift' } }
  t.match(await entries({}, byDefault), [/^route POST \/v1\/moderations.* gets? default_model swift$/])
  t.match(await entries(byDefault, {}), [
    /^UNREACHABLE: route POST \/v1\/moderations.* loses? default_model \(swift\)$/,
  ])
})

t.test('schemas, transforms and forwarded headers of routes, models and upstreams differ', async t => {
  const schema = (most: number): object => ({
    ...routed({ schema: 'short' }),
    schemas: { short: { type: 'object', maxProperties: most } },
  })
  t.strictSame(await entries(schema(3), schema(4)), ['route POST /own: schema DIGEST → DIGEST'])
  const verb = { set: { user: 'one' } }
  t.strictSame(await entries({}, { models: { swift: { targets: ['up'], request: [verb] }, calm: 'up' } }), [
    'model swift gets transforms DIGEST',
  ])
  t.match(await entries(proxied({}), proxied({ request: [verb], forward: { request: ['x-*'] } })), [
    /^upstream up: forward .*"request":\["x-\*"\]/,
    'upstream up gets transforms DIGEST',
  ])
})
