import fc from 'fast-check'
import t from 'tap'
import { LongText, type Overflow } from '../../src/core/long-text.js'

/** Text that waits for the end of an answer: the same characters, however they came, and little of it in memory. */

/** An overflow that counts, and takes so many bytes. */
class Counting implements Overflow {
  readonly #blocks: Buffer[] = []
  readonly #most: number
  length = 0

  constructor(most: number) {
    this.#most = most
  }

  write(bytes: Buffer): number | undefined {
    if (this.length + bytes.length > this.#most) return undefined
    const at = this.length
    this.#blocks.push(Buffer.from(bytes))
    this.length += bytes.length
    return at
  }

  read(at: number, length: number): Buffer {
    return Buffer.concat(this.#blocks).subarray(at, at + length)
  }
}

const MOST_IN_MEMORY = 64 * 1024

t.test('what was appended comes back, whole and in parts', async () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('\ud83d', '\ude00', '\u00ff', '\u0100', 'a'.repeat(5000), '\u4e2d'.repeat(9000)),
  )
  const runs = fc.array(fc.tuple(piece, fc.integer({ min: 1, max: 40 })), { maxLength: 30 })
  fc.assert(
    fc.property(runs, fc.constantFrom(0, 70_000, 1e9), fc.nat(), fc.nat(), (runs, most, a, b) => {
      const text = new LongText(new Counting(most))
      let all = ''
      for (const [piece, times] of runs) {
        for (let i = 0; i < times; i++) {
          text.append(piece)
          all += piece
        }
      }
      const [start = 0, end = 0] = [a % (all.length + 1), b % (all.length + 1)].sort((x, y) => x - y)
      return text.length === all.length && text.toString() === all && text.slice(start, end) === all.slice(start, end)
    }),
    { numRuns: 100 },
  )
})

for (const [name, piece, width] of [
  ['of one byte', 'a', 1],
  ['long', 'word '.repeat(1000), 1],
  ['of two bytes', '\u4e2d', 2],
] as const) {
  t.test(`a million characters that come ${name} wait elsewhere`, async t => {
    const overflow = new Counting(Number.POSITIVE_INFINITY)
    const text = new LongText(overflow)
    for (let i = 0; i < 1_000_000 / piece.length; i++) text.append(piece)
    t.ok(text.length * width - overflow.length <= MOST_IN_MEMORY, `${overflow.length} bytes of ${text.length}`)
  })
}
