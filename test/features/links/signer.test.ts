import { randomBytes } from 'node:crypto'
import t from 'tap'
import { LinkSigner, Links } from '../../../src/features/links/signer.js'
import { MemoryStore } from '../../../src/stores/memory.js'

const LINK = { id: 'task_1', variant: 'image', expires: 1_800_000_000 }

t.test('a signature names the owner to anyone who has the secret', async t => {
  const secret = randomBytes(64)
  const signer = new LinkSigner(secret)
  const signature = signer.sign('team search', LINK)
  t.match(signature, /^[A-Za-z0-9_-]+$/)
  t.notMatch(Buffer.from(signature, 'base64url').toString('latin1'), /team/)
  t.equal(signer.owner(signature, LINK), 'team search')
  t.equal(new LinkSigner(secret).owner(signature, LINK), 'team search')
  t.equal(new LinkSigner(randomBytes(64)).owner(signature, LINK), undefined)
  t.equal(signer.sign('team search', LINK), signature, 'the same each time')
})

t.test('it holds for that link alone', async t => {
  const signer = new LinkSigner(randomBytes(64))
  const signature = signer.sign('caller', LINK)
  for (const other of [{ id: 'task_2' }, { variant: 'video' }, { expires: LINK.expires + 1 }]) {
    t.equal(signer.owner(signature, { ...LINK, ...other }), undefined)
  }
})

t.test('any bit of it counts', async t => {
  const signer = new LinkSigner(randomBytes(64))
  const bytes = Buffer.from(signer.sign('caller', LINK), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const other = Buffer.from(bytes)
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    t.equal(signer.owner(other.toString('base64url'), LINK), undefined)
  }
  for (const none of [
    '',
    'x',
    '%',
    'a'.repeat(10_000),
    bytes.toString('base64'),
    bytes.subarray(0, 28).toString('base64url'),
  ]) {
    t.equal(signer.owner(none, LINK), undefined)
  }
})

t.test('all who share a store share the secret, however many make it at once', async t => {
  const store = new MemoryStore()
  t.teardown(() => store.close())
  const signers = await Promise.all([new Links(store), new Links(store), new Links(store)].map(one => one.signer()))
  const [first] = signers
  const signature = first?.sign('caller', LINK) ?? ''
  for (const signer of signers) t.equal(signer.owner(signature, LINK), 'caller')
})
