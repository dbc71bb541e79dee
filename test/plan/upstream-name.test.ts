import t from 'tap'
import { UpstreamCall } from '../../src/plan/calls.js'
import { placeCredential } from '../../src/plan/credential.js'
import { ModelIndex } from '../../src/plan/model-index.js'
import { upstreamName } from '../../src/plan/upstream-name.js'
import type { Endpoint } from '../../src/plan/upstreams.js'
import { modelOf } from '../helpers/config-builder.js'

function endpointOf(target: string): Endpoint {
  const call = new UpstreamCall({ method: 'POST', target }, '', placeCredential(undefined))
  return { call, stream: call, request: [], response: [] }
}

const IN_BODY = endpointOf('/v1/chat')
const IN_PATH = endpointOf('/v1/{model}:generate')

/** The upstream's name for `name`, where the configuration says `declared` and perhaps `as`. */
function named(endpoint: Endpoint, name: string, declared = name, as?: string): string | undefined {
  const found = new ModelIndex({ [declared]: modelOf('up') }).find(name)
  if (found === undefined) throw new Error('the names do not match')
  return upstreamName(name, found, as, endpoint)
}

t.test("without `as` it is the client's name", async t => t.equal(named(IN_BODY, 'm'), 'm'))
t.test('`as` is taken as it is', async t => t.equal(named(IN_BODY, 'm', 'm', 'other'), 'other'))
t.test('`as` holds for every name of a glob', async t => t.equal(named(IN_BODY, 'a-b', 'a-*', 'other'), 'other'))
t.test('a * in `as` takes what the first * matched', async t => {
  t.equal(named(IN_BODY, 'far/meta/l-8b', 'far/*', '*'), 'meta/l-8b')
  t.equal(named(IN_BODY, 'x-1-y-2', 'x-*-y-*', 'z*'), 'z1')
  t.equal(named(IN_BODY, 'p$&', 'p*', 'q-*'), 'q-$&', 'whatever the text is')
})

t.test('in a body every name is fine', async t => {
  for (const name of ['..', 'a/../b', 'a%2fb', 'a\\b']) t.equal(named(IN_BODY, name, '*'), name)
})

t.test('F-C14 in a path a client adds no slashes, backslashes, escapes and dot segments', async t => {
  for (const name of ['..', '.', '../x', '../../management/foo', 'a/b', '%2e%2e', '%2F', 'a\\b']) {
    t.equal(named(IN_PATH, name, '*'), undefined, name)
    t.equal(named(IN_PATH, `g/${name}`, 'g/*', '*'), undefined, `g/${name}`)
  }
})

t.test('in a path what the configuration writes may hold slashes', async t => {
  t.equal(named(IN_PATH, 'org/name'), 'org/name')
  t.equal(named(IN_PATH, 'org/name', 'org/*'), 'org/name')
  t.equal(named(IN_PATH, 'short', 'short', 'org/name'), 'org/name')
})

t.test('in a path no one writes dot segments', async t => {
  t.equal(named(IN_PATH, 'm', 'm', '..'), undefined)
})

t.test('a name with dots is not a dot segment', async t =>
  t.equal(named(IN_PATH, 'swift-4.1..x', 'swift-*'), 'swift-4.1..x'),
)
