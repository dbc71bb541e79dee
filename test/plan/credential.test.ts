import t from 'tap'
import { Secret } from '../../src/core/secret.js'
import { placeCredential } from '../../src/plan/credential.js'

const secret = new Secret('s e/cret')

t.test('a header with a scheme', async t => {
  t.match(placeCredential({ place: { in: 'header', name: 'Authorization', scheme: 'Bearer' }, secret }), {
    headers: ['authorization', 'Bearer s e/cret'],
    shownHeaders: ['authorization', 'Bearer [secret]'],
    query: '',
  })
})

t.test('a header without a scheme', async t => {
  t.match(placeCredential({ place: { in: 'header', name: 'x-api-key' }, secret }), {
    headers: ['x-api-key', 's e/cret'],
    shownHeaders: ['x-api-key', '[secret]'],
  })
})

t.test('a query parameter, percent-encoded', async t => {
  t.match(placeCredential({ place: { in: 'query', name: 'key' }, secret }), {
    headers: [],
    query: 'key=s%20e%2Fcret',
    shownQuery: 'key=[secret]',
  })
})

t.test('a subprotocol', async t => {
  t.match(placeCredential({ place: { in: 'subprotocol', prefix: 'api-key.' }, secret }), {
    headers: ['sec-websocket-protocol', 'api-key.s e/cret'],
    shownHeaders: ['sec-websocket-protocol', 'api-key.[secret]'],
  })
})

t.test('without a secret, or without a credential, nothing is placed', async t => {
  t.match(placeCredential({ place: { in: 'header', name: 'x-api-key' } }), { headers: [], query: '' })
  t.match(placeCredential(undefined), { headers: [], query: '' })
})
