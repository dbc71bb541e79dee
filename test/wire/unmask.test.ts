import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Unmasker } from '../../src/wire/unmask.js'
import { fc } from '../helpers/property.js'
import { cut, places } from './cuts.js'

/** As RFC 6455 §5.3 puts it: octet i is masked with octet i modulo 4 of the key. */
function masked(payload: Buffer, key: Buffer): Buffer {
  return payload.map((byte, at) => byte ^ (key[at & 3] ?? 0)) as Buffer
}

function unmask(pieces: readonly Buffer[], key: Buffer): Buffer {
  const unmasker = new Unmasker()
  unmasker.key(key, 0)
  const plain: Buffer[] = []
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const length = unmasker.unmask(piece, at, piece.length)
      plain.push(Buffer.from(unmasker.plain.subarray(0, length)))
      at += length
    }
  }
  return Buffer.concat(plain)
}

t.test('a payload cut anywhere comes out as it went in, and stays as it is', async t => {
  const bytes = fc.uint8Array({ maxLength: 100 }).map(bytes => Buffer.from(bytes))
  const keys = fc.uint8Array({ minLength: 4, maxLength: 4 }).map(bytes => Buffer.from(bytes))
  fc.assert(
    fc.property(bytes, keys, places, (payload, key, cuts) => {
      const hidden = masked(payload, key)
      const before = Buffer.from(hidden)
      return unmask(cut(hidden, cuts), key).equals(payload) && hidden.equals(before)
    }),
  )
  t.pass()
})

t.test('payloads longer than what is unmasked at a time continue where they were', async t => {
  for (const length of [65_535, 65_536, 65_537, 65_539, 200_001]) {
    const [payload, key] = [randomBytes(length), randomBytes(4)]
    t.ok(unmask([masked(payload, key)], key).equals(payload), `${length}`)
    const pieces = [masked(payload, key).subarray(0, 3), masked(payload, key).subarray(3)]
    t.ok(unmask(pieces, key).equals(payload), `${length} after a short piece`)
  }
})
