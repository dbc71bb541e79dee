import t from 'tap'
import { linesOf } from '../../../src/cli/planning/lines.js'
import { fc } from '../../helpers/property.js'

const MOST = 8

async function read(chunks: readonly (Buffer | string)[]): Promise<readonly string[]> {
  const found: string[] = []
  const input = (async function* () {
    yield* chunks
  })()
  for await (const lines of linesOf(input, MOST)) found.push(...lines)
  return found
}

t.test('lines are those of the text, however it is cut, without those that are too long', async t => {
  const line = fc.string({ unit: fc.constantFrom('a', 'é', '€', '\r'), maxLength: 2 * MOST })
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat({ max: 40 })), async (lines, cuts) => {
      const bytes = Buffer.from(lines.join('\n'))
      const ends = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const chunks = ends.slice(1).map((end, at) => bytes.subarray(ends[at], end))
      const expected = lines.filter((text, at) => text.length <= MOST && (at < lines.length - 1 || text !== ''))
      return JSON.stringify(await read(chunks)) === JSON.stringify(expected)
    }),
  )
  t.same(await read(['a\nb', 'c\n', 'x'.repeat(100), 'y\nd']), ['a', 'bc', 'd'])
})
