import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { packageRoot } from '../../src/core/package-root.js'
import { BASE, tryLoad } from './support.js'

const SHIPPED = packageRoot()

t.test('a file without a word of limits has no accounting', async t => {
  const { config, sources } = await tryLoad(t, BASE, { shipped: SHIPPED })
  t.equal(config?.accounting, undefined)
  t.notOk(
    sources.some(file => file.includes('prices')),
    'the shipped prices are not even read',
  )
  t.same(config?.groups, {})
})

t.test('a variable whose value names another variable is an error, and never no limit', async t => {
  const yaml = `version: 1
listen: { port: "$\{PORT}" }
egress: { proxy: "$\{PROXY}" }
keys:
  me: { secret: { env: A, generate: true }, limits: { requests: "$\{RATE}", budget: "$$\{BUDGET}" } }
upstreams: { sim: { kind: simulator } }
models: { m: sim }
`
  const nested = { PORT: `$\{BASE_PORT}`, PROXY: `http://$\{PROXY_HOST}:3128`, RATE: `$\{BASE}/min` }
  const { config, reported } = await tryLoad(t, yaml, { env: nested })
  t.equal(config, undefined)
  t.same(reported, ['bad-value 2:17', 'bad-value 3:18', 'bad-value 5:65', 'bad-value 5:84'])
  const unset = await tryLoad(t, yaml.replace('$$', '$'))
  t.same(unset.reported, ['unset-variable 2:17', 'unset-variable 3:18', 'unset-variable 5:65', 'unset-variable 5:84'])
})

t.test('limits, groups and prices are read', async t => {
  const { config, text } = await tryLoad(
    t,
    `version: 1
time_zone: Europe/Berlin
unpriced: free
ledger: { retention: 30d }
prices:
  sim-text: { input: 2.00, cached: 0.50, output: 8.00, request: 1.00 }
  "sim-*": free
groups:
  all: { limits: { budget: 500 USD/month } }
  research: { group: all, models: ["sim-*"] }
keys:
  alice:
    secret: { env: A, generate: true }
    group: research
    limits: { requests: [10/s, 600/min], tokens: 100k/min, in_flight: 8, streams: 4, budget: 5 USD/day, max_output: 4096, body: 2MiB, when_store_fails: open, unpriced: refuse }
    routes: ["POST /v1/chat/*"]
    networks: [10.0.0.0/8, "fd00::/8"]
upstreams:
  sim: { kind: simulator, limits: { requests: 500/min, queue: 30s }, on_client_abort: drain }
models:
  sim-text: { upstream: sim, limits: { in_flight: 5 }, max_output: 1000, on_client_abort: cancel }
`,
    { shipped: SHIPPED },
  )
  t.equal(text, '')
  t.match(config?.accounting, {
    timeZone: 'Europe/Berlin',
    ledger: { retention: 30 * 24 * 3_600_000 },
    unpriced: 'free',
    prices: {
      'sim-text': { input: 2_000_000, cached: 500_000, output: 8_000_000, request: 1_000_000_000_000 },
      'sim-*': {},
    },
  })
  t.ok(Object.keys(config?.accounting?.shippedPrices ?? {}).length > 0, 'the shipped prices are read')
  t.match(config?.groups, {
    all: { limits: { bounds: [{ unit: 'budget', amount: 500_000_000, window: 'month' }] } },
    research: { group: 'all', models: ['sim-*'] },
  })
  t.match(config?.keys.alice, {
    group: 'research',
    routes: ['POST /v1/chat/*'],
    networks: ['10.0.0.0/8', 'fd00::/8'],
    limits: {
      bounds: [
        { unit: 'requests', amount: 10, window: 'second' },
        { unit: 'requests', amount: 600, window: 'minute' },
        { unit: 'tokens', amount: 100_000, window: 'minute' },
        { unit: 'budget', amount: 5_000_000, window: 'day' },
      ],
      in_flight: 8,
      streams: 4,
      max_output: 4096,
      body: 2 * 1024 * 1024,
      when_store_fails: 'open',
      unpriced: 'refuse',
    },
  })
  t.match(config?.upstreams.sim, { limits: { queue: 30_000 }, onClientAbort: 'drain', prices: { '*': {} } })
  t.match(config?.models['sim-text'], { limits: { in_flight: 5 }, maxOutput: 1000, onClientAbort: 'cancel' })
})

t.test('prices: off leaves the shipped prices out', async t => {
  const { config } = await tryLoad(t, `${BASE}prices: off\nledger: {}\n`, { shipped: SHIPPED })
  t.same(config?.accounting?.shippedPrices, {})
})

t.test('included files may have groups and prices', async t => {
  const files = {
    'gateway.yaml': `${BASE}include: [./more.yaml]\nprices: { a: free }\nunpriced: free\n`,
    'more.yaml': 'groups: { staff: { limits: { requests: 1/s } } }\nprices: { sim-text: { request: 1 } }\n',
  }
  const { config } = await tryLoad(t, files, { shipped: SHIPPED })
  t.ok(config?.groups.staff)
  t.same(Object.keys(config?.accounting?.prices ?? {}), ['a', 'sim-text'])
})

t.test('routes and networks of a key need no ledger', async t => {
  const { config } = await tryLoad(t, BASE.replace('true }', 'true }, networks: [127.0.0.1]'), { shipped: SHIPPED })
  t.ok(config?.accounting)
  t.equal(config?.accounting?.ledger, undefined)
})

const BUDGETED = BASE.replace('true }', 'true }, limits: { requests: 3/min, budget: 2 USD/day }')

t.test('the simulator costs nothing, so a budget over it needs no price', async t => {
  const { text, config } = await tryLoad(t, BUDGETED, { shipped: SHIPPED })
  t.equal(text, '')
  t.ok(config)
})

t.test('a budget of a key with every model holds where one simulator model has a price', async t => {
  const yaml = `${BUDGETED}  sim-image: sim\nprices: { sim-text: { request: 1.00 } }\n`
  const { text, config } = await tryLoad(t, yaml, { shipped: SHIPPED })
  t.equal(text, '')
  t.ok(config)
})

const REAL = `${BUDGETED.replace('models:', '  north: { kind: openai-compatible, base: http://127.0.0.1:1 }\nmodels:\n  real: north')}`

t.test('a budget over a model without a price is an error at the budget', async t => {
  const { reported, config } = await tryLoad(t, REAL, { shipped: SHIPPED })
  t.same(reported, ['unpriced-model 3:90'])
  t.equal(config, undefined)
})

t.test('what the error says to write is right', async t => {
  for (const cure of [
    ['budget: 2 USD/day', 'budget: 2 USD/day, unpriced: refuse'],
    ['version: 1', 'version: 1\nunpriced: free'],
    ['version: 1', 'version: 1\nprices: { "real": { input: 1.00, output: 2.00 } }'],
    ['version: 1', 'version: 1\nprices: { north/real: { request: 1.00 } }'],
    ['http://127.0.0.1:1 }', 'http://127.0.0.1:1, prices: { real: free } }'],
    ['real: north', 'real: { upstream: north, limits: { unpriced: free } }'],
    ['http://127.0.0.1:1 }', 'http://127.0.0.1:1, limits: { unpriced: refuse } }'],
  ] as const) {
    const { text, config } = await tryLoad(t, REAL.replace(cure[0], cure[1]), { shipped: SHIPPED })
    t.equal(text, '', cure[1])
    t.ok(config)
  }
})

t.test('targets that are switched off need no price', async t => {
  const yaml = REAL.replace('http://127.0.0.1:1 }', 'http://127.0.0.1:1, disabled: true }')
  const { config } = await tryLoad(t, yaml, { shipped: SHIPPED })
  t.ok(config)
})

t.test('every example of the guide loads without an error', async t => {
  const guide = readFileSync(join(SHIPPED, 'docs/limits.md'), 'utf8')
  const examples = Array.from(guide.matchAll(/```yaml\n([\s\S]*?)```/g), ([, example = '']) => example)
  t.ok(examples.length > 4)
  for (const example of examples) {
    const whole = { ...parse(BASE), ...parse(example) }
    const { problems, config } = await tryLoad(t, stringify(whole), { shipped: SHIPPED })
    t.same(
      problems.filter(({ severity }) => severity === 'error'),
      [],
      example,
    )
    t.ok(config?.accounting)
  }
})

t.test('the shipped file takes a budget; with the key of a provider it asks for what its globs cost', async t => {
  const file = readFileSync(join(SHIPPED, 'gateway.yaml'), 'utf8')
  const limited = `${file.replace('models: ["*"] }', 'models: ["*"], limits: { requests: 3/min, budget: 2 USD/day } }')}
prices: { sim-text: { request: 1.00 } }\n`
  t.not(limited.indexOf('3/min'), -1)
  const { text, config } = await tryLoad(t, limited, { shipped: SHIPPED })
  t.equal(text, '')
  t.equal(config?.accounting?.prices['sim-text']?.request, 1e12)
  const env = { OPENAI_API_KEY: 'x'.repeat(20) }
  const { problems } = await tryLoad(t, limited, { shipped: SHIPPED, env })
  t.match(problems, [{ rule: 'unpriced-model', message: /^no price is known for "o1\*", .* and \d+ more: / }])
  const { problems: none } = await tryLoad(t, `${limited}unpriced: refuse\n`, { shipped: SHIPPED, env })
  t.same(none, [])
})

t.test('a duration that is too long is not suggested', async t => {
  const { text } = await tryLoad(t, BASE.replace('kind: simulator', 'kind: simulator, limits: { queue: 100d }'))
  t.match(text, 'expected a duration with its unit')
  t.notMatch(text, 'did you mean')
})

t.test('a queue where no limit makes requests wait is a warning', async t => {
  const trial = (upstream: string, model: string): ReturnType<typeof tryLoad> =>
    tryLoad(
      t,
      `version: 1
keys: { local: { secret: { env: KEY, generate: true } } }
upstreams: { sim: { kind: simulator, limits: ${upstream} } }
models: { sim-text: { upstream: sim, limits: ${model} } }
`,
      { shipped: SHIPPED },
    )
  t.same((await trial('{ queue: 5s }', '{}')).reported, ['idle-queue 3:55'])
  t.same((await trial('{}', '{ queue: 5s }')).reported, ['idle-queue 4:55'])
  for (const bound of ['in_flight: 2', 'streams: 2', 'requests: 5/s']) {
    t.same((await trial(`{ queue: 5s, ${bound} }`, '{}')).reported, [])
    t.same((await trial('{ queue: 5s }', `{ ${bound} }`)).reported, [], 'the model has it')
    t.same((await trial(`{ ${bound} }`, '{ queue: 5s }')).reported, [], 'the upstream has it')
  }
})

t.test('a step of a price is written once, and one that has only steps is a price of what they name', async t => {
  const trial = (price: string): ReturnType<typeof tryLoad> =>
    tryLoad(t, `${BASE}prices: { sim-text: ${price} }\n`, { shipped: SHIPPED })
  const twice = await trial('{ input: 1, above: { 200k: { input: 2 }, 200000: { input: 3 } } }')
  t.match(twice.reported, [/^repeated-step /])
  t.match(twice.text, 'prices.sim-text.above.200k  the step above 200000 tokens is written twice')
  t.same((await trial('{ above: { 200k: { input: 2 } } }')).reported, [])
})
