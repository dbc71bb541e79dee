import t from 'tap'
import { messages } from '../../../src/codecs/messages/index.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { MediaPart, Part } from '../../../src/core/text.js'
import { requestOf, targetOf } from '../support.js'
import { assistant, call, encode, result, text, user } from './support.js'

function roles(body: JsonObject): unknown {
  return (body.messages as { role: string; content: { type: string }[] }[]).map(({ role, content }) => [
    role,
    ...content.map(({ type }) => type),
  ])
}

t.test('many turns of one role become one in linear time (a copy of it for each would take minutes)', async t => {
  const turns = Array.from({ length: 200_000 }, () => user(text('a')))
  const body = messages.client.encodeRequest(requestOf({ turns }), targetOf(messages))
  t.equal((body.messages as [{ content: unknown[] }])[0].content.length, turns.length)
})

t.test('neighbours of one role become one turn', async t => {
  const { body } = encode({
    turns: [user(text('a')), user(text('b')), assistant(text('c')), assistant(text('d')), user(text('e'))],
  })
  t.strictSame(roles(body), [
    ['user', 'text', 'text'],
    ['assistant', 'text', 'text'],
    ['user', 'text'],
  ])
})

t.test('results of parallel calls are in one turn, before anything else that the user says', async t => {
  const { body } = encode({
    turns: [
      user(text('a')),
      assistant(call('c1'), call('c2')),
      user(result('c1')),
      user(text('And?')),
      user(result('c2')),
    ],
  })
  t.strictSame(roles(body), [
    ['user', 'text'],
    ['assistant', 'tool_use', 'tool_use'],
    ['user', 'tool_result', 'tool_result', 'text'],
  ])
})

t.test('a conversation that the assistant begins gets a turn before it, and that is said', async t => {
  const { body, lost } = encode({ turns: [{ ...assistant(text('Hello.')), at: 'messages[0]' }, user(text('Hi.'))] })
  t.strictSame(roles(body), [
    ['user', 'text'],
    ['assistant', 'text'],
    ['user', 'text'],
  ])
  t.strictSame(lost, ['turns messages[0]'])
})

t.test('instructions alone get a turn, and that is said', async t => {
  const { body, lost } = encode({ system: [{ type: 'text', text: 'Be kind.' }], turns: [] })
  t.strictSame(roles(body), [['user', 'text']])
  t.strictSame(lost, ['turns'])
})

t.test('texts without a visible character are left out, and turns that have nothing else', async t => {
  const { body } = encode({ turns: [user(text('a'), text(''), text(' \n')), assistant(text('')), user(text('b'))] })
  t.strictSame(roles(body), [['user', 'text', 'text']])
})

t.test('instructions in the middle move before the first turn', async t => {
  const { body, lost } = encode({
    system: [{ type: 'text', text: 'One.' }],
    turns: [user(text('a')), { role: 'system', parts: [text('Two.')], at: 'messages[1]' }, user(text('b'))],
  })
  t.strictSame(body.system, [
    { type: 'text', text: 'One.' },
    { type: 'text', text: 'Two.' },
  ])
  t.strictSame(lost, ['midSystem messages[1]'])
})

t.test('an answer that continues from words of the assistant has no white space at their end', async t => {
  const { body } = encode({ turns: [user(text('a')), assistant(text('It is \n'))] })
  t.match(body.messages, [{}, { role: 'assistant', content: [{ type: 'text', text: 'It is' }] }])
})

t.test('arguments that are not objects go as text', async t => {
  const { body, lost } = encode({
    turns: [
      user(text('a')),
      assistant(call('c1', 'f', '{"a":'), call('c2', 'f', '')),
      user(result('c1'), result('c2')),
    ],
  })
  t.match(body.messages, [{}, { content: [{ input: { _raw: '{"a":' } }, { input: {} }] }])
  t.strictSame(lost, ['calls'])
})

t.test('names and ids of other characters come back from the wire as they were', async t => {
  const { body } = encode({
    tools: [{ type: 'function', name: 'files.read' }],
    turns: [user(text('a')), assistant(call('call:1|fc', 'files.read')), user(result('call:1|fc'))],
  })
  const [, asked, answered] = body.messages as { content: JsonObject[] }[]
  t.match(asked?.content[0]?.name, /^[a-zA-Z0-9_-]{1,128}$/)
  t.match(asked?.content[0]?.id, /^[a-zA-Z0-9_-]+$/)
  t.equal(answered?.content[0]?.tool_use_id, asked?.content[0]?.id)
  t.match(body.tools, [{ name: asked?.content[0]?.name }])
})

t.test('a name that would be too long is refused', async t => {
  t.throws(() => encode({ tools: [{ type: 'function', name: 'a.'.repeat(64), at: 'tools[0]' }] }), {
    code: 'untranslatable',
    details: { param: 'tools[0]' },
  })
})

t.test('errors and media in results', async t => {
  const image: MediaPart = { type: 'media', kind: 'image', mime: 'image/png', source: { base64: 'iVBORw0KGgo=' } }
  const failed = { type: 'result', id: 'c1', parts: [{ type: 'text', text: 'No.' }, image], error: true } as const
  const { body } = encode({ turns: [user(text('a')), assistant(call('c1')), user(failed)] })
  t.match(body.messages, [{}, {}, { content: [{ is_error: true, content: [{ type: 'text' }, { type: 'image' }] }] }])
})

t.test('thoughts go back to who signed them, byte for byte', async t => {
  const thought: Part = { type: 'reasoning', text: ' I look.\n', seal: { by: 'messages', value: 'c2ln+/=' } }
  const hidden: Part = { type: 'reasoning', text: '', redacted: true, seal: { by: 'messages', value: 'cmVk' } }
  const { body, lost } = encode({
    turns: [user(text('a')), assistant(thought, hidden, call('c1')), user(result('c1'))],
  })
  t.match(body.messages, [
    {},
    {
      content: [
        { type: 'thinking', thinking: ' I look.\n', signature: 'c2ln+/=' },
        { type: 'redacted_thinking', data: 'cmVk' },
        { type: 'tool_use' },
      ],
    },
  ])
  t.strictSame(lost, [])
})

t.test('thoughts that others signed, or no one, are left out and named', async t => {
  const foreign = {
    type: 'reasoning',
    text: 'a',
    seal: { by: 'generate', value: 's' },
    at: 'messages[1].content[0]',
  } as const
  const bare = { type: 'reasoning', text: 'b', at: 'messages[1].content[1]' } as const
  const sealed = { ...call('c1'), seal: { by: 'generate', value: 's' }, at: 'messages[1].content[2]' } as Part
  const { body, lost } = encode({ turns: [user(text('a')), assistant(foreign, bare, sealed), user(result('c1'))] })
  t.strictSame(roles(body), [
    ['user', 'text'],
    ['assistant', 'tool_use'],
    ['user', 'tool_result'],
  ])
  t.strictSame(lost, [
    'reasoningParts messages[1].content[0]',
    'reasoningParts messages[1].content[1]',
    'reasoningParts messages[1].content[2]',
  ])
})

t.test('a file of text is a document of text, whatever it came as', async t => {
  const base64 = Buffer.from('a,b\n1,2').toString('base64')
  const file: MediaPart = { type: 'media', kind: 'document', mime: 'text/csv', name: 'a.csv', source: { base64 } }
  const { body } = encode({ turns: [user(file)] })
  t.match(body.messages, [
    {
      content: [
        { type: 'document', title: 'a.csv', source: { type: 'text', media_type: 'text/plain', data: 'a,b\n1,2' } },
      ],
    },
  ])
})

t.test('a type that is missing is found in the bytes', async t => {
  const image: MediaPart = { type: 'media', kind: 'image', source: { base64: '/9j/4AAQSkZJRg==' } }
  t.match(encode({ turns: [user(image)] }).body.messages, [{ content: [{ source: { media_type: 'image/jpeg' } }] }])
})

t.test('media that it does not take are refused by their place', async t => {
  const parts: readonly MediaPart[] = [
    { type: 'media', kind: 'image', mime: 'image/tiff', source: { base64: 'SUkq' }, at: 'messages[0].content[1]' },
    {
      type: 'media',
      kind: 'document',
      mime: 'application/zip',
      source: { base64: 'UEsD' },
      at: 'messages[0].content[1]',
    },
    { type: 'media', kind: 'audio', mime: 'audio/wav', source: { base64: 'UklGR' }, at: 'messages[0].content[1]' },
    { type: 'media', kind: 'video', source: { url: 'https://example.com/' }, at: 'messages[0].content[1]' },
    { type: 'media', kind: 'document', source: { file: 'file-1', of: 'chat' }, at: 'messages[0].content[1]' },
  ]
  for (const part of parts) {
    t.throws(
      () => encode({ turns: [user(part)] }),
      { code: 'untranslatable', details: { param: 'messages[0].content[1]' } },
      part.kind,
    )
  }
})

t.test('citations go back to who made them', async t => {
  const value = {
    type: 'char_location',
    cited_text: 'a',
    document_index: 0,
    document_title: null,
    start_char_index: 0,
    end_char_index: 1,
  }
  const own: Part = {
    type: 'text',
    text: 'a',
    citations: [{ own: { of: 'messages', value: { ...value, file_id: null } } }],
  }
  const foreign: Part = {
    type: 'text',
    text: 'b',
    citations: [{ url: 'https://example.com/' }],
    at: 'messages[1].content',
  }
  const { body, lost } = encode({ turns: [user(text('?')), assistant(own, foreign), user(text('!'))] })
  t.strictSame((body.messages as JsonObject[])[1], {
    role: 'assistant',
    content: [
      { type: 'text', text: 'a', citations: [value] },
      { type: 'text', text: 'b' },
    ],
  })
  t.strictSame(lost, ['turns messages[1].content'])
})
