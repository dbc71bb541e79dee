import fc from 'fast-check'
import t from 'tap'
import { CutTexts } from '../../src/core/cut-texts.js'
import { Masker } from '../../src/core/masks.js'

const MASKER = new Masker(['emails', 'cards', 'phones', 'addresses', 'keys'], [])
const LETTERS = 'abcdefghijklmnopqrstuvwx'

/** Texts, and what is left of them. */
const MASKED: readonly (readonly [text: string, masked: string])[] = [
  ['4111 1111 1111 1111', '[card]'],
  ['4111 1111 1111 1111 12/26 123', '[card] 12/26 123'],
  ['4111 1111 1111 1111 737', '[card] 737'],
  ['4111111111111111 0926', '[card] 0926'],
  ['378282246310005 1234', '[card] 1234'],
  ['3782 822463 10005 1234', '[card] 1234'],
  ['1 4111 1111 1111 1111', '1 [card]'],
  ['7 4111-1111-1111-1111 and 5555 5555 5555 4444 1', '7 [card] and [card] 1'],
  ['4111.1111.1111.1111', '[card]'],
  ['AKIAIOSFODNN7EXAMPLE', '[key]'],
  ['AKIAQWERTYUIOPASDF2B', '[key]'],
  [`sk-${LETTERS}123456`, '[key]'],
  [`sk-proj-${LETTERS}`, '[key]'],
  [`xoxb-123456789012-123456789012-${LETTERS}`, '[key]'],
  [`ghp_${LETTERS}ABCDEFGHIJ`, '[key]'],
  [`authorization: Bearer ${LETTERS}`, 'authorization: [key]'],
  ['a1b2c3d4e5f6g7h8', '[key]'],
  ['10.0.0.1:8080, host:10.0.0.2', '[address]:8080, host:[address]'],
  ['::1', '[address]'],
  ['http://[::1]:80/', 'http://[[address]]:80/'],
  ['fe80::1%eth0', '[address]%eth0'],
  ['::ffff:10.0.0.1', '[address]'],
  ['2001:db8::8a2e:370:7334', '[address]'],
  ['jürgen@müller.de', '[email]'],
  ['Ann.Lee+x@example.com', '[email]'],
  ['邮箱是ann@example.com谢谢', '邮箱是[email]谢谢'],
  ['+49 30 901820', '[phone]'],
]

const KEPT: readonly string[] = [
  'The bearer responsibilities of bearer certificates and bearer-authentication-schemes',
  'sk-learn-compatible-estimators, pk_users_organization_id, hf_transformers_version, risk-internationalization',
  '1 4111 1111 1111 1112, 4111.1111.1111.1112 and x4111111111111111',
  'years 2019 2020 2021 2022 2023 2024 2025 2026',
  '3.14159265358979 0.30000000000000004 1234567890123.4567 1234.5678',
  'at 12:34:56, std::min, items[::2], a::b, add::feed(), :smile:, ::before and :::',
]

t.test('what is meant is masked, also beside other digits', async t => {
  for (const [text, masked] of MASKED) {
    t.equal(MASKER.text(text), masked, text)
    t.equal(MASKER.text(`It is ${text}, yes`), `It is ${masked}, yes`)
  }
})

t.test('a body that was cut loses the same, also where it is escaped', async t => {
  const masker = new Masker(['emails'], ['Jürgen Müller', 'R&D Alpha', 'and/or'])
  const cut =
    '{"text":"J\\u00fcrgen M\\u00FCller, R\\u0026D Alpha, and\\/or j\\u00f6rg@example.com\\u0000 \\"x\\" and so'
  const masked = '{"text":"[word], [word], [word] [email]\\u0000 "x" and so'
  t.equal(masker.body(cut), masked)
  t.equal(masker.body(`data: ${cut}`), `data: ${masked}`)
  t.equal(masker.body('C:\\u00fc: a path'), 'C:\\u00fc: a path')
  const lines = '{\n  "text": "J\\u00fcrgen M\\u00fcller",\n  "to": "ann\\u0040example.com'
  t.equal(masker.body(lines), '{\n  "text": "[word]",\n  "to": "[email]')
})

t.test('words, decimal numbers, times and code are not masked', async t => {
  for (const text of KEPT) t.equal(MASKER.text(text), text)
})

t.test('events that share a text lose the same', async () => {
  fc.assert(
    fc.property(fc.constantFrom(...MASKED), fc.array(fc.nat(60), { maxLength: 6 }), ([text, masked], cuts) => {
      const ends = [...cuts.map(at => Math.min(at, text.length)).sort((one, other) => one - other), text.length]
      const pieces = ends.map((end, nth) => text.slice(ends[nth - 1] ?? 0, end))
      const events = new CutTexts()
      for (const [at, piece] of pieces.entries()) events.add(at, { text: piece })
      const changes = events.changes(whole => MASKER.rules(whole))
      return pieces.map((piece, at) => changes.get(at)?.get(0) ?? piece).join('') === masked
    }),
  )
})

t.test('a megabyte of what nearly is something is read in a time that grows with the text alone', async t => {
  const units = [
    '1 ',
    '4111 ',
    '4111.',
    '3782 822463 ',
    'a@',
    'é@é.',
    'bearer    ',
    'sk-a-',
    'ghp_',
    ':',
    'f:1.',
    '10.0.0.',
  ]
  for (const unit of units) t.type(MASKER.text(unit.repeat(1_000_000 / unit.length)), 'string', unit)
})

t.test('an empty word masks nothing', async t => {
  t.equal(new Masker([], ['', 'north']).text('to the north'), 'to the [word]')
  t.equal(new Masker([], ['']).text('to the north'), 'to the north')
})
