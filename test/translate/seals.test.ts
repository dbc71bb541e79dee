import t from 'tap'
import type { CallPart, Part, ReasoningPart, Seal, TextEvent, TextRequest, Turn } from '../../src/core/text.js'
import { ReasoningCache } from '../../src/kernel/translate/reasoning-cache.js'
import { MemoryStore } from '../../src/stores/memory.js'
import { recallSeals, SealGatherer, withRecalled } from '../../src/translate/seals.js'

// What a client of a protocol without seals cannot send back is put back by the gateway.

const seal = (value: string, by = 'messages'): Seal => ({ by, value })
const thought = (text: string, sealed?: Seal): ReasoningPart => ({
  type: 'reasoning',
  text,
  ...(sealed !== undefined && { seal: sealed }),
})
const calling = (id: string, sealed?: Seal): CallPart => ({
  type: 'call',
  id,
  name: 'f',
  arguments: '{}',
  ...(sealed !== undefined && { seal: sealed }),
})

const assistant = (...parts: readonly Part[]): Turn => ({ role: 'assistant', parts })
const result = (id: string): Turn => ({ role: 'user', parts: [{ type: 'result', id, parts: [] }] })

function requestOf(...turns: readonly Turn[]): TextRequest {
  return { model: 'm', stream: false, streamUsage: false, system: [], turns, tools: [], left: [] }
}

/** What the upstream of `protocol` is asked, once answers with these parts have been remembered for `ann`. */
async function next(
  answers: readonly (readonly Part[])[],
  turns: readonly Turn[],
  { protocol = 'messages', owner = 'ann' }: { readonly protocol?: string; readonly owner?: string } = {},
): Promise<readonly Turn[]> {
  const recall = new ReasoningCache(new MemoryStore())
  for (const parts of answers) {
    const gatherer = new SealGatherer()
    gatherer.parts(parts)
    await gatherer.remember(recall, 'ann')
  }
  const request = requestOf(...turns)
  const recalled = await recallSeals(recall, owner === '' ? undefined : owner, request, 'chat')
  return withRecalled(request, recalled, protocol).turns
}

const HIDDEN = thought('', seal('s1'))

t.test('sealed reasoning precedes its call again', async t => {
  const answer = [thought('hm', seal('s1')), HIDDEN, calling('a')]
  t.same(await next([answer], [assistant(calling('a')), result('a')]), [assistant(...answer), result('a')])
})

t.test('it begins the turn, before the text', async t => {
  const [turn] = await next([[HIDDEN, calling('a')]], [assistant({ type: 'text', text: 'I look.' }, calling('a'))])
  t.same(turn, assistant(HIDDEN, { type: 'text', text: 'I look.' }, calling('a')))
})

t.test('reasoning between two calls is between them again; reasoning after the last call is dropped', async t => {
  const other = thought('and', seal('s2'))
  const [turn] = await next(
    [[HIDDEN, calling('a'), other, calling('b'), thought('bye', seal('s3'))]],
    [assistant(calling('a'), calling('b'))],
  )
  t.same(turn, assistant(HIDDEN, calling('a'), other, calling('b')))
})

t.test('clients that send each call in a turn of its own get each thought once', async t => {
  const other = thought('and', seal('s2'))
  const answer = [HIDDEN, calling('a'), other, calling('b')]
  const turns = [assistant(calling('a')), result('a'), assistant(calling('b')), result('b')]
  t.same(await next([answer], turns), [
    assistant(HIDDEN, calling('a')),
    result('a'),
    assistant(other, calling('b')),
    result('b'),
  ])
})

t.test('thoughts without a seal go with the sealed ones, in their order', async t => {
  const plain = thought('first', undefined)
  const [turn] = await next([[plain, HIDDEN, calling('a')]], [assistant(calling('a'))])
  t.same(turn, assistant(plain, HIDDEN, calling('a')))
})

t.test('seals of calls return to those calls', async t => {
  const [turn] = await next(
    [[calling('a', seal('s1', 'generate')), calling('b')]],
    [assistant(calling('a'), calling('b'))],
    { protocol: 'generate' },
  )
  t.same(turn, assistant(calling('a', seal('s1', 'generate')), calling('b')))
})

t.test('sealed reasoning replaces reasoning that the client sends', async t => {
  const shown = { ...thought('hm', seal('reasoning_content', 'chat')), at: 'messages[1].reasoning_content' }
  const [turn] = await next([[thought('hm', seal('s1')), calling('a')]], [assistant(shown, calling('a'))])
  t.same(turn, assistant(thought('hm', seal('s1')), calling('a')))
})

t.test('a client that sends its seals back is taken at its word', async t => {
  const own = thought('hm', seal('of the client'))
  const turns = [assistant(own, calling('a'))]
  t.same(await next([[HIDDEN, calling('a')]], turns), turns)
})

t.test('answers of one conversation are distinguished by their calls', async t => {
  const later = thought('', seal('s2'))
  const turns = [assistant(calling('a')), result('a'), assistant(calling('b')), result('b')]
  t.same(
    await next(
      [
        [HIDDEN, calling('a')],
        [later, calling('b')],
      ],
      turns,
    ),
    [assistant(HIDDEN, calling('a')), result('a'), assistant(later, calling('b')), result('b')],
  )
})

t.test('F-X1 an upstream of another protocol is given nothing that it cannot read', async t => {
  const turns = [assistant(calling('a')), result('a')]
  t.same(await next([[HIDDEN, calling('a')]], turns, { protocol: 'generate' }), turns)
  t.same(await next([[calling('a', seal('s1', 'generate'))]], turns, { protocol: 'messages' }), turns)
})

t.test('F-A4 no caller gets the reasoning of another', async t => {
  const turns = [assistant(calling('a')), result('a')]
  t.same(await next([[HIDDEN, calling('a')]], turns, { owner: 'bob' }), turns)
  t.same(await next([[HIDDEN, calling('a')]], turns, { owner: '' }), turns)
})

t.test('unknown calls, user turns and calls without reasoning stay unchanged', async t => {
  const turns = [assistant(calling('b')), result('b'), assistant({ type: 'text', text: 'a' })]
  t.same(await next([[HIDDEN, calling('a')]], turns), turns)
  const recalled = await recallSeals(new ReasoningCache(new MemoryStore()), 'ann', requestOf(...turns), 'chat')
  t.equal(recalled.size, 0)
  const request = requestOf(...turns)
  t.equal(withRecalled(request, recalled, 'messages'), request, 'the very same request')
})

t.test('ids and seals named like members of every object find nothing', async t => {
  for (const id of ['__proto__', 'constructor', 'toString']) {
    const turns = [assistant(calling(id)), result(id)]
    t.same(await next([[HIDDEN, calling('a')]], turns), turns)
    t.same(await next([[HIDDEN, calling(id)]], turns), [assistant(HIDDEN, calling(id)), result(id)])
    const sealed = calling(id, seal('s1', 'generate'))
    t.same(await next([[sealed]], turns, { protocol: 'generate' }), [assistant(sealed), result(id)])
  }
  t.equal(({} as { by?: unknown }).by, undefined)
})

t.test('answers without calls, or without seals, are not remembered', async t => {
  for (const parts of [[], [HIDDEN], [calling('a')], [thought('hm'), calling('a')]]) {
    const gatherer = new SealGatherer()
    gatherer.parts(parts)
    t.equal(gatherer.isSealed, false)
    const store = new MemoryStore()
    await gatherer.remember(new ReasoningCache(store), 'ann')
    t.equal(await store.get('sealed-reasoning', 'ann', 'a'), undefined)
  }
})

t.test('streams give the same result: texts are joined, seals come at the end', async t => {
  const events: readonly TextEvent[] = [
    { type: 'start', id: 'x', model: 'm' },
    { type: 'part-start', candidate: 0, index: 0, part: thought('') },
    { type: 'part-delta', candidate: 0, index: 0, text: 'h' },
    { type: 'part-delta', candidate: 0, index: 0, text: 'm' },
    { type: 'part-end', candidate: 0, index: 0, seal: seal('s1') },
    { type: 'part-start', candidate: 0, index: 1, part: { type: 'text', text: '' } },
    { type: 'part-delta', candidate: 0, index: 1, text: 'I look.' },
    { type: 'part-end', candidate: 0, index: 1 },
    // Another answer to the same question is not what the conversation goes on with.
    { type: 'part-start', candidate: 1, index: 0, part: thought('other', seal('other')) },
    { type: 'part-start', candidate: 0, index: 2, part: calling('a') },
    { type: 'part-delta', candidate: 0, index: 2, text: '{"x":1}' },
    { type: 'part-end', candidate: 0, index: 2 },
    { type: 'end', candidate: 0, end: { reason: 'tool' } },
    { type: 'finish' },
  ]
  const recall = new ReasoningCache(new MemoryStore())
  const gatherer = new SealGatherer()
  for (const event of events) gatherer.event(event)
  t.equal(gatherer.isSealed, true)
  await gatherer.remember(recall, 'ann')
  const request = requestOf(assistant(calling('a')))
  const recalled = await recallSeals(recall, 'ann', request, 'chat')
  t.same(withRecalled(request, recalled, 'messages').turns, [assistant(thought('hm', seal('s1')), calling('a'))])
})

t.test('thoughts without end are not gathered without end', async t => {
  const recall = new ReasoningCache(new MemoryStore())
  const gatherer = new SealGatherer()
  gatherer.event({ type: 'part-start', candidate: 0, index: 0, part: thought('', seal('s1')) })
  const text = 'x'.repeat(64 * 1024)
  for (let i = 0; i < 64; i++) gatherer.event({ type: 'part-delta', candidate: 0, index: 0, text })
  gatherer.event({ type: 'part-start', candidate: 0, index: 1, part: calling('a') })
  await gatherer.remember(recall, 'ann')
  t.equal(await recall.find('ann', 'a'), undefined)
})

t.test('a store that fails is reported where something is wanted of it, and has no effect elsewhere', async t => {
  const store = new MemoryStore()
  const recall = new ReasoningCache(store)
  await store.close()
  const gatherer = new SealGatherer()
  gatherer.parts([HIDDEN, calling('a')])
  await t.resolves(gatherer.remember(recall, 'ann'))
  await t.rejects(recallSeals(recall, 'ann', requestOf(assistant(calling('a'))), 'chat'), { code: 'unavailable' })
  await t.resolves(recallSeals(recall, 'ann', requestOf(assistant({ type: 'text', text: 'a' })), 'chat'))
})
