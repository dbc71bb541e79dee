import fc from 'fast-check'
import t from 'tap'
import type { RecordedExchange } from '../../../src/core/recording.js'
import { Cleaner } from '../../../src/sinks/recordings/cleaner.js'
import { exchangeText } from '../../../src/sinks/recordings/exchange-text.js'
import { sessionText } from '../../../src/sinks/recordings/session-text.js'
import type { Frame, RecordedBegin } from '../../../src/sinks/recordings/whole-exchange.js'

const WORD = 'Project Falcon'
const SECRET = 'the-secret-of-the-upstream'

const BEGIN: RecordedBegin = {
  about: {
    config: { into: '/nowhere', mask: ['emails'], words: [WORD], members: [] },
    upstream: { origin: 'https://up.example', secrets: [SECRET] },
    presented: [],
    route: 'chat',
    model: 'm',
  },
  time: 0,
  request: { method: 'POST', path: '/v1/chat/completions', headers: [], body: null },
  status: 200,
  headers: { 'content-type': 'text/event-stream' },
  headAt: 1,
}

type Event = Readonly<Record<string, unknown>>

interface Shape {
  readonly name: string
  /** An event with a piece of a text. */
  readonly of: (piece: string, nth: number) => Event
  readonly pieceIn: (event: Event) => string
}

const at = (value: unknown, path: string): string =>
  path.split('.').reduce((inner, name) => (inner as Record<string, unknown>)[name], value) as string

function shape(name: string, of: Shape['of'], path: string): Shape {
  return { name, of, pieceIn: event => at(event, path) }
}

const SHAPES: readonly Shape[] = [
  shape(
    'chat',
    content => ({ id: 'c', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
    'choices.0.delta.content',
  ),
  shape(
    'arguments of chat',
    text => ({ choices: [{ index: 1, delta: { tool_calls: [{ index: 2, function: { arguments: text } }] } }] }),
    'choices.0.delta.tool_calls.0.function.arguments',
  ),
  shape(
    'responses',
    (delta, nth) => ({ type: 'response.output_text.delta', sequence_number: nth, item_id: 'i', delta }),
    'delta',
  ),
  shape(
    'messages',
    text => ({ type: 'content_block_delta', index: 3, delta: { type: 'text_delta', text } }),
    'delta.text',
  ),
  shape(
    'input of messages',
    text => ({ type: 'content_block_delta', index: 3, delta: { type: 'input_json_delta', partial_json: text } }),
    'delta.partial_json',
  ),
  shape(
    'generate',
    text => ({ candidates: [{ content: { role: 'model', parts: [{ text }] } }] }),
    'candidates.0.content.parts.0.text',
  ),
]

/** Text in which nothing is masked: as little as `0@-.-` is taken for an address of mail. */
const PLAIN = fc.string({ maxLength: 8 }).filter(text => !text.includes('@'))

/** A text in pieces that has what is masked, and the same as it has to be recorded. */
const CUT = fc
  .record({
    before: PLAIN,
    masked: fc.constantFrom(
      [WORD, '[word]'],
      ['project falcon', '[word]'],
      ['ann@example.com', '[email]'],
      [SECRET, '[secret]'],
    ),
    after: PLAIN,
    cuts: fc.array(fc.nat(60), { maxLength: 20 }),
  })
  .map(({ before, masked: [plain = '', mark = ''], after, cuts }) => {
    const text = `${before} ${plain} ${after}`
    const ends = [...cuts.map(cut => cut % (text.length + 1)).sort((one, other) => one - other), text.length]
    const pieces = ends.map((end, nth) => text.slice(ends[nth - 1] ?? 0, end))
    return { pieces, plain, wanted: `${before} ${mark} ${after}` }
  })

/** Pieces of another text come between. */
function events(one: Shape, pieces: readonly string[]): readonly Event[] {
  const other = SHAPES[(SHAPES.indexOf(one) + 1) % SHAPES.length] as Shape
  return pieces.flatMap((piece, nth) => [one.of(piece, nth), other.of('x', nth)])
}

for (const one of SHAPES) {
  t.test(`${one.name}: wherever a stream is cut, a masked word is in no event and not in all of them`, async () => {
    fc.assert(
      fc.property(CUT, ({ pieces, plain, wanted }) => {
        const bytes = Buffer.from(
          events(one, pieces)
            .map(event => `event: e\ndata: ${JSON.stringify(event)}\n\n`)
            .join(''),
        )
        const file = exchangeText({ ...BEGIN, pieces: [{ bytes, at: 5 }] })
        const { response } = JSON.parse(file) as RecordedExchange
        const chunks = response.chunks ?? []
        const played = chunks.map(({ text }) => JSON.parse(/^event: e\ndata: (.*)\n\n$/.exec(text)?.[1] ?? '') as Event)
        const whole = played.filter((_, nth) => nth % 2 === 0).map(one.pieceIn)
        return (
          !file.includes(plain) &&
          whole.length === pieces.length &&
          whole.join('') === wanted &&
          whole.every(piece => !piece.includes(plain)) &&
          // All else is as it was.
          played.every(
            (event, nth) =>
              JSON.stringify(withoutText(event)) === JSON.stringify(withoutText(events(one, pieces)[nth])),
          )
        )
      }),
    )
  })
}

function withoutText(event: unknown): unknown {
  return JSON.parse(
    JSON.stringify(event, (name, value) =>
      /^(content|arguments|delta|text|partial_json)$/.test(name) && typeof value === 'string' ? '' : value,
    ),
  )
}

const spoken = (delta: string): Event => ({ type: 'response.output_audio_transcript.delta', item_id: 'i', delta })

for (const from of ['upstream', 'client'] as const) {
  t.test(`messages of the ${from}: a masked word is in none, and not in all of them`, async () => {
    await fc.assert(
      fc.asyncProperty(CUT, async ({ pieces, plain, wanted }) => {
        const frames = pieces.map(
          (piece): Frame => ({ from, at: 1, isText: true, pieces: [Buffer.from(JSON.stringify(spoken(piece)))] }),
        )
        let file = ''
        const end = { by: 'client', code: 1000, after_ms: 9 }
        for await (const slice of sessionText({ ...BEGIN, frames, end })) file += slice
        const read = JSON.parse(file) as RecordedExchange
        const whole = (read.frames ?? []).map(({ json }) => at(json, 'delta'))
        const marks = /(\[(?:word|email|secret)\])+/g
        return (
          whole.length === pieces.length &&
          !file.includes(plain) &&
          // Of the client, each that had a part of the word has its mark.
          whole.join('').replace(marks, '$1') === wanted
        )
      }),
    )
  })
}

t.test(
  'a body is JSON in the file unless a double would change a number of it; what its texts say decides nothing',
  async t => {
    const cleaner = new Cleaner(BEGIN.about)
    const texts = { delta: 'a :1234567890123456789 \\" ,0E', ':1e400': ',"[-1E9' }
    t.same(cleaner.body(JSON.stringify(texts)), texts)
    for (const long of ['{"a":1234567890123456789}', '{"\\"":"\\\\","b":[1, 2e7]}', '[ -1234567890123456789 ]'])
      t.equal(typeof cleaner.body(long), 'string', long)
  },
)

t.test('sound in pieces stays as it is', async t => {
  const pieces = ['a'.repeat(300), `${'5'.repeat(11)}=`, 'b'.repeat(300)]
  const frames = pieces.map((delta): Frame => {
    const message = { type: 'response.output_audio.delta', item_id: 'i', delta }
    return { from: 'upstream', at: 1, isText: true, pieces: [Buffer.from(JSON.stringify(message))] }
  })
  let file = ''
  const end = { by: 'client', code: 1000, after_ms: 9 }
  for await (const slice of sessionText({ ...BEGIN, frames, end })) file += slice
  const read = JSON.parse(file) as RecordedExchange
  t.same(
    (read.frames ?? []).map(({ json }) => at(json, 'delta')),
    pieces,
  )
})
