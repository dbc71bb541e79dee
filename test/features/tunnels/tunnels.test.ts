import t from 'tap'
import { FairShares } from '../../../src/core/fair-shares.js'
import { Tunnels } from '../../../src/features/tunnels/tunnels.js'

t.test('a caller has so many tunnels, and gives each back once', async t => {
  const tunnels = new Tunnels(new FairShares(100))
  const release = tunnels.take('a', 2)
  tunnels.take('a', 2)
  t.throws(() => tunnels.take('a', 2), { code: 'rate_limited', details: { limit: 'sessions' } })
  release()
  tunnels.take('a', 2)
})

t.test('one caller does not take all WebSockets of the process', async t => {
  const sockets = new FairShares(20)
  const tunnels = new Tunnels(sockets)
  for (let at = 0; at < 18; at++) tunnels.take('a', 100)
  t.throws(() => tunnels.take('a', 100), { code: 'unavailable', details: { limit: 'sockets', retryAfter: 1000 } })
  tunnels.take('b', 100)()
  t.equal(sockets.taken, 18)
})
