import t from 'tap'
import { type Asked, failing, type When, whenText } from '../../src/core/when.js'

const asked = (parts: Partial<Asked> = {}): Asked => ({
  stream: false,
  tools: false,
  images: false,
  tokens: 100,
  key: 'team-alice',
  groups: ['inner', 'outer'],
  header: name => ({ 'x-tier': 'gold', 'x-size': '12' })[name],
  body: path => ({ 'metadata.tier': 'gold', n: 3, flag: true })[path],
  ...parts,
})

const cases: readonly (readonly [When, string | undefined])[] = [
  [{ stream: false }, undefined],
  [{ stream: true }, 'stream'],
  [{ tools: true }, 'tools'],
  [{ images: true }, 'images'],
  [{ tokens: { larger_than: 99 } }, undefined],
  [{ tokens: { larger_than: 100 } }, 'tokens'],
  [{ tokens: { smaller_than: 101, larger_than: 10 } }, undefined],
  [{ key: ['team-*'] }, undefined],
  [{ key: ['bob', 'other-*'] }, 'key'],
  [{ group: ['outer'] }, undefined],
  [{ group: ['else'] }, 'group'],
  [{ header: { 'x-tier': { in: ['gold', 'silver'] } } }, undefined],
  [{ header: { 'x-size': { in: [12] } } }, undefined],
  [{ header: { 'x-size': { larger_than: 11 } } }, undefined],
  [{ header: { 'x-none': { present: false } } }, undefined],
  [{ header: { 'x-none': { matches: ['*'] } } }, 'header.x-none'],
  [{ body: { 'metadata.tier': { matches: ['g*d'] } } }, undefined],
  [{ body: { 'metadata.tier': { larger_than: 1 } } }, 'body.metadata.tier'],
  [{ body: { flag: { larger_than: 0 } } }, 'body.flag'],
  [{ body: { flag: { smaller_than: 2 } } }, 'body.flag'],
  [{ body: { n: { in: [3] }, flag: { in: [true] } } }, undefined],
  [{ body: { none: { smaller_than: 3 } } }, 'body.none'],
  [{ body: { n: { in: [4] } }, stream: true }, 'stream'],
]

for (const [when, expected] of cases) {
  t.test(`${whenText(when)}: ${expected ?? 'holds'}`, async t => t.equal(failing(when, asked()), expected))
}

t.test('nothing is read of a request that a condition does not ask for', async t => {
  const strict: Asked = {
    ...asked(),
    get tokens(): number {
      throw new Error('tokens were read')
    },
    get images(): boolean {
      throw new Error('images were read')
    },
    body: () => {
      throw new Error('the body was read')
    },
  }
  t.equal(
    failing({ stream: true, tokens: { larger_than: 1 }, images: true, body: { a: { in: [1] } } }, strict),
    'stream',
  )
})
