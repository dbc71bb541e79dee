import t from 'tap'
import { thoughtsOfMessage } from '../../src/codecs/chat/reasoning.js'
import { fold, unfold } from '../../src/codecs/fold.js'
import type { JsonObject } from '../../src/core/json.js'
import type { Part, ReasoningPart, TextResult } from '../../src/core/text.js'
import { PROTOCOLS, type Protocol } from '../helpers/text-clients.js'
import { assembled, nextTurn } from './next-turn.js'
import { answerTo, decodeAll, encodeAll, plain, requestOf } from './support.js'
import { textCodec, translated } from './translated.js'

// An upstream gets its thoughts back as it gave them, through a client of any family: kind, id, text and proof.

interface Thinker {
  readonly answer: JsonObject
  /** What is before the results in the next request. */
  readonly back: unknown
  readonly sent: (body: JsonObject) => unknown
}

const THINKING = { type: 'thinking', thinking: 'T1', signature: 'U0lHMQ' }
const REDACTED = { type: 'redacted_thinking', data: 'UkVEMQ' }
const USE = { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 } }
const ITEM = { type: 'reasoning', id: 'rs_1', encrypted_content: 'RU5DMQ' }
const HIDDEN = { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'RU5DMg' }
const CALL = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' }
const REASONED = { reasoningContent: { reasoningText: { text: 'T1', signature: 'U0lHMQ' } } }
const HIDDEN_BLOCK = { reasoningContent: { redactedContent: 'UkVEMQ==' } }
const TOOL_USE = { toolUse: { toolUseId: 'tooluse_1', name: 'f', input: { a: 1 } } }
const SUMMARY = [{ type: 'summary_text', text: 'T1' }]

const THINKERS: Readonly<Partial<Record<Protocol, Thinker>>> = {
  messages: {
    answer: {
      type: 'message',
      id: 'm',
      role: 'assistant',
      model: 'm',
      content: [THINKING, REDACTED, USE],
      stop_reason: 'tool_use',
    },
    back: [THINKING, REDACTED, USE],
    sent: body => (body.messages as JsonObject[])[1]?.content,
  },
  responses: {
    answer: {
      id: 'r',
      object: 'response',
      status: 'completed',
      model: 'm',
      output: [{ ...ITEM, summary: SUMMARY }, HIDDEN, CALL],
    },
    back: [{ ...ITEM, summary: SUMMARY }, HIDDEN, CALL],
    sent: body => (body.input as JsonObject[]).slice(1, -1),
  },
  generate: {
    answer: {
      candidates: [
        {
          content: {
            role: 'model',
            parts: [
              { text: 'T1', thought: true },
              { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'U0lHMQ==' },
            ],
          },
          finishReason: 'STOP',
        },
      ],
      responseId: 'r',
    },
    back: [
      { text: 'T1', thought: true },
      { functionCall: { name: 'f', args: { a: 1 } }, thoughtSignature: 'U0lHMQ==' },
    ],
    sent: body => (body.contents as JsonObject[])[1]?.parts,
  },
  converse: {
    answer: {
      output: { message: { role: 'assistant', content: [REASONED, HIDDEN_BLOCK, TOOL_USE] } },
      stopReason: 'tool_use',
    },
    back: [REASONED, HIDDEN_BLOCK, TOOL_USE],
    sent: body => (body.messages as JsonObject[])[1]?.content,
  },
}

for (const [name, { answer, back, sent }] of Object.entries(THINKERS)) {
  const upstream = name as Protocol
  for (const client of PROTOCOLS.filter(protocol => protocol !== upstream)) {
    const { server } = textCodec(client)
    const result = textCodec(upstream).client.decodeResult(answer)
    const back1 = (whole: JsonObject): unknown =>
      sent(translated(client, upstream, plain(nextTurn(client, whole)) as JsonObject).body)
    t.test(`${upstream} through ${client}`, async t => {
      const whole = plain(server.encodeResult(result, answerTo(requestOf()))) as JsonObject
      t.same(back1(whole), back)
    })
    t.test(`${upstream} through ${client}, streamed`, async t => {
      const frames = encodeAll(textCodec(client), unfold(result), answerTo(requestOf({ stream: true })))
      t.same(back1(assembled(client, frames)), back)
    })
  }
}

t.test('a thought is what it was where the client leaves out members that it does not know', async t => {
  const { messages } = THINKERS
  if (messages === undefined) throw new Error('no thinker')
  const result = textCodec('messages').client.decodeResult(messages.answer)
  const whole = plain(textCodec('responses').server.encodeResult(result, answerTo(requestOf()))) as {
    output: JsonObject[]
  }
  const output = whole.output.map(({ type, summary, encrypted_content, call_id, name, arguments: text }) =>
    type === 'reasoning' ? { type, id: 'rs_x', summary, encrypted_content } : { type, call_id, name, arguments: text },
  )
  const { body } = translated(
    'responses',
    'messages',
    plain(nextTurn('responses', { output } as JsonObject)) as JsonObject,
  )
  t.same(messages.sent(body), messages.back)
})

t.test('a chat stream says thoughts once, and each comes back with its own text and seal', async t => {
  const sealed = (text: string, value: string): ReasoningPart => ({
    ...{ type: 'reasoning', text },
    seal: { by: 'messages', value },
  })
  const plainThought: ReasoningPart = { type: 'reasoning', text: 'Plain.\n\n' }
  const hidden: ReasoningPart = { type: 'reasoning', text: '', redacted: true, seal: { by: 'messages', value: 'H' } }
  const thoughts = [
    plainThought,
    sealed('One.\n\n', '1'),
    sealed('Two 😀.', '2'),
    hidden,
    plainThought,
    sealed('Three.', '3'),
    plainThought,
  ]
  const parts: Part[] = [...thoughts, { type: 'text', text: 'a' }]
  const result: TextResult = { id: 'r', model: 'm', candidates: [{ parts, end: { reason: 'stop' } }] }
  const { server } = textCodec('chat')
  const frames = encodeAll(textCodec('chat'), unfold(result), answerTo(requestOf({ stream: true })))
  const answer = assembled('chat', frames)
  const said = (answer.choices as { message: { reasoning_content: string; reasoning_details: JsonObject[] } }[])[0]!
    .message
  t.same(
    said.reasoning_details.map(({ text }) => text),
    [undefined, undefined, undefined, undefined],
  )
  const read = (message: JsonObject): unknown => {
    const body = {
      model: 'm',
      messages: [
        { role: 'user', content: 'Go.' },
        { ...said, ...message, role: 'assistant' },
      ],
    }
    const [, turn] = server.decodeRequest(body as JsonObject, { model: 'm', stream: false }).turns
    return turn?.parts
      .filter(({ type }) => type === 'reasoning')
      .map(part => ({ ...('text' in part && { text: part.text }), seal: part.seal?.value }))
  }
  t.same(
    read({}),
    thoughts.map(({ text, seal }) => ({ text, seal: seal?.value })),
  )
  // What is left where a client joins no pieces of a member that it does not know.
  t.match(read({ reasoning_content: said.reasoning_content.slice(-3) }), [
    { text: '', seal: '1' },
    { text: '', seal: '2' },
    { text: '', seal: 'H' },
    { text: '', seal: '3' },
  ])
})

t.test('entries that seal the same stretch say it once', async t => {
  const text = 'a long thought '.repeat(100)
  const entry = { type: 'reasoning.text', signature: `gw1.messages.c2ln.0-${text.length}` }
  const parts = thoughtsOfMessage(
    text,
    Array.from({ length: 100 }, (_, index) => ({ ...entry, index })),
    {},
  )
  t.equal(parts.map(part => part.text).join(''), text)
  t.same([...new Set(parts.slice(1).map(({ torn }) => torn))], [true])
})

t.test('a thought of which nothing is reported is not shown', async t => {
  const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a', annotations: [] }] }
  const upstreams: Readonly<Partial<Record<Protocol, { whole: JsonObject; events: readonly JsonObject[] }>>> = {
    responses: {
      whole: {
        id: 'r',
        status: 'completed',
        model: 'm',
        output: [{ type: 'reasoning', id: 'rs_1', summary: [] }, said],
      },
      events: [
        { type: 'response.created', response: { id: 'r', model: 'm' } },
        ...['added', 'done'].map(what => ({
          ...{ type: `response.output_item.${what}`, output_index: 0 },
          item: { type: 'reasoning', id: 'rs_1', summary: [] },
        })),
        { type: 'response.output_item.done', output_index: 1, item: said },
        { type: 'response.completed', response: { id: 'r', status: 'completed' } },
      ],
    },
    chat: {
      whole: {
        ...{ id: 'c', model: 'm' },
        choices: [
          {
            ...{ index: 0, finish_reason: 'stop' },
            message: { role: 'assistant', content: 'a', reasoning_details: [{ type: 'reasoning.text', text: '' }] },
          },
        ],
      },
      events: [{ reasoning_details: [{ type: 'reasoning.text', text: '', signature: '' }] }, { content: 'a' }, {}].map(
        (delta, i) => ({
          ...{ id: 'c', model: 'm' },
          choices: [{ index: 0, delta, finish_reason: i === 2 ? 'stop' : null }],
        }),
      ),
    },
  }
  for (const [name, { whole, events }] of Object.entries(upstreams)) {
    const codec = textCodec(name as Protocol)
    const shown = ({ candidates }: TextResult): unknown => candidates[0]?.parts.map(({ type }) => type)
    t.same(shown(codec.client.decodeResult(whole)), ['text'], name)
    const frames = events.map(event => ({ data: JSON.stringify(event) }))
    t.same(shown(fold(decodeAll(codec, frames))), ['text'], `${name}, streamed`)
  }
})
