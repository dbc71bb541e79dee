import t from 'tap'
import { EventShares } from '../../../src/kernel/responses/event-shares.js'

const MIB = 1024 * 1024

t.test('few runs keep what one may keep; many share what all may keep, first by key', t => {
  const shares = new EventShares()
  for (let n = 0; n < 24; n++) shares.add('ann')
  t.equal(shares.of('ann'), 2 * MIB)
  for (let n = 0; n < 24; n++) shares.add('ann')
  t.equal(shares.of('ann'), MIB)
  shares.add('bob')
  t.equal(shares.of('ann'), MIB / 2, "a key's runs take nothing from another key")
  t.equal(shares.of('bob'), 2 * MIB)
  shares.delete('bob')
  t.equal(shares.of('ann'), MIB)
  for (let n = 0; n < 48; n++) shares.delete('ann')
  t.equal(shares.of('ann'), 2 * MIB)
  t.end()
})
