import t from 'tap'
import type { RouteConfig } from '../../src/core/config.js'
import { DEFAULTS } from '../../src/core/defaults.generated.js'
import type { Route } from '../../src/core/plan.js'
import {
  answerRoute,
  CHAT_ROUTE,
  chatConfig,
  compiled,
  modelOf,
  plainRoute,
  routeOf,
} from '../helpers/config-builder.js'

function routeFrom(config: RouteConfig, id = CHAT_ROUTE): Route {
  const { plan } = compiled(chatConfig({ models: { m: modelOf('north') }, routes: { [id]: config } }))
  const route = plan.routes[0]
  if (route === undefined) throw new Error('no route')
  return route
}

t.test('a route says of itself what was written', async t => {
  t.match(routeFrom(routeOf({ shipped: true })), {
    id: CHAT_ROUTE,
    method: 'POST',
    lane: 'exchange',
    answer: undefined,
    errors: 'compatible',
    protocol: { name: 'chat' },
    model: { from: 'body', name: 'model' },
    stream: { from: 'body', name: 'stream' },
    body: 'json',
    shipped: true,
  })
})

t.test('the members of the body that decide what happens are its control members, each once', async t => {
  t.same(routeFrom(routeOf()).control, ['model', 'stream', 'store'])
  t.same(routeFrom(routeOf({ stream: 'always', protocol: 'messages' })).control, ['model'])
  t.same(routeFrom(routeOf({ stream: { from: 'query', name: 'stream' }, protocol: 'messages' })).control, ['model'])
  const state = ['previous_response_id', 'store', 'background', 'conversation', 'input', 'prompt']
  for (const protocol of ['responses', 'responses.input_tokens']) {
    t.same(routeFrom(routeOf({ protocol })).control, ['model', 'stream', ...state])
  }
  t.same(routeFrom(routeOf({ stream: { from: 'body', name: 'model' }, protocol: 'messages' })).control, ['model'])
})

t.test("limits are everybody's but for those that the route sets", async t => {
  const { line, event, response, depth, members, values, parts, field, fields } = DEFAULTS.limits
  const others = { line, event, response, depth, members, values, parts, field, fields }
  t.same(routeFrom(routeOf({ limits: { body: 10 } })).limits, { body: 10, ...others })
})

t.test('a route with a model serves models, and nothing without a name', async t => {
  const { resolve } = routeFrom(routeOf())
  t.equal(resolve('m')?.groups.length, 1)
  t.equal(resolve(''), undefined)
})

t.test('a route with an upstream serves requests without a model', async t => {
  const { resolve } = routeFrom(plainRoute({ upstream: 'south' }), 'GET /v1/x')
  t.equal(resolve('')?.groups[0]?.exchanges[0]?.upstream.name, 'south')
})

t.test('a route that the gateway answers has no exchanges', async t => {
  const route = routeFrom(answerRoute('models'), 'GET /v1/models')
  t.match(route, { lane: 'answer', answer: 'models', protocol: undefined })
  t.equal(route.resolve('m'), undefined)
})
