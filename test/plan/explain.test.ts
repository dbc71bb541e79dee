import t from 'tap'
import type { Plan } from '../../src/core/plan.js'
import { Secret } from '../../src/core/secret.js'
import { explainPlan, explainRequest, planFacts, requestFacts } from '../../src/plan/explain.js'
import { CHAT_ROUTE, chatConfig, compiled, keyOf, modelOf, routeOf, upstreamOf } from '../helpers/config-builder.js'

const CONFIG = chatConfig({
  keys: { ops: keyOf('canary-caller', { models: ['m', 'n'] }) },
  upstreams: {
    north: upstreamOf('https://north.example', {
      credential: { place: { in: 'header', name: 'x-key' }, secret: new Secret('canary-north') },
    }),
    south: upstreamOf('https://south.example', {
      credential: { place: { in: 'query', name: 'key' }, secret: new Secret('canary-south') },
    }),
  },
  models: { m: modelOf(['north', 'south']), 'n*': modelOf('south') },
  routes: {
    [CHAT_ROUTE]: routeOf({
      caller: [
        { in: 'header', name: 'x-key' },
        { in: 'query', name: 'api_key' },
      ],
    }),
  },
})
const { plan } = compiled(CONFIG)
const POST = { method: 'POST', path: '/v1/chat/completions' } as const

t.test('the same plan gives the same text', async t => {
  t.equal(explainPlan(plan, CONFIG), explainPlan(compiled(CONFIG).plan, CONFIG))
})

t.test('F-D2 neither text nor facts hold a secret', async t => {
  const ask = { ...POST, path: `${POST.path}?api_key=canary-caller`, model: 'm', key: 'canary-caller' }
  const told = [
    explainPlan(plan, CONFIG),
    JSON.stringify(planFacts(plan, CONFIG)),
    explainRequest(plan, ask),
    JSON.stringify(requestFacts(plan, ask)),
  ]
  for (const text of told) t.notMatch(text, 'canary')
})

t.test('facts of a request hold its exchanges in order', async t => {
  t.match(requestFacts(plan, { ...POST, model: 'm', key: 'ops' }), {
    route: CHAT_ROUTE,
    key: 'ops',
    model: 'm',
    stream: false,
    exchanges: [
      { group: 1, upstream: 'north', url: 'https://north.example/v1/chat/completions', headers: ['x-key: [secret]'] },
      { group: 2, upstream: 'south', url: 'https://south.example/v1/chat/completions?key=[secret]', headers: [] },
    ],
  })
})

t.test('a key may be given by its name or as it is presented', async t => {
  t.equal(requestFacts(plan, { ...POST, model: 'm', key: 'ops' }).key, 'ops')
  t.equal(requestFacts(plan, { ...POST, model: 'm', key: 'canary-caller' }).key, 'ops')
})

t.test('facts of a refused request say which error its client gets', async t => {
  t.match(requestFacts(plan, { ...POST, model: 'n1', key: 'ops' }), {
    exchanges: [],
    error: { status: 404, code: 'model_not_found', family: 'compatible' },
  })
  t.match(requestFacts(plan, { ...POST, method: 'PUT' }).error, { status: 405, allow: ['POST'] })
})

t.test('only compiled plans can be explained', async t => {
  t.throws(() => explainRequest({} as Plan, POST), TypeError)
})

t.test('explain shows what is recorded and what is played, for the plan and for a request', async t => {
  const recordings = { from: '/data/tapes', match: ['type'], timing: 'recorded' } as const
  const config = chatConfig({
    record: { into: '/data/new', models: ['n*'], mask: [], words: [], members: [] },
    upstreams: {
      north: upstreamOf('https://north.example'),
      south: upstreamOf('https://south.example', { recordings }),
    },
    models: { m: modelOf('north'), n: modelOf('south') },
  })
  const { plan } = compiled(config)
  t.match(explainPlan(plan, config), 'plays /data/tapes, match type, timing recorded')
  t.match(explainRequest(plan, { ...POST, model: 'n' }), 'recorded  into /data/new')
  t.equal(requestFacts(plan, { ...POST, model: 'm' }).recorded, undefined)
})
