import t, { type Test } from 'tap'
import type { ModelConfig } from '../../src/core/config.js'
import { faults, tryLoad } from './support.js'

const HEAD = `version: 1
keys: { me: { secret: { env: GATEWAY_KEY, generate: true } } }
upstreams: { north: { kind: compass }, south: { kind: compass, base: https://south.example } }
models:
`

async function modelOf(t: Test, yaml: string): Promise<ModelConfig | undefined> {
  const { config, problems } = await tryLoad(t, `${HEAD}  swift: ${yaml}\n`)
  t.same(faults({ problems }), [])
  return config?.models.swift
}

const NOTHING = { traits: {}, request: [], response: [] }

t.test('one line adds a model', async t => {
  t.same(await modelOf(t, 'north'), {
    targets: [{ upstream: 'north', ...NOTHING }],
    ...NOTHING,
    timeouts: {},
    retry: {},
    strict: false,
  })
})

t.test('a target says what the upstream calls the model', async t => {
  t.same((await modelOf(t, '{ upstream: north, as: swift-2025 }'))?.targets, [
    { upstream: 'north', as: 'swift-2025', ...NOTHING },
  ])
})

t.test('a list is an order of preference, of names and targets mixed', async t => {
  t.same((await modelOf(t, '[north, { upstream: south, as: x, weight: 0.5 }]'))?.targets, [
    { upstream: 'north', ...NOTHING },
    { upstream: 'south', as: 'x', weight: 0.5, ...NOTHING },
  ])
})

t.test('a mapping with targets holds settings of the model', async t => {
  const model = await modelOf(
    t,
    '{ targets: [north, south], owner: me, created: 1700000000, timeouts: { idle: 1s }, retry: { attempts: 2 }, request: [{ remove: [a] }] }',
  )
  t.match(model, {
    owner: 'me',
    created: 1_700_000_000,
    timeouts: { idle: 1000 },
    retry: { attempts: 2 },
    request: [{ remove: ['a'] }],
  })
  t.equal(model?.targets.length, 2)
})

t.test("verbs beside a single target are the model's, once", async t => {
  const model = await modelOf(t, '{ upstream: north, request: [{ remove: [a] }], owner: me }')
  t.match(model, { request: [{ remove: ['a'] }], owner: 'me' })
  t.same(model?.targets, [{ upstream: 'north', ...NOTHING }])
})

t.test("verbs of a target in a list are the target's", async t => {
  const model = await modelOf(t, '[{ upstream: north, response: [{ wrap: x }] }]')
  t.match(model?.targets, [{ response: [{ wrap: 'x' }] }])
  t.same(model?.response, [])
})

t.test("traits beside a single target are the model's, those of a target in a list the target's", async t => {
  const alone = await modelOf(t, '{ upstream: north, strict: true, traits: { max_output: 8192, sampling: false } }')
  t.match(alone, { strict: true, traits: { max_output: 8192, sampling: false } })
  t.same(alone?.targets, [{ upstream: 'north', ...NOTHING }])
  const listed = await modelOf(
    t,
    '{ targets: [{ upstream: north, traits: { structured: tool } }, south], traits: { reasoning: budget } }',
  )
  t.same(listed?.traits, { reasoning: 'budget' })
  t.same(
    listed?.targets.map(target => target.traits),
    [{ structured: 'tool' }, {}],
  )
})

t.test('models keep the order of the file', async t => {
  const { config } = await tryLoad(t, `${HEAD}  "z-*": north\n  a: north\n  "b-*": north\n`)
  t.same(Object.keys(config?.models ?? {}), ['z-*', 'a', 'b-*'])
})

t.test('a glob that an earlier one covers is an error, one that it covers in part is not', async t => {
  const reported = async (...globs: string[]): Promise<readonly string[]> =>
    (await tryLoad(t, `${HEAD}  used: south\n${globs.map(glob => `  "${glob}": north\n`).join('')}`)).reported
  t.same(await reported('swift-*', 'swift-large-*'), ['unreachable-model 7:3'])
  t.same(await reported('*', 'a*'), ['unreachable-model 7:3'])
  t.same(await reported('a*b*', 'a*c*b'), ['unreachable-model 7:3'])
  t.same(await reported('swift-large-*', 'swift-*'), [])
  t.same(await reported('a*b', 'a*'), [])
  t.same(await reported('a*b', 'a*c'), [])
})

t.test('an exact name behind a glob that matches it is fine, since exact names win', async t => {
  t.same((await tryLoad(t, `${HEAD}  "*": north\n  swift: south\n`)).reported, [])
})
