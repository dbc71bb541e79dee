import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { load } from '../../src/config/load.js'
import { compileSchema } from '../../src/config/schemas.js'
import { atOnce } from '../../src/core/steps.js'
import { compiling } from '../../src/plan/compile.js'
import { type Change, differenceOf, type Side } from '../../src/plan/difference/difference.js'
import { requestFacts } from '../../src/plan/explain.js'
import { fc } from '../helpers/property.js'

const folder = mkdtempSync(join(tmpdir(), 'difference-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const ROUTES = [
  'POST /v1/chat/completions',
  'POST /v1/messages',
  'POST /v1/embeddings',
  'POST /v1beta/models/{model}:generateContent',
]
const NOW = Date.UTC(2026, 0, 1)

const ENV = Object.fromEntries(['A', 'B', 'k1', 'k2', 'k3'].map(name => [`SECRET_${name}`, `the-secret-of-${name}`]))

async function side(text: string): Promise<Side> {
  const loaded = await load({ file: join(folder, 'gateway.yaml'), env: ENV, text: Buffer.from(text) })
  const { config, digest, problems } = loaded
  if (config === undefined) throw new Error(`${problems.map(one => `${one.path} ${one.message}`).join('\n')} ${text}`)
  const { plan } = atOnce(compiling(config, digest, { compileSchema, generated: () => undefined }))
  return { plan, config }
}

/** The words of small configurations, so that two of them often differ in little. */
const drawn = fc.record({
  upstreams: fc.record({
    a: fc.record({
      kind: fc.constantFrom('openai-compatible', 'anthropic'),
      base: fc.constantFrom('https://a.example', 'https://b.example'),
      disabled: fc.boolean(),
    }),
    b: fc.record({ kind: fc.constantFrom('openai-compatible', 'simulator'), region: fc.constantFrom('eu', 'us') }),
  }),
  models: fc.dictionary(
    fc.constantFrom('m1', 'm2', 'm3', 'x/*', '*'),
    fc.record(
      {
        targets: fc.constantFrom<readonly unknown[]>(
          ['a'],
          ['b'],
          ['a', 'b'],
          ['b', 'a'],
          [{ upstream: 'a', as: 'n' }, 'b'],
          [{ upstream: 'a', as: 'o' }, 'b'],
          [{ upstream: 'a', when: { stream: false } }],
          [
            { upstream: 'a', when: { group: ['g'] } },
            { upstream: 'b', when: { key: ['k1', 'k2'] } },
          ],
        ),
        strategy: fc.constantFrom('order', 'cheapest', { sticky: 'key' }),
        fallback: fc.constantFrom('m1', 'm2'),
        limits: fc.constantFrom({ requests: '10/s' }, { requests: '20/s' }),
        strict: fc.boolean(),
      },
      { requiredKeys: ['targets'] },
    ),
    { minKeys: 1 },
  ),
  group: fc.record(
    {
      models: fc.constantFrom(['*'], ['m*', 'base'], ['m1', 'base']),
      limits: fc.constantFrom({ requests: '5/s' }, { requests: '6/s' }),
      routes: fc.constantFrom(['POST /v1/chat/*'], ['POST *']),
    },
    { requiredKeys: ['limits'] },
  ),
  record: fc.constantFrom(undefined, { into: 'r', models: ['m*'] }, { into: 'r', keys: ['k1'], routes: ['chat'] }),
  keys: fc.dictionary(
    fc.constantFrom('k1', 'k2', 'k3'),
    fc.record(
      {
        models: fc.constantFrom(['*'], ['m1'], ['m1', 'm2'], ['x/*', 'm3'], ['m*']),
        group: fc.constant('g'),
        strict: fc.boolean(),
        limits: fc.constantFrom({ requests: '1/s' }, { requests: '2/s' }),
        regions: fc.constantFrom(['eu'], ['us', 'eu']),
        expires: fc.constantFrom('2020-01-01', '2090-01-01'),
      },
      { requiredKeys: ['models'] },
    ),
  ),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never

function yamlOf({ upstreams: { a, b }, models, group, record, keys }: Drawn): string {
  return JSON.stringify({
    version: 1,
    store: { type: 'memory' },
    upstreams: {
      a: { ...a, secret: { env: 'SECRET_A' } },
      b: b.kind === 'simulator' ? b : { ...b, base: 'https://c.example', secret: { env: 'SECRET_B' } },
    },
    groups: { g: group },
    record,
    models: {
      base: { targets: ['b'] },
      ...Object.fromEntries(
        // A glob that matches all comes last.
        Object.entries(models)
          .toSorted(([name]) => (name === '*' ? 1 : -1))
          .map(([name, { fallback, ...model }]) => [
            name,
            {
              ...model,
              ...(fallback !== name && models[fallback ?? ''] ? { fallbacks: { overloaded: [fallback] } } : {}),
            },
          ]),
      ),
    },
    prices: Object.fromEntries(Object.entries(models).map(([name], at) => [name, { input: at + 1 }])),
    keys: Object.fromEntries(
      Object.entries(keys).map(([name, { models: own, regions, ...key }]) => [
        name,
        {
          ...key,
          secret: { env: `SECRET_${name}` },
          // A key has to reach something.
          models: [...own, 'base'],
          ...(regions === undefined ? {} : { regions: [...new Set([...regions, b.region])] }),
        },
      ]),
    ),
  })
}

/** What `explain` says of one request, where it says anything that matters: how something is refused does not. */
function told({ plan, config }: Side, key: string, model: string, route: string): string {
  if (config.keys[key] === undefined) return 'refused'
  const [method = '', path = ''] = route.replace('{model}', encodeURIComponent(model)).split(' ')
  const answers = [false, true].map(stream => {
    const { error, ...facts } = requestFacts(plan, { method, path, model, key, stream, now: NOW })
    return error === undefined ? JSON.stringify(facts) : 'refused'
  })
  return [...new Set(answers)].join('\n')
}

/** Each key × model × route that the changes name. */
function named(changes: readonly Change[]): ReadonlySet<string> {
  return new Set(
    changes.flatMap(change =>
      change.about === 'requests'
        ? change.keys.flatMap(key =>
            change.models.flatMap(model => change.routes.map(route => `${key} ${model} ${route}`)),
          )
        : [],
    ),
  )
}

/** The name that stands for a glob. */
const asked = (name: string): string => name.replaceAll('*', 'any-other-name')

t.test('a plan does not differ from itself', async () => {
  await fc.assert(
    fc.asyncProperty(drawn, async one => {
      const before = await side(yamlOf(one))
      return (
        differenceOf(before, before, NOW).length === 0 &&
        differenceOf(before, await side(yamlOf(one)), NOW).length === 0
      )
    }),
    { numRuns: 10, endOnFailure: true },
  )
})

t.test('each key, model and route whose explain differs is named, and no other', async t => {
  let differing = 0
  await fc.assert(
    fc.asyncProperty(drawn, drawn, fc.boolean(), async (one, other, alike) => {
      const before = await side(yamlOf(one))
      const after = await side(yamlOf(alike ? { ...one, models: other.models } : other))
      const found = named(differenceOf(before, after, NOW))
      const names = [before, after].flatMap(({ config }) => Object.keys(config.models))
      const keyed = [before, after].flatMap(({ config }) => [
        ...Object.values(config.keys),
        ...Object.values(config.groups),
      ])
      const models = new Set([...names, ...keyed.flatMap(({ models = [] }) => models)])
      for (const key of ['k1', 'k2', 'k3']) {
        for (const model of models) {
          for (const route of ROUTES) {
            const isOther = told(before, key, asked(model), route) !== told(after, key, asked(model), route)
            const cell = `${key} ${model} ${route}`
            if (isOther) differing += 1
            if (isOther !== found.has(cell)) {
              throw new Error(
                `${cell}: explain ${isOther ? 'differs' : 'is the same'}\n${told(before, key, asked(model), route)}\n${told(after, key, asked(model), route)}`,
              )
            }
          }
        }
      }
    }),
    { numRuns: 25, endOnFailure: true },
  )
  t.ok(differing > 100, `${differing} differ`)
})
