import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { SignedExchange } from '../../src/net/signed-exchange.js'
import type { RequestSigner } from '../../src/net/signer.js'
import { ClientPool } from '../../src/transport/client/pool.js'
import { Heard } from '../transport/heard.js'

t.test('an abort before the request is sent again ends the exchange, once', async t => {
  let asked = 0
  const server = createServer((_request, response) => {
    asked++
    response.writeHead(asked === 1 ? 401 : 200).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const pool = new ClientPool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 5000)
  const heard = new Heard()
  const reason = new Error('aborted')
  let sent = 0
  const request = { method: 'GET', path: '/', headers: [], body: null }
  const signer: RequestSigner = {
    sign: () => request,
    isRefusal: status => status === 401,
    renew: async () => true,
    prepare: async () => undefined,
    onChange: () => undefined,
    fault: undefined,
    hidden: [],
  }
  const exchange = new SignedExchange(signer, request, heard, (_signed, handler) => {
    pool.send(request, handler)
    sent++
    if (sent === 2) exchange.abort(reason)
  })
  exchange.start()
  await heard.over
  await pool.close()
  t.same(heard.calls, ['start', 'error'])
  t.equal(heard.error, reason)
  t.same([sent, asked], [2, 1])
})
