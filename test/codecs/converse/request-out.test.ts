import t from 'tap'
import { converse } from '../../../src/codecs/converse/index.js'
import { DocumentNames } from '../../../src/codecs/converse/media-out.js'
import type { Traits } from '../../../src/core/codec.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { MediaPart, Part, TextRequest, Tool, Turn } from '../../../src/core/text.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { plain, requestOf, targetOf } from '../support.js'

interface Encoded {
  readonly body: JsonObject
  readonly lost: readonly string[]
}

function encode(more: Partial<TextRequest>, traits: Traits = {}): Encoded {
  const target = targetOf(converse, traits)
  const body = plain(converse.client.encodeRequest(requestOf(more), target)) as JsonObject
  const faults = openApiFolder() === undefined ? [] : openApi('converse.request')(body)
  if (faults.length > 0) throw new Error(`${faults} in ${JSON.stringify(body)}`)
  return { body, lost: target.lost.map(({ field, at = '' }) => `${field} ${at}`.trim()) }
}

/** The blocks of each message, and what was lost. */
function blocksOf(...turns: readonly Turn[]): { readonly blocks: unknown; readonly lost: readonly string[] } {
  const { body, lost } = encode({ turns, tools: [CLOCK] })
  return { blocks: (body.messages as { content: unknown }[]).map(({ content }) => content), lost }
}

const CLOCK: Tool = { type: 'function', name: 'clock', at: 'tools[0]' }
const MARK = { cachePoint: { type: 'default' } }
const user = (...parts: readonly Part[]): Turn => ({ role: 'user', parts, at: 'here' })
const assistant = (...parts: readonly Part[]): Turn => ({ role: 'assistant', parts })
const text = (text: string): Part => ({ type: 'text', text })
const thought = (value: string): Part => ({ type: 'reasoning', text: value, seal: { by: 'converse', value } })
const call = (id: string, more: Partial<Part> = {}): Part =>
  ({ type: 'call', id, name: 'clock', arguments: '{}', ...more }) as Part
const result = (id: string, more: Partial<Part> = {}): Part =>
  ({ type: 'result', id, parts: [{ type: 'text', text: 'Noon.' }], ...more }) as Part
const NOTES: MediaPart = { type: 'media', kind: 'document', name: 'notes', source: { text: 'Räin.' }, at: 'notes' }
const BYTES = { bytes: Buffer.from('Räin.').toString('base64') }

const toolUse = (id: string): unknown => ({ toolUse: { toolUseId: id, name: 'clock', input: {} } })
const toolResult = (id: string): unknown => ({ toolResult: { toolUseId: id, content: [{ text: 'Noon.' }] } })
const reasoning = (value: string): unknown => ({
  reasoningContent: { reasoningText: { text: value, signature: value } },
})

t.test('documents of one name each get another, in one step however many there are', async t => {
  const names = new DocumentNames()
  t.equal(names.of('a (2)'), 'a (2)')
  t.strictSame(
    ['a', 'a', 'a', 'b'].map(name => names.of(name)),
    ['a', 'a (3)', 'a (4)', 'b'],
  )
  // By trying each number anew this would take hours.
  for (let i = 0; i < 300_000; i++) names.of('many')
  t.equal(names.of('many'), 'many (300001)')
})

t.test('cache marks go to models that take them, and are named as lost for those declared not to', async t => {
  const marked: Partial<TextRequest> = {
    system: [{ type: 'text', text: 'Long.', cache: {}, at: 'system' }],
    tools: [{ ...CLOCK, cache: {} }],
    turns: [
      user({ ...text('Time?'), cache: {}, at: 'question' } as Part),
      assistant(call('c1')),
      user(result('c1', { cache: {}, at: 'result' })),
    ],
  }
  const marksOf = ({ body, lost }: Encoded): object => ({
    marks: JSON.stringify(body).split('cachePoint').length - 1,
    lost,
  })
  const texts = ['cacheMarks result', 'cacheMarks tools[0]']
  const none = ['cacheMarks system', 'cacheMarks question', ...texts]
  t.strictSame(marksOf(encode(marked, {})), { marks: 4, lost: [] })
  t.strictSame(marksOf(encode(marked, { prompt_cache: true })), { marks: 4, lost: [] })
  t.strictSame(marksOf(encode(marked, { prompt_cache: 'text' })), { marks: 2, lost: texts })
  t.strictSame(marksOf(encode(marked, { prompt_cache: false })), { marks: 0, lost: none })
  const byModel = (pattern: string): Traits => ({ prompt_cache: { [pattern]: 'text', '*': true } })
  t.strictSame(marksOf(encode(marked, byModel('up*'))), { marks: 2, lost: texts })
  t.strictSame(marksOf(encode(marked, byModel('x*'))), { marks: 4, lost: [] })
  t.strictSame(marksOf(encode(marked, { prompt_cache: { 'x*': true } })), { marks: 0, lost: none })
})

t.test('documents of text go out as bytes, and as text only to be cited', async t => {
  const sourceOf = (part: MediaPart): unknown => {
    const { body } = encode({ turns: [user(text('Read.'), part)] })
    return (body.messages as { content: { document: { source: unknown } }[] }[])[0]?.content[1]?.document.source
  }
  t.strictSame(sourceOf(NOTES), BYTES)
  t.strictSame(sourceOf({ ...NOTES, cite: true }), { text: 'Räin.' })
  const data = { ...NOTES, mime: 'application/json', source: { base64: BYTES.bytes } }
  t.strictSame(sourceOf(data), BYTES)
  t.strictSame(sourceOf({ ...data, cite: true }), { text: 'Räin.' })
})

t.test('a document in a result is not cited', async t => {
  const { blocks, lost } = blocksOf(
    user(text('Read.')),
    assistant(call('c1')),
    user(result('c1', { parts: [{ ...NOTES, cite: true }] })),
  )
  const content = [{ document: { format: 'txt', name: 'notes', source: BYTES } }]
  t.match(blocks, [[], [], [{ toolResult: { content } }]])
  t.notMatch(JSON.stringify(blocks), 'citations')
  t.strictSame(lost, ['cite notes'])
})

t.test('audio in a result is refused', async t => {
  const audio: MediaPart = { type: 'media', kind: 'audio', mime: 'audio/wav', source: { base64: 'AAAA' }, at: 'sound' }
  t.throws(() => blocksOf(user(text('Listen.')), assistant(call('c1')), user(result('c1', { parts: [audio] }))), {
    code: 'untranslatable',
    details: { param: 'sound' },
  })
  t.match(blocksOf(user(text('Listen.'), audio)).blocks, [[{}, { audio: { format: 'wav' } }]])
})

t.test('results are before anything else that the user says, each with its mark', async t => {
  const { blocks } = blocksOf(
    user(text('Time?')),
    assistant(call('a'), call('b')),
    user(result('a', { cache: {} })),
    user({ ...text('Look.'), cache: {} } as Part),
    user(result('b')),
  )
  t.strictSame(blocks, [
    [{ text: 'Time?' }],
    [toolUse('a'), toolUse('b')],
    [toolResult('a'), MARK, toolResult('b'), { text: 'Look.' }, MARK],
  ])
})

t.test('calls are behind what the assistant says, and nothing moves across thoughts', async t => {
  const { blocks } = blocksOf(
    user(text('Time?')),
    assistant(thought('first'), call('a', { cache: {} })),
    assistant(text('I look.')),
    assistant(thought('second'), call('b'), text('Again.')),
    user(result('a'), result('b')),
  )
  t.strictSame(blocks, [
    [{ text: 'Time?' }],
    [
      ...[reasoning('first'), { text: 'I look.' }, toolUse('a'), MARK],
      ...[reasoning('second'), { text: 'Again.' }, toolUse('b')],
    ],
    [toolResult('a'), toolResult('b')],
  ])
})

t.test('the trace of a tool at the upstream stays where it is', async t => {
  const value = { toolUse: { toolUseId: 's', name: 'search', input: {}, type: 'server_tool_use' } }
  const { blocks } = blocksOf(user(text('Time?')), assistant({ type: 'hosted', of: 'converse', value }, text('Noon.')))
  t.strictSame(blocks, [[{ text: 'Time?' }], [value, { text: 'Noon.' }]])
})

t.test('a document alone gets a text beside it, behind results and before a mark', async t => {
  const document = { document: { format: 'txt', name: 'notes', source: BYTES } }
  t.strictSame(blocksOf(user(NOTES)), { blocks: [[document, { text: '.' }]], lost: ['turns here'] })
  t.strictSame(blocksOf(user({ ...NOTES, cache: {} })).blocks, [[document, { text: '.' }, MARK]])
  t.strictSame(blocksOf(user(text('Read.'), NOTES)), { blocks: [[{ text: 'Read.' }, document]], lost: [] })
  t.strictSame(blocksOf(user(text('Time?')), assistant(call('a')), user(NOTES, result('a'))).blocks, [
    [{ text: 'Time?' }],
    [toolUse('a')],
    [toolResult('a'), document, { text: '.' }],
  ])
})

t.test('a budget for thinking fits below the limit of the operator, too', async t => {
  const reasoning = { budget: 8000 }
  const { body, lost } = encode({ reasoning }, { reasoning: 'budget', max_output: 4096 })
  t.match(body, {
    inferenceConfig: { maxTokens: 4096 },
    additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 3072 } },
  })
  t.strictSame(lost, ['budget'])
})

t.test('results of calls without thoughts are answered without a budget', async t => {
  const traits = { reasoning: 'budget', max_output: 50_000 } as const
  const turns = [user(text('Time?')), assistant(call('a')), user(result('a'))]
  const { body, lost } = encode({ turns, tools: [CLOCK], reasoning: { budget: 8000 } }, traits)
  t.notOk('additionalModelRequestFields' in body)
  t.strictSame(lost, ['reasoningParts'])
  const thoughtful = [user(text('Time?')), assistant(thought('hm'), call('a')), user(result('a'))]
  t.match(encode({ turns: thoughtful, tools: [CLOCK], reasoning: { budget: 8000 } }, traits).body, {
    additionalModelRequestFields: { thinking: { budget_tokens: 8000 } },
  })
})

t.test('a call that is required of some tools excludes thinking', async t => {
  const traits = { reasoning: 'budget', max_output: 50_000 } as const
  const asked = { tools: [CLOCK], reasoning: { budget: 8000 } }
  const toolChoice = (mode: 'auto' | 'required') => ({ type: 'subset', mode, names: ['clock'] }) as const
  t.notOk('additionalModelRequestFields' in encode({ ...asked, toolChoice: toolChoice('required') }, traits).body)
  t.ok('additionalModelRequestFields' in encode({ ...asked, toolChoice: toolChoice('auto') }, traits).body)
})
