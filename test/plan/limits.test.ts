import t from 'tap'
import type { AccountingConfig } from '../../src/core/accounting-config.js'
import type { ScopeLimits } from '../../src/core/bounds.js'
import type { Caller } from '../../src/core/caller.js'
import type { Config } from '../../src/core/config.js'
import type { Exchange } from '../../src/core/plan.js'
import { atOnce } from '../../src/core/steps.js'
import { type CompiledPlan, compiling } from '../../src/plan/compile.js'
import { chatConfig, keyOf, modelOf, upstreamOf } from '../helpers/config-builder.js'

const ACCOUNTING: AccountingConfig = {
  timeZone: 'UTC',
  ledger: { retention: 1000 },
  prices: {},
  shippedPrices: {},
}

function requests(amount: number): ScopeLimits {
  return { bounds: [{ unit: 'requests', amount, window: 'minute' }] }
}

function configWith(parts: Partial<Config>): Config {
  const models = { large: modelOf('north'), 'small-*': modelOf('south') }
  return chatConfig({ accounting: ACCOUNTING, models, ...parts })
}

function planOf(config: Config, before?: CompiledPlan): CompiledPlan {
  const tools = { compileSchema: () => () => [], generated: () => undefined }
  return atOnce(compiling(config, 'digest', tools, before)).plan
}

function callerOf(plan: CompiledPlan, name = 'alice'): Caller {
  const caller = plan.keys.named(name, 0)
  if (caller === undefined || 'refused' in caller) throw new Error(`no caller is called ${name}`)
  return caller
}

function exchangeOf(plan: CompiledPlan, model: string): Exchange {
  const exchange = plan.routes[0]?.resolve(model)?.groups[0]?.exchanges[0]
  if (exchange === undefined) throw new Error(`nothing serves ${model}`)
  return exchange
}

t.test('a plan without accounting has no policies and no tariffs', async t => {
  const plan = planOf(chatConfig({ models: { large: modelOf('north') }, keys: { alice: keyOf('a'.repeat(20)) } }))
  t.equal(plan.accounting, undefined)
  t.notOk('policy' in callerOf(plan))
  t.notOk('tariff' in exchangeOf(plan, 'large'))
})

t.test('the scopes of a caller are its own, then those of its groups from the inside out', async t => {
  const plan = planOf(
    configWith({
      groups: {
        all: { limits: requests(3) },
        middle: { group: 'all' },
        team: { group: 'middle', limits: requests(2) },
      },
      keys: {
        alice: keyOf('a'.repeat(20), { group: 'team', limits: requests(1) }),
        bob: keyOf('b'.repeat(20), { group: 'team' }),
        carl: keyOf('c'.repeat(20)),
      },
    }),
  )
  const named = (caller: Caller): unknown => caller.policy?.scopes.map(({ type, name }) => `${type} ${name}`)
  const [alice, bob] = [callerOf(plan), callerOf(plan, 'bob')]
  t.same(named(alice), ['key alice', 'group team', 'group all'])
  t.same(named(bob), ['group team', 'group all'])
  t.equal(alice.policy?.scopes[1], bob.policy?.scopes[0], 'one object for a group')
  t.equal(alice.policy?.group, 'team')
  t.same(callerOf(plan, 'carl').policy, { scopes: [], group: undefined, groups: [] })
})

t.test('what a group says of unpriced models holds for its keys unless they say otherwise', async t => {
  const plan = planOf(
    configWith({
      groups: { all: { limits: { bounds: [], unpriced: 'free' } }, team: { group: 'all', limits: requests(2) } },
      keys: {
        alice: keyOf('a'.repeat(20), { group: 'team', limits: requests(1) }),
        bob: keyOf('b'.repeat(20), { group: 'team', limits: { bounds: [], unpriced: 'refuse' } }),
      },
    }),
  )
  t.same(
    callerOf(plan).policy?.scopes.map(scope => scope.limits.unpriced),
    ['free', 'free', 'free'],
  )
  t.equal(callerOf(plan, 'bob').policy?.scopes[0]?.limits.unpriced, 'refuse')
})

t.test('a key may use what it and all of its groups allow', async t => {
  const plan = planOf(
    configWith({
      groups: {
        all: { models: ['large', 'small-*'], routes: ['POST *'], networks: ['10.0.0.0/8', 'fd00::/8'] },
        team: { group: 'all', models: ['small-1*'], networks: ['10.1.0.0/16', 'fd00:1::/32'] },
      },
      keys: {
        alice: keyOf('a'.repeat(20), { group: 'team', routes: ['POST /v1/chat/*', 'GET *'] }),
        bob: keyOf('b'.repeat(20), { group: 'all', models: ['large', 'small-2'] }),
      },
    }),
  )
  const [alice, bob] = [callerOf(plan), callerOf(plan, 'bob')]
  t.same(
    ['large', 'small-1', 'small-12', 'small-2'].map(model => alice.may(model)),
    [false, true, true, false],
  )
  t.same(alice.models, ['small-1*'])
  t.same(bob.models, ['large', 'small-2'])
  t.same(plan.models.list(alice), [])
  t.same(
    plan.models.list(bob).map(({ id }) => id),
    ['large', 'small-2'],
  )
  t.same(
    ['POST /v1/chat/completions', 'GET /v1/models', 'POST /v1/embeddings'].map(route => alice.policy?.mayUse?.(route)),
    [true, false, false],
  )
  t.same(
    ['10.1.2.3', '10.2.0.1', '192.0.2.1', 'fd00:1::5', 'fd00:2::5', '::1'].map(one => alice.policy?.mayComeFrom?.(one)),
    [true, false, false, true, false, false],
  )
  t.equal(bob.policy?.mayUse?.('GET /v1/models'), false)
})

t.test('a tariff has the scopes of the model and of the upstream, and says what is charged', async t => {
  const plan = planOf(
    configWith({
      accounting: { ...ACCOUNTING, unpriced: 'free', prices: { large: { input: 5 } } },
      models: {
        large: modelOf('north', { limits: requests(5), maxOutput: 100 }),
        'small-*': modelOf('south', { limits: { bounds: [], unpriced: 'refuse' }, onClientAbort: 'cancel' }),
      },
      upstreams: {
        north: upstreamOf('https://north.example', { limits: requests(9), onClientAbort: 'drain' }),
        south: upstreamOf('https://south.example', { onClientAbort: 'drain' }),
      },
    }),
  )
  const { tariff } = exchangeOf(plan, 'large')
  t.match(tariff, { price: { input: 5 }, maxOutput: 100, unpriced: 'free', onClientAbort: 'drain' })
  t.same(
    tariff?.scopes.map(({ type, name }) => `${type} ${name}`),
    ['model large', 'upstream north'],
  )
  const small = exchangeOf(plan, 'small-1').tariff
  t.match(small, { price: undefined, maxOutput: undefined, unpriced: 'refuse', onClientAbort: 'cancel' })
  t.same(
    small?.scopes.map(({ name }) => name),
    ['small-*'],
  )
  t.equal(small?.scopes, exchangeOf(plan, 'small-2').tariff?.scopes, 'one list for all names of a glob')
})

t.test('prices are found by the most telling name, exact names before globs', async t => {
  const lists = [
    { 'north/theirs': { request: 1 } },
    { theirs: { request: 2 } },
    { ours: { request: 3 } },
    { 'north/*': { request: 4 } },
    { 'the*': { request: 5 } },
    { 'ou*': { request: 6 } },
  ]
  const upstream = { theirs: { request: 7 } }
  const shippedPrices = { theirs: { request: 8 }, ours: { request: 9 } }
  for (let first = 0; first <= lists.length; first++) {
    const prices = Object.assign({}, ...lists.slice(first).reverse())
    const plan = planOf(
      configWith({
        accounting: { ...ACCOUNTING, prices, shippedPrices },
        models: { ours: modelOf({ upstream: 'north', as: 'theirs' }) },
        upstreams: { north: upstreamOf('https://north.example', { prices: upstream }) },
      }),
    )
    t.same(exchangeOf(plan, 'ours').tariff?.price, { request: first + 1 })
  }
  const shipped = planOf(
    configWith({
      accounting: { ...ACCOUNTING, shippedPrices },
      models: { ours: modelOf({ upstream: 'north', as: 'theirs' }), other: modelOf('north') },
    }),
  )
  t.same(exchangeOf(shipped, 'ours').tariff?.price, { request: 8 })
  t.equal(exchangeOf(shipped, 'other').tariff?.price, undefined)
})

t.test('a reload keeps the scopes of what says the same', async t => {
  const config = (team: number): Config =>
    configWith({
      groups: { team: { limits: requests(team) } },
      keys: {
        alice: keyOf('a'.repeat(20), { group: 'team', limits: requests(1) }),
        bob: keyOf('b'.repeat(20), { limits: requests(1) }),
      },
      models: { large: modelOf('north', { limits: requests(5) }) },
      upstreams: { north: upstreamOf('https://north.example', { limits: requests(9) }) },
    })
  const one = planOf(config(2))
  const same = planOf(config(2), one)
  t.equal(callerOf(same).policy?.scopes[0], callerOf(one).policy?.scopes[0])
  t.equal(callerOf(same).policy?.scopes[1], callerOf(one).policy?.scopes[1])
  t.equal(exchangeOf(same, 'large').tariff?.scopes[0], exchangeOf(one, 'large').tariff?.scopes[0])
  t.equal(exchangeOf(same, 'large').tariff?.scopes[1], exchangeOf(one, 'large').tariff?.scopes[1])
  const other = planOf(config(3), same)
  t.equal(callerOf(other).policy?.scopes[0], callerOf(one).policy?.scopes[0], "the key's own is the same")
  t.not(callerOf(other).policy?.scopes[1], callerOf(one).policy?.scopes[1])
  t.equal(callerOf(other).policy?.scopes[1]?.limits.bounds[0]?.amount, 3)
})

t.test('a key whose entry is the same object gets another policy where its group has changed', async t => {
  const alice = keyOf('a'.repeat(20), { group: 'team' })
  const config = (limits: ScopeLimits): Config => configWith({ groups: { team: { limits } }, keys: { alice } })
  const one = planOf(config(requests(2)))
  t.equal(callerOf(planOf(config(requests(2)), one)), callerOf(one), 'the caller is reused')
  const other = planOf(config(requests(3)), one)
  t.equal(callerOf(other).policy?.scopes[0]?.limits.bounds[0]?.amount, 3)
  const { accounting: _, ...plain } = configWith({ keys: { alice: keyOf('a'.repeat(20)) } })
  t.equal(callerOf(planOf(plain, other)).policy, undefined)
})
