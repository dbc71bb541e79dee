import fc from 'fast-check'
import t from 'tap'
import { Masker } from '../../../src/core/masks.js'
import { Captured } from '../../../src/features/content/captured.js'

/** What receipts, spans and the console keep of an answer: events share words, of which no cut leaves a part. */

const WORD = 'Project Falcon'
const EMAIL = 'ada.lovelace@example.com'
const KEY = 'sk-4f9a8b7c6d5e4f3a2b1c'
const TEXT = `We call it ${WORD}, write to ${EMAIL} with ${KEY}.`
const MASKED = 'We call it [word], write to [email] with [key].'

interface Shape {
  readonly name: string
  /** The answer with a text in these pieces. */
  readonly of: (pieces: readonly string[]) => string
  /** All of the text that an answer has. */
  readonly read: (answer: string) => string
}

const events = (answer: string): readonly string[] =>
  answer.split('\n').flatMap(line => (line.startsWith('data: {') ? [line.slice('data: '.length)] : []))

const SHAPES: readonly Shape[] = [
  {
    name: 'chat',
    of: pieces =>
      pieces
        .map(content => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`)
        .concat('data: [DONE]\n\n')
        .join(''),
    read: answer =>
      events(answer)
        .map(event => JSON.parse(event).choices[0].delta.content)
        .join(''),
  },
  {
    name: 'messages',
    of: pieces =>
      pieces
        .map(text => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }))
        .map(event => `event: content_block_delta\ndata: ${JSON.stringify(event)}\n\n`)
        .join(''),
    read: answer =>
      events(answer)
        .map(event => JSON.parse(event).delta.text)
        .join(''),
  },
  {
    name: 'native, one list',
    of: pieces => JSON.stringify(pieces.map(text => ({ candidates: [{ index: 0, content: { parts: [{ text }] } }] }))),
    read: answer =>
      (JSON.parse(answer) as { candidates: [{ content: { parts: [{ text: string }] } }] }[])
        .map(({ candidates }) => candidates[0].content.parts[0].text)
        .join(''),
  },
]

for (const { name, of, read } of SHAPES)
  t.test(`${name}: a stream is masked as its whole text is, wherever it is cut`, async t => {
    const cuts = fc.uniqueArray(fc.nat({ max: TEXT.length }), { maxLength: 12 })
    const sizes = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(cuts, sizes, (cuts, sizes) => {
        const ends = [...cuts.toSorted((one, other) => one - other), TEXT.length]
        const answer = of(ends.map((end, nth) => TEXT.slice(ends[nth - 1] ?? 0, end)))
        const content = captured(answer, sizes)
        return read(content) === MASKED && !content.includes('Falcon')
      }),
      { numRuns: 300 },
    )
    t.equal(read(captured(of([...TEXT]), [1])), MASKED, 'a piece for each character')
  })

t.test('other lines, and lists of texts, are masked too', async t => {
  t.equal(captured(`to: ${EMAIL}\n{"text":"${EMAIL}"}\n`, [7]), 'to: [email]\n{"text":"[email]"}\n')
  t.equal(captured(JSON.stringify([EMAIL, [EMAIL], 1]), [7]), '["[email]",["[email]"],1]')
})

/** The content that is kept of an answer that arrives in chunks of these sizes. */
function captured(answer: string, sizes: readonly number[]): string {
  const bytes = Buffer.from(answer)
  const all = new Captured({}, bytes.length, { held: 0 })
  for (let at = 0, nth = 0; at < bytes.length; nth++) {
    const size = sizes[nth % sizes.length] as number
    all.push(bytes.subarray(at, at + size))
    at += size
  }
  const { answer: kept = '' } = all.finish(new Masker(['emails', 'keys'], [WORD]))
  return kept
}
