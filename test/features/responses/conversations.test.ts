import t from 'tap'
import { GatewayError } from '../../../src/core/errors.js'
import type { JsonObject } from '../../../src/core/json.js'
import { STATE_BOUNDS, type StateBounds } from '../../../src/features/responses/bounds.js'
import { Conversations } from '../../../src/features/responses/conversations.js'
import { ResponseTurn, type TurnOptions } from '../../../src/features/responses/response-turn.js'
import { MemoryStore } from '../../../src/stores/memory.js'

const WISHES: TurnOptions = { previous: undefined, store: true, background: false }

interface Desk {
  readonly conversations: Conversations
  readonly store: MemoryStore
  /** Runs a turn to its end; gives the response's id and the input as an upstream without state would get it. */
  say(input: unknown, parts?: Say): Promise<{ readonly id: string; readonly sent: unknown }>
}

interface Say {
  readonly previous?: string
  readonly owner?: string
  readonly store?: boolean
  readonly output?: readonly JsonObject[]
  readonly body?: JsonObject
}

function desk(bounds: Partial<StateBounds> = {}, now: () => number = Date.now): Desk {
  const store = new MemoryStore(undefined, now)
  const conversations = new Conversations(store, { ...STATE_BOUNDS, ...bounds }, now)
  let answers = 0
  return {
    conversations,
    store,
    say: async (input, { previous, owner = 'ann', store = true, output, body = {} } = {}) => {
      const turn = await openTurn(conversations, owner, { ...WISHES, previous, store })
      const document = { ...body, input, ...(previous && { previous_response_id: previous }) } as JsonObject
      const sent = (await turn.expand(document)).input
      answers++
      const given = output ?? [message('assistant', `answer ${answers}`, `msg_${answers}`)]
      await turn.keep({ id: turn.id, object: 'response', output: given })
      return { id: turn.id, sent }
    },
  }
}

async function openTurn(conversations: Conversations, owner: string, wishes: TurnOptions): Promise<ResponseTurn> {
  if (wishes.previous === undefined) return new ResponseTurn(conversations, owner, 'm', wishes, { by: 'nobody' })
  const conversation = await conversations.upTo(owner, wishes.previous)
  if (conversation.kind !== 'own') throw new Error('it is kept elsewhere')
  return new ResponseTurn(conversations, owner, 'm', wishes, { by: 'gateway', conversation, durable: true })
}

t.test('a turn takes in all that came before it, oldest first', async t => {
  const { say } = desk()
  const first = await say('one')
  const second = await say('two', { previous: first.id })
  const third = await say('three', { previous: second.id })
  t.same(texts(third.sent), ['user: one', 'assistant: answer 1', 'user: two', 'assistant: answer 2', 'user: three'])
})

t.test('two turns that continue the same response know nothing of one another', async t => {
  const { say } = desk()
  const root = await say('root')
  const left = await say('left', { previous: root.id })
  const right = await say('right', { previous: root.id })
  const onLeft = await say('more', { previous: left.id })
  const onRight = await say('more', { previous: right.id })
  t.same(texts(onLeft.sent), ['user: root', 'assistant: answer 1', 'user: left', 'assistant: answer 2', 'user: more'])
  t.same(texts(onRight.sent), ['user: root', 'assistant: answer 1', 'user: right', 'assistant: answer 3', 'user: more'])
})

t.test('instructions are those of the turn, and previous_response_id goes nowhere', async t => {
  const { conversations, say } = desk()
  const first = await say('one', { body: { instructions: 'Be brief.' } })
  const turn = await openTurn(conversations, 'ann', { ...WISHES, previous: first.id })
  const whole = await turn.expand({ model: 'm', input: 'two', previous_response_id: first.id })
  t.equal(whole.instructions, undefined)
  t.notOk('previous_response_id' in whole)
  t.equal(turn.inherited, 2)
})

t.test('calls, results, thoughts and images are taken in as they were', async t => {
  const { say } = desk()
  const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' }
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' }
  const image = { role: 'user', content: [{ type: 'input_image', image_url: 'https://x.example/a.png' }] }
  const result = { type: 'function_call_output', call_id: 'call_1', output: '4' }
  const first = await say([image], { output: [thought, call] })
  const second = await say([result], { previous: first.id })
  t.same(second.sent, [{ type: 'message', ...image }, thought, call, result])
})

t.test('a text, and messages without a type, become typed messages', async t => {
  const { say } = desk()
  const first = await say([
    { role: 'system', content: 'rules' },
    { role: 'assistant', content: 'earlier' },
    { type: 'message', role: 'user', content: 'now' },
  ])
  t.same(first.sent, [
    message('system', 'rules'),
    { ...message('assistant', 'earlier'), content: [{ type: 'output_text', text: 'earlier', annotations: [] }] },
    message('user', 'now'),
  ])
})

t.test('input that is neither text nor items is refused by its place', async t => {
  const { say } = desk()
  await t.rejects(say(7), { code: 'invalid_parameter', details: { param: 'input' } })
  await t.rejects(say(['x', 3]), { code: 'invalid_parameter', details: { param: 'input[0]' } })
})

t.test('another owner finds neither the response nor its items', async t => {
  const { conversations, say } = desk()
  const first = await say('secret', { output: [message('assistant', 'told', 'msg_told')] })
  t.equal(await conversations.find('bob', first.id), undefined)
  const error = await say([{ type: 'item_reference', id: 'msg_told' }], { owner: 'bob' }).catch((e: unknown) => e)
  const unknown = await say([{ type: 'item_reference', id: 'msg_never' }], { owner: 'bob' }).catch((e: unknown) => e)
  t.equal(withoutId(error), withoutId(unknown))
  t.match(error, { code: 'not_found', details: { param: 'input' } })
})

t.test('a reference stands for an item of the conversation, or of any response of its owner', async t => {
  const { say } = desk()
  const first = await say('one', { output: [message('assistant', 'first', 'msg_a')] })
  await say('elsewhere', { output: [message('assistant', 'second', 'msg_b')] })
  const third = await say(
    [
      { type: 'item_reference', id: 'msg_b' },
      { type: 'item_reference', id: 'msg_a' },
    ],
    { previous: first.id },
  )
  t.same(texts(third.sent), ['user: one', 'assistant: first', 'assistant: second', 'assistant: first'])
})

t.test('what was referred to is kept as it was then', async t => {
  const { conversations, say } = desk()
  const first = await say('one', { output: [message('assistant', 'first', 'msg_a')] })
  const second = await say([
    { type: 'item_reference', id: 'msg_a' },
    { role: 'user', content: 'go on' },
  ])
  const found = await conversations.find('ann', first.id)
  if (found !== undefined) await conversations.forget('ann', found)
  const third = await say('more', { previous: second.id })
  t.same(texts(third.sent), ['assistant: first', 'user: go on', 'assistant: answer 2', 'user: more'])
})

t.test('with store: false nothing is kept', async t => {
  const { conversations, say, store } = desk()
  const { id } = await say('one', { store: false })
  t.equal(await conversations.find('ann', id), undefined)
  t.equal(store.size.records, 0)
})

t.test('a conversation whose beginning is gone is not found', async t => {
  const { conversations, say } = desk()
  const first = await say('one')
  const second = await say('two', { previous: first.id })
  const found = await conversations.find('ann', first.id)
  if (found !== undefined) t.ok(await conversations.forget('ann', found))
  await t.rejects(say('three', { previous: second.id }), {
    code: 'invalid_parameter',
    details: { param: 'previous_response_id', familyCode: 'previous_response_not_found' },
    message: `Previous response with id '${first.id}' not found.`,
  })
})

t.test('a conversation over its number of turns is refused by name', async t => {
  const { say } = desk({ turns: 3 })
  let previous = (await say('1')).id
  previous = (await say('2', { previous })).id
  previous = (await say('3', { previous })).id
  await t.rejects(say('4', { previous }), {
    code: 'invalid_parameter',
    message: /has more than 3 turns/,
    details: { param: 'previous_response_id', limit: 'conversation_turns' },
  })
})

t.test('a conversation over its bytes is refused by name, and the one before is whole', async t => {
  const { say } = desk({ bytes: 2000 })
  const first = await say('x'.repeat(1000))
  await t.rejects(say('y'.repeat(1000), { previous: first.id }), {
    code: 'invalid_parameter',
    details: { limit: 'conversation_bytes' },
  })
  t.equal(texts((await say('short', { previous: first.id })).sent).length, 3)
})

t.test('a conversation that continues keeps its beginning', async t => {
  let now = 1_000_000
  const { say, conversations, store } = desk({ keep: 1000 }, () => now)
  const first = await say('one')
  const second = await say('two', { previous: first.id })
  now += 800
  const third = await say('three', { previous: second.id })
  now += 800
  await store.sweep(now, 100)
  t.not(await conversations.find('ann', first.id), undefined)
  t.equal(texts((await say('four', { previous: third.id })).sent).length, 7)
})

t.test('a response that is being written is found already', async t => {
  const { conversations } = desk()
  const turn = new ResponseTurn(conversations, 'ann', 'm', WISHES, { by: 'nobody' })
  await turn.expand({ input: 'one' })
  const kept = turn.keep({ id: turn.id, output: [] })
  const found = await conversations.find('ann', turn.id)
  t.equal(found?.id, turn.id)
  await kept
})

t.test('a response that is deleted while it is being written does not come back', async t => {
  const { conversations } = desk()
  const response = { kind: 'kept', id: 'resp_k', created: 1, model: 'm', upstream: 'up', background: false } as const
  const written = conversations.remember('ann', response)
  t.ok(await conversations.forget('ann', response))
  await written
  t.equal(await conversations.find('ann', 'resp_k'), undefined)
})

t.test('where nothing can be kept the client hears so', async t => {
  const { conversations, store } = desk()
  await store.close()
  const turn = new ResponseTurn(conversations, 'ann', 'm', WISHES, { by: 'nobody' })
  t.same(await turn.keep({ id: turn.id, store: true, output: [] }), { id: turn.id, store: false, output: [] })
  const error = await conversations.find('ann', 'resp_x').catch((cause: unknown) => cause)
  t.ok(error instanceof GatewayError && error.code === 'unavailable' && error.status === 503)
})

t.test('F-A5 ids hold 128 random bits behind their prefix, and the first response’s is the turn’s', async t => {
  const { conversations } = desk()
  const turn = new ResponseTurn(conversations, 'ann', 'm', WISHES, { by: 'nobody' })
  t.match(turn.id, /^resp_[0-9a-f]{32}$/)
  t.equal(turn.newId('resp_'), turn.id)
  t.not(turn.newId('resp_'), turn.id)
  t.match(turn.newId('msg_'), /^msg_[0-9a-f]{32}$/)
  const ids = new Set(Array.from({ length: 1000 }, () => turn.newId('msg_')))
  t.equal(ids.size, 1000)
})

t.test(
  'an upstream that speaks the protocol but lacks the conversation gets all of it, and every other byte unchanged',
  async t => {
    const { conversations, say } = desk()
    const thoughts = [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'its own' },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gw1.messages.abc' },
      { type: 'reasoning', id: 'rs_3', summary: [] },
    ]
    const first = await say('one', { output: [...thoughts, message('assistant', 'answer', 'msg_1')] })
    const turn = await openTurn(conversations, 'ann', { ...WISHES, previous: first.id })
    const sent = `{ "model":"m", "seed": 12345678901234567890, "previous_response_id":"${first.id}", "input":"two" }`
    const relayed = Buffer.from(turn.relayed(Buffer.from(sent))).toString()
    t.match(relayed, /^\{ "model":"m", "seed": 12345678901234567890, "input":\[/)
    t.same(texts(JSON.parse(relayed).input), ['user: one', 'reasoning', 'assistant: answer', 'user: two'])
    t.same(JSON.parse(relayed).input[1], thoughts[0])
  },
)

function message(role: string, text: string, id?: string): JsonObject {
  const part = role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text }
  return { ...(id && { id }), type: 'message', status: 'completed', role, content: [part] }
}

function texts(items: unknown): string[] {
  return (items as { type: string; role?: string; content?: { text: string }[] }[]).map(item =>
    item.type === 'message' ? `${item.role}: ${item.content?.map(part => part.text).join('')}` : item.type,
  )
}

function withoutId(error: unknown): string {
  return String(error).replace(/msg_\w+/, '')
}

t.test('F-B4 what has more items than a conversation may have is refused, or answered and not kept', async t => {
  const { say, conversations } = desk({ items: 5 })
  const many = (count: number): JsonObject[] => Array.from({ length: count }, (_, n) => message('user', `${n}`))
  const first = await say(many(3))
  const refused = (id: string, count: number): Promise<unknown> => say(many(count), { previous: id })
  await t.rejects(refused(first.id, 2), { code: 'invalid_parameter', details: { limit: 'conversation_items' } })
  const second = await say(many(1), { previous: first.id, output: [] })
  t.equal((await conversations.upTo('ann', second.id)).kind, 'own')
  const large = await say(many(5))
  await t.rejects(conversations.upTo('ann', large.id), { code: 'invalid_parameter', message: /not found/ })
})

t.test('a conversation over a bound is refused before it is read', async t => {
  const { say, conversations, store } = desk()
  const { id } = await say('one')
  const record = await store.get('responses', 'ann', id)
  if (record === undefined) throw new Error('it was kept')
  const text = Buffer.from(record.value).toString()
  for (const [name, limit] of [
    ['turns', 'conversation_turns'],
    ['bytes', 'conversation_bytes'],
    ['items', 'conversation_items'],
  ] as const) {
    const known = await store.get('responses', 'ann', id)
    const head = text.slice(0, text.indexOf('\n')).replace(new RegExp(`"${name}":\\d+`), `"${name}":100000000`)
    if (known !== undefined) await store.replace(known, { value: Buffer.from(`${head}\nno JSON at all`) })
    await t.rejects(conversations.upTo('ann', id), { code: 'invalid_parameter', details: { limit } })
  }
})
