import t from 'tap'
import { EntryList } from '../../../src/features/limits/entry-list.js'

const read = (list: EntryList): readonly (readonly [string, string])[] =>
  list.entries().map(({ day, value }) => [day, Buffer.from(value).toString()])

t.test('entries come back in their order, with their days, also of lists that are filled in turn', t => {
  const [one, other] = [new EntryList(), new EntryList()]
  const wanted: [string, string][] = []
  for (let at = 0; at < 2000; at++) {
    const day = at % 700 === 0 ? '2026-11-24' : '2026-11-23'
    const isAscii = at % 5 !== 0
    const text = `${at} ${isAscii ? 'x'.repeat(at % 300) : '東京'.repeat(at % 100)}`
    one.add({ day, text, isAscii })
    wanted.push([day, text])
    if (at % 3 === 0) other.add({ day, text: 'other', isAscii: true })
  }
  t.equal(one.size, 2000)
  t.same(read(one), wanted)
  t.equal(other.size, 667)
  t.ok(read(other).every(([, text]) => text === 'other'))
  t.end()
})

t.test('one that is larger than a block has a block of its own', t => {
  const list = new EntryList()
  const large = '京'.repeat(30_000)
  list.add({ day: '2026-11-23', text: 'before', isAscii: true })
  list.add({ day: '2026-11-23', text: large, isAscii: false })
  list.add({ day: '2026-11-23', text: 'after', isAscii: true })
  t.same(read(list), [
    ['2026-11-23', 'before'],
    ['2026-11-23', large],
    ['2026-11-23', 'after'],
  ])
  t.end()
})
