import t from 'tap'
import { decode } from '../../src/config/decode.js'
import { BASE, tryLoad } from './support.js'

t.test('a byte order mark is not a part of the text', async t => {
  t.same(decode(Buffer.from('\ufeffversion: 1')), { text: 'version: 1' })
})

t.test('U+FFFD that is in the file is a character like any other', async t => {
  t.same(decode(Buffer.from('a\ufffdb')), { text: 'a\ufffdb' })
})

t.test('the first broken byte is found behind whole characters and real U+FFFD', async t => {
  const bytes = Buffer.concat([Buffer.from('aé🚀\ufffd'), Buffer.from([0xe9]), Buffer.from('x')])
  t.match(decode(bytes), { at: 5, byte: 0xe9, utf16: false })
})

t.test('a character that is cut off is broken at its first byte', async t => {
  t.match(decode(Buffer.from([0x61, 0xf0, 0x9f, 0x9a])), { at: 1, byte: 0xf0 })
})

t.test('F-R1 a byte that is not UTF-8 is reported with its line and column', async t => {
  const bytes = Buffer.concat([Buffer.from(`${BASE}# caf`), Buffer.from([0xe9]), Buffer.from('\n')])
  const { text } = await tryLoad(t, { 'gateway.yaml': bytes })
  t.equal(text, 'gateway.yaml:8:6  the byte 0xE9 is not UTF-8; save the file as UTF-8\n')
})

t.test('a byte order mark does not shift columns', async t => {
  const { reported } = await tryLoad(t, { 'gateway.yaml': `\ufeffvershun: 1\n` })
  t.same(reported, ['unknown-key 1:1'])
})

t.test('UTF-16 is reported by its name', async t => {
  const bytes = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('version: 1\n', 'utf16le')])
  t.match((await tryLoad(t, { 'gateway.yaml': bytes })).text, 'the file is UTF-16; save it as UTF-8')
})

t.test('carriage returns before line ends are not parts of lines', async t => {
  const { text } = await tryLoad(t, 'version: 1\r\nupsteams: {}\r\n')
  t.match(text, 'gateway.yaml:2:1  upsteams  unknown key "upsteams"\n  2 | upsteams: {}\n')
})
