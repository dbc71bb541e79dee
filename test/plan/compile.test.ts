import t from 'tap'
import type { Caller } from '../../src/core/caller.js'
import type { RouteConfig } from '../../src/core/config.js'
import { Secret } from '../../src/core/secret.js'
import {
  answerRoute,
  CHAT_ROUTE,
  callOf,
  chatConfig,
  compiled,
  keyOf,
  modelOf,
  plainRoute,
  routeOf,
  upstreamOf,
} from '../helpers/config-builder.js'
import { fc } from '../helpers/property.js'

t.test('what the configuration says of the process goes into the plan as it is', async t => {
  const config = chatConfig({ log: { level: 'warn', format: 'auto' } })
  const { plan, problems } = compiled(config)
  t.same(problems, [])
  t.match(plan, {
    digest: 'digest',
    listen: config.listen,
    limits: config.limits,
    store: config.store,
    log: config.log,
  })
})

t.test('upstreams are in the plan, off ones too', async t => {
  const upstreams = { a: upstreamOf('https://a.example'), b: upstreamOf('https://b.example', { off: 'disabled' }) }
  const { plan } = compiled(chatConfig({ upstreams }))
  t.same(
    [...plan.upstreams].map(([name, { off }]) => [name, off]),
    [
      ['a', undefined],
      ['b', 'disabled'],
    ],
  )
})

t.test('a request finds its route, and the route its exchange', async t => {
  const { plan } = compiled(chatConfig({ models: { m: modelOf('north') } }))
  const found = plan.match('POST', '/v1/chat/completions')
  const exchange = found.route?.resolve('m')?.groups[0]?.exchanges[0]
  t.match(exchange, { upstream: { name: 'north' }, translation: undefined, model: 'm', call: { method: 'POST' } })
})

t.test('a key that the gateway made lets its caller in', async t => {
  const keys = { local: keyOf('', { secrets: [{ type: 'generated' }] }) }
  const { plan } = compiled(chatConfig({ keys }), { generated: name => new Secret(`made-for-${name}`) })
  t.match(plan.keys.find('made-for-local', 0), { name: 'local' })
})

t.test('a request schema is compiled and holds', async t => {
  const violation = { param: 'messages', message: 'is missing', rule: 'required' } as const
  const { plan } = compiled(chatConfig({ schemas: { s: {} }, routes: { [CHAT_ROUTE]: routeOf({ schema: 's' }) } }), {
    compileSchema: () => () => [violation],
  })
  t.same(plan.routes[0]?.validate?.({}), [violation])
})

t.test('two routes for the same requests are a problem', async t => {
  const route = plainRoute({ upstream: 'north' })
  const { problems } = compiled(chatConfig({ routes: { 'GET /v1/{a}': route, 'GET /v1/{b}': route } }))
  t.match(problems, [{ path: 'routes["GET /v1/{b}"]', rule: 'route-clash', severity: 'error' }])
})

t.test('a call that needs a parameter which the route does not have is a problem', async t => {
  const upstreams = { north: upstreamOf('https://n.example', { speaks: { chat: callOf('POST /{account}/chat') } }) }
  const { problems } = compiled(chatConfig({ upstreams, models: { m: modelOf('north') } }))
  t.match(problems, [{ path: `routes["${CHAT_ROUTE}"]`, rule: 'unknown-parameter', message: /needs \{account\}/ }])
})

t.test('all problems are reported at once', async t => {
  const route = routeOf({ schema: 'missing' })
  const routes = { 'POST /v1/a': route, 'POST /v1/b': route }
  const { problems } = compiled(chatConfig({ keys: { k: keyOf('ü') }, routes }))
  t.same(
    problems.map(problem => problem.path),
    ['routes["POST /v1/a"].schema', 'routes["POST /v1/b"].schema', 'keys.k.secret'],
  )
})

t.test("F-U20 a header in which any route looks for callers' keys goes to no upstream", async t => {
  const caller = [{ in: 'header', name: 'X-Api-Key' }] as const
  const upstreams = {
    north: upstreamOf('https://n.example', { forward: { request: ['x-*'], response: [], trace: true } }),
  }
  const { plan } = compiled(chatConfig({ upstreams, routes: { [CHAT_ROUTE]: routeOf({ caller }) } }))
  t.notOk(plan.upstreams.get('north')?.forward.request('x-api-key'))
})

t.test('F-A3 what a caller lists is what it may use and some route serves: no more, no less', async t => {
  const names = fc.constantFrom('a', 'b', 'a1', 'b/2', 'ab', 'A')
  const patterns = fc.constantFrom('*', 'a*', '*1', 'b/*', 'a', 'b', 'ab')
  const routes = {
    [CHAT_ROUTE]: routeOf(),
    'POST /v1/embeddings': routeOf({ protocol: 'embeddings', stream: 'never' }),
  }
  const upstreams = {
    on: upstreamOf('https://on.example'),
    off: upstreamOf('https://off.example', { off: 'disabled' }),
    other: upstreamOf('https://other.example', { speaks: { embeddings: callOf('POST /v1/embeddings') } }),
    mute: upstreamOf('https://mute.example', { speaks: { videos: callOf('POST /v1/videos') } }),
  }
  const models = fc.dictionary(fc.oneof(names, patterns), fc.constantFrom('on', 'off', 'other', 'mute'))
  fc.assert(
    fc.property(models, fc.array(patterns), (targets, allowed) => {
      const config = Object.fromEntries(Object.entries(targets).map(([name, upstream]) => [name, modelOf(upstream)]))
      const keys = { k: keyOf('k', { models: allowed }) }
      const { plan } = compiled(chatConfig({ keys, upstreams, routes, models: config }))
      const caller = plan.keys.find('k', 0) as Caller
      const listed = new Set(plan.models.list(caller).map(entry => entry.id))
      return ['a', 'b', 'a1', 'b/2', 'ab', 'A', '*', 'a*', ' a', 'a ', 'models/a'].every(name => {
        const served = plan.routes.some(route => route.resolve(name) !== undefined)
        const found = plan.models.find(name, caller) !== undefined
        if (found !== (caller.may(name) && served)) return false
        return !listed.has(name) || found
      })
    }),
    { numRuns: 500 },
  )
  t.pass('for 500 configurations')
})

t.test('F-A3 a name in another spelling is another name, on every route', async t => {
  const models = { 'swift-*': modelOf('north'), embed: modelOf('north') }
  const { plan } = compiled(chatConfig({ keys: { k: keyOf('k', { models: ['embed'] }) }, models }))
  const caller = plan.keys.find('k', 0) as Caller
  for (const name of [
    'Embed',
    'embed ',
    'embed\u200b',
    'ｅmbed',
    'models/embed',
    'swift-1',
    'embed:latest',
    'embed\0',
  ]) {
    t.notOk(caller.may(name), name)
    t.equal(plan.models.find(name, caller), undefined)
  }
})

t.test('F-C14 whatever a client puts into a path, the upstream path keeps its segments', async t => {
  const speaks = { generate: callOf('POST /base/models/{model}:generate?alt=sse') }
  const { plan } = compiled(
    chatConfig({
      upstreams: { north: upstreamOf('https://north.example/x', { speaks }) },
      models: { '*': modelOf('north'), 'far/*': modelOf({ upstream: 'north', as: 'near-*' }) },
      routes: {
        'POST /v1/models/{model}:generate': routeOf({ protocol: 'generate', model: { from: 'path', name: 'model' } }),
      },
    }),
  )
  const pieces = fc.constantFrom(
    'a',
    'far/',
    '.',
    '..',
    '/',
    '\\',
    '%',
    '%2e',
    '%2F',
    ':',
    ';',
    '?',
    '#',
    '&',
    ' ',
    'ü',
  )
  const names = fc.oneof(
    fc.array(pieces, { maxLength: 6 }).map(parts => parts.join('')),
    fc.string({ unit: 'grapheme' }),
  )
  let served = 0
  fc.assert(
    fc.property(names, name => {
      const found = plan.match('POST', `/v1/models/${encodeURIComponent(name)}:generate`)
      const exchange = found.route?.resolve(found.params.model ?? '')?.groups[0]?.exchanges[0]
      if (exchange === undefined) return true
      served++
      const target = exchange.call.target({ model: exchange.model })
      const { pathname, search } = new URL(exchange.upstream.origin + target)
      const [, x, base, models, last, ...more] = pathname.split('/')
      const whole = pathname + search === target && search === '?alt=sse'
      return (
        whole &&
        [x, base, models].join() === 'x,base,models' &&
        last?.endsWith(':generate') === true &&
        more.length === 0
      )
    }),
    { numRuns: 5000 },
  )
  t.ok(served > 100, 'and many of them are served')
})

t.test('the gateway answers for its models', async t => {
  const routes = {
    [CHAT_ROUTE]: routeOf(),
    'GET /v1/models': answerRoute('models'),
    'GET /v1/models/{id*}': answerRoute('model', { model: { from: 'path', name: 'id' } }),
  }
  const { plan } = compiled(chatConfig({ routes, models: { 'org/m': modelOf('north') } }))
  const found = plan.match('GET', '/v1/models/org/m')
  t.match(found, { route: { answer: 'model', lane: 'answer', model: { from: 'path', name: 'id' } } })
  t.equal(found.route && found.params[found.route.model?.name ?? ''], 'org/m')
})

t.test('10,000 routes and 1,000 models compile without making each pair', async t => {
  const routes: Record<string, RouteConfig> = {}
  for (let index = 0; index < 10_000; index++) routes[`POST /v1/r${index}/{id}/x`] = routeOf()
  const models = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`m${index}`, modelOf('north')]))
  const { plan } = compiled(chatConfig({ routes, models }))
  t.equal(plan.routes.length, 10_000)
  t.equal(plan.routes[0]?.resolve('m7'), plan.routes[9999]?.resolve('m7'), 'routes that say the same share exchanges')
})
