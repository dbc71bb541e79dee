import t from 'tap'
import type { AmountPaths } from '../../src/core/amounts.js'
import { demandOfBytes, demandOfDocument, demandOfForm, demandOfScan } from '../../src/wire/demand.js'
import { notedNames } from '../../src/wire/demand-values.js'
import { inputOfBytes } from '../../src/wire/input-of-bytes.js'
import { sizeOfJson } from '../../src/wire/input-size.js'
import { JsonScanner } from '../../src/wire/json-scan.js'
import { fc } from '../helpers/property.js'

const NONE: AmountPaths = {
  ...{ output: [], choices: [], images: [], characters: [], items: [], seconds: [] },
  ...{ audio: false, batch: false, free: false },
}
const CHAT: AmountPaths = { ...NONE, output: [['max_completion_tokens'], ['max_tokens']], choices: [['n']] }
const NESTED: AmountPaths = { ...NONE, output: [['config', 'maxOutput']], choices: [['config', 'count']] }
const SEARCH: AmountPaths = { ...NONE, items: [['documents']], characters: [['input']] }

/** As a request's check finds it, arriving in pieces. */
function scanned(text: string, paths: AmountPaths, pieceBytes: number): ReturnType<typeof demandOfScan> {
  const noted = notedNames(paths)
  const scanner = new JsonScanner({ control: ['model'], depth: 64, members: 1000, ...(noted && { noted }) })
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.push(bytes.subarray(at, at + pieceBytes))
  t.equal(scanner.end(), undefined)
  return demandOfScan(scanner, bytes, paths)
}

const filler = (size: number): string => `"messages":[{"content":${JSON.stringify('say "n":9 \n'.repeat(size))}}]`

const LINKS =
  '"a":{"url":"https://x.test/a.png"},"b":{"file_id":"f-1"},"c":{"data":"QUJD"},"d":{"image":"data:image/png;base64,QQ"}'

const BODIES: readonly (readonly [name: string, paths: AmountPaths, text: string])[] = [
  ['both names, of which the larger counts', CHAT, '{"max_tokens":5,"n":3,"max_completion_tokens":7}'],
  ['none of them', CHAT, `{"model":"m",${filler(10)}}`],
  ['the last of several', CHAT, '{"max_tokens":900,"max_tokens":{"max_tokens":1},"n":1,"max_tokens":4,"n":2}'],
  ['a key with escapes', CHAT, String.raw`{"max\u005ftokens":11,"\u006e":2,"m\\ax_tokens":99}`],
  ['decoys inside of other members', CHAT, `{${filler(400)},"x":{"n":50,"max_tokens":60},"max_tokens":12,"n":2}`],
  ['names that begin or end alike', CHAT, '{"max_token":1,"max_tokens_":2,"N":3,"nn":4,"max_tokens":5}'],
  ['a number as text, and text that is not a number', CHAT, '{"max_tokens":"21","n":"many"}'],
  ['a number of 1100 digits', CHAT, `{"max_tokens":4096.${'0'.repeat(1100)}}`],
  ['nested members', NESTED, `{"config":{"maxOutput":31,"count":4},${filler(400)}}`],
  ['nested members behind much', NESTED, `{"config":{"x":"${'y'.repeat(6000)}","maxOutput":31,"count":4}}`],
  ['a member that should be an object', NESTED, '{"config":[31,4]}'],
  ['a list', SEARCH, `{"documents":[${'{"a":[1,2]},'.repeat(250)}"x"],"input":"drei Wörter hier"}`],
  ['links of each kind', CHAT, `{${LINKS},"max_tokens":3}`],
  ['a link behind much', CHAT, `{${filler(400)},${LINKS}}`],
  ['what only begins like a link', CHAT, `{"hot":"htt","fil":"dat","d":"h","f":"",${filler(400)}}`],
  ['a long list', SEARCH, `{"documents":[${'{"a":[1,2]},'.repeat(2500)}"x"]}`],
]

t.test('the scan of a body says what it asks for as its document does', async t => {
  for (const [name, paths, text] of BODIES) {
    const expected = demandOfDocument({ text, document: JSON.parse(text) }, Buffer.from(text), paths)
    for (const pieceBytes of [1, 7, text.length]) t.same(scanned(text, paths, pieceBytes), expected, name)
    t.same(demandOfBytes(Buffer.from(text), paths), expected, `${name}, without a scan`)
  }
})

t.test('links are found in pieces of each size, and only where there are some', async t => {
  for (const pieceBytes of [1, 2, 3, 4, 5, 6, 7, 1000]) {
    t.equal(scanned(`{${filler(200)},${LINKS}}`, CHAT, pieceBytes).links, 4)
    t.equal(scanned(`{"hot":"htt","fil":"dat",${filler(200)}}`, CHAT, pieceBytes).links, 0)
  }
})

t.test('text that is longer than it may be read whole counts by its bytes', async t => {
  const text = JSON.stringify({ input: 'ö'.repeat(5000) })
  t.equal(scanned(text, SEARCH, text.length).characters, 10_000)
})

t.test('each long string of base64 is one medium, with anything around it', async t => {
  const media = (size: number): string => `data:image/png;base64,${'iVBORw0K'.repeat(size / 8)}`
  const text = (size: number): string => 'words and more '.repeat(size / 15)
  for (const before of [0, 1, 8191, 8192, 8193, 30_000]) {
    const strings = [text(before), media(8200), 'x', media(16_000), text(9000), media(8000), media(80_000)]
    const body = JSON.stringify({ ['k'.repeat(before % 97)]: strings })
    const long = strings.filter(one => one.startsWith('data:') && one.length > 8192)
    const rest = body.length - long.reduce((sum, one) => sum + one.length + 1, 0)
    t.equal(demandOfBytes(Buffer.from(body)).input, rest + long.length * 16_384, `${before} characters before`)
  }
})

t.test('links of a body count as those of its document, however it is written', async t => {
  const name = fc.constantFrom('url', 'data', 'file_id', 'fileUri', 'text', 'content', 'image', 'user', 'httpx', 'date')
  const value = fc.constantFrom(
    ...['', 'QUJD', 'words', 'https://x.test/a.png', 'http:', 'data:image/png;base64,QQ', 'file:///a', 'data'],
  )
  const document = fc.array(
    fc.tuple(name, fc.oneof(value, fc.array(value, { maxLength: 3 }), fc.dictionary(name, value, { maxKeys: 3 }))),
    { maxLength: 5 },
  )
  const space = fc.constantFrom(undefined, 2)
  const size = fc.integer({ min: 1, max: 64 })
  fc.assert(
    fc.property(document, space, size, (members, indent, pieceBytes) => {
      const object = Object.fromEntries(members)
      const text = JSON.stringify(object, null, indent)
      const expected = sizeOfJson(object, text.length)
      t.same(inputOfBytes(Buffer.from(text)), expected, text)
      const { input, likelyInput, links } = scanned(text, NONE, pieceBytes)
      t.same({ tokens: input, likely: likelyInput, links }, expected, text)
    }),
  )
})

t.test('numbers at a path of characters count, from 0 to 10^12', t => {
  const say: AmountPaths = { ...NONE, characters: [['input'], ['instructions']] }
  for (const [body, characters] of [
    ['{"input":"h\u00e9llo"}', 5],
    ['{"input":1234.5}', 1235],
    ['{"input":1e999}', 1e12],
    ['{"input":-1e999}', 0],
    ['{"input":-5,"instructions":"four"}', 4],
    ['{"input":1e999,"instructions":-1e999}', 1e12],
  ] as const)
    t.equal(demandOfBytes(Buffer.from(body), say).characters, characters, body)
  t.end()
})

t.test('documents are searched, a hundred at a time; prompts and the requests of a batch are not', async t => {
  const items = [['documents']]
  const bytes = Buffer.from(`{"documents":[${'"d",'.repeat(249)}"d"]}`)
  for (const [paths, searches] of [
    [{ items }, 3],
    [{ items, output: [['max_tokens']] }, 0],
    [{ items, batch: true }, 0],
  ] as const)
    t.equal(demandOfBytes(bytes, { ...NONE, ...paths }).searches, searches)
})

t.test('a form counts each of its files as media, and the rest as text, as JSON does', t => {
  const long = 'QUJD'.repeat(10_000)
  const json = (images: number): ReturnType<typeof demandOfBytes> => {
    const document = { prompt: 'x'.repeat(4000), images: Array.from({ length: images }, () => ({ image_url: long })) }
    return demandOfBytes(Buffer.from(JSON.stringify(document)))
  }
  const form = (sizes: readonly number[], text: number): ReturnType<typeof demandOfForm> => {
    const files = sizes.map(size => ({ size, head: Buffer.alloc(0) }))
    const length = sizes.reduce((sum, size) => sum + size, text)
    return demandOfForm({ spool: { length }, files, fields: [], value: () => undefined })
  }
  for (const images of [1, 16]) {
    const { input, likelyInput } = json(images)
    const text = input - images * 16_384
    t.match(form(Array(images).fill(40_000), text), { input, likelyInput }, `${images}`)
  }
  t.match(form([100, 40_000], 20_000), { input: 100 + 16_384 + 20_000, likelyInput: 100 + 1024 + 5000 })
  t.match(form([], 30_000), { input: 30_000, likelyInput: 7500 })
  t.end()
})

t.test('voices in fields of a form are media, as in JSON, also where their type has blanks', t => {
  const voice = `data:audio/webm; codecs=opus;base64,${'QUJD'.repeat(100_000)}`
  const name = 'known_speaker_references[]'
  const fields = [voice, voice, 'a word '.repeat(2000), undefined].map(value => ({ name, value }))
  const spool = { length: 2 * voice.length + 14_000 }
  const asked = demandOfForm({ spool, files: [], fields, value: () => undefined })
  t.match(asked, { input: 2 * 16_384 + 14_000, likelyInput: 2 * 1024 + 3500 })
  const prompt = demandOfForm({ spool, files: [], fields: [{ name: 'prompt', value: voice }], value: () => undefined })
  t.equal(prompt.input, spool.length, 'a model reads all of a prompt')
  const said = JSON.stringify({ data: `data:${'all of these words, '.repeat(30)}${voice}` })
  t.equal(demandOfBytes(Buffer.from(said)).input, said.length, 'long words before a comma describe nothing')
  for (const text of [JSON.stringify({ input: [voice] }), JSON.stringify({ data: voice })])
    t.ok(demandOfBytes(Buffer.from(text)).input < 16_384 + 50, text.slice(0, 60))
  t.end()
})
