import t from 'tap'
import { Secret } from '../../src/core/secret.js'
import { UpstreamCall } from '../../src/plan/calls.js'
import { placeCredential } from '../../src/plan/credential.js'

const NONE = placeCredential(undefined)
const IN_QUERY = placeCredential({ place: { in: 'query', name: 'key' }, secret: new Secret('s') })

function call(target: string, prefix = '', credential = NONE): UpstreamCall {
  return new UpstreamCall({ method: 'POST', target }, prefix, credential)
}

t.test('a call without parameters is itself, behind the prefix of the base', async t => {
  t.equal(call('/v1/chat').target({}), '/v1/chat')
  t.equal(call('/v1/chat', '/proxy').target({}), '/proxy/v1/chat')
})

t.test('its text is what was written', async t => t.equal(call('/v1/{model}', '/proxy').text, 'POST /v1/{model}'))

t.test('values are percent-encoded, each into one segment', async t => {
  const generate = call('/v1beta/models/{model}:generate')
  t.equal(generate.target({ model: 'org/na me?x#y%&' }), '/v1beta/models/org%2Fna%20me%3Fx%23y%25%26:generate')
})

t.test('several values are filled in, each in its place', async t => {
  const both = call('/a/{x}/b/{y}?z={z}')
  t.equal(both.target({ x: '1', y: '2', z: '3&4' }), '/a/1/b/2?z=3%264')
  t.same(both.variables, ['x', 'y', 'z'])
})

t.test('the credential joins the query that is there', async t => {
  t.equal(call('/a', '', IN_QUERY).target({}), '/a?key=s')
  t.equal(call('/a?alt=sse', '', IN_QUERY).target({}), '/a?alt=sse&key=s')
})

t.test('what is shown has the credential masked', async t => {
  t.equal(call('/a/{model}', '/p', IN_QUERY).shown({ model: 'm' }), '/p/a/m?key=[secret]')
})

t.test('it knows what is in its path and what in its query', async t => {
  const one = call('/a/{x}?y={y}')
  t.same([one.placesInPath('x'), one.placesInPath('y'), one.placesInPath('z')], [true, false, false])
})

for (const value of ['.', '..']) {
  t.test(`F-C14 ${value} is not filled into a path`, async t => {
    t.throws(() => call('/a/{x}/b').target({ x: value }), /dot segment/)
    t.equal(call('/a?x={x}').target({ x: value }), `/a?x=${value}`)
  })
}

t.test('a value that is missing is a fault of the gateway', async t => {
  t.throws(() => call('/a/{x}').target({}), /the value of \{x\} is unknown/)
})

t.test('what is in brackets is left out where its parameter has no value', async t => {
  const moded = call('[/{mode}]/mj/{id}/fetch', '/proxy')
  t.equal(moded.target({ id: '7' }), '/proxy/mj/7/fetch')
  t.equal(moded.target({ id: '7', mode: 'fast' }), '/proxy/fast/mj/7/fetch')
  t.same(moded.variables, ['id'], 'no one has to have it')
  t.equal(moded.text, 'POST [/{mode}]/mj/{id}/fetch')
  t.equal(call('/a[?b={b}]').placesInPath('b'), false)
  t.equal(moded.placesInPath('mode'), true)
})
