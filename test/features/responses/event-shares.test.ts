import t from 'tap'
import { EventShares } from '../../../src/features/responses/event-shares.js'

const KIB = 1024

t.test('few runs keep what one may keep; many share what all may keep, first by key', t => {
  const shares = new EventShares()
  for (let n = 0; n < 32; n++) shares.add('ann')
  t.equal(shares.of('ann'), 256 * KIB)
  for (let n = 0; n < 32; n++) shares.add('ann')
  t.equal(shares.of('ann'), 128 * KIB)
  shares.add('bob')
  t.equal(shares.unread('ann'), 384 * KIB, 'while a reader is behind, six times as much')
  t.equal(shares.of('ann'), 64 * KIB, "a key's runs take nothing from another key")
  t.equal(shares.of('bob'), 256 * KIB)
  shares.delete('bob')
  t.equal(shares.of('ann'), 128 * KIB)
  for (let n = 0; n < 64; n++) shares.delete('ann')
  t.equal(shares.unread('ann'), 8192 * KIB)
  t.equal(shares.of('ann'), 256 * KIB)
  t.end()
})
