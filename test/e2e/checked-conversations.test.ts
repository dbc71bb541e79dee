import t, { type Test } from 'tap'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

// Checks see what clients add to conversations, with the first turn that an upstream would get it in.

/** Tells the test what it sees, waits for it, and refuses one word. */
const MODULE = `export const openCheck = () => ({
  async check(request) {
    const text = JSON.stringify(await request.body())
    await globalThis.onChecked?.(text)
    return text.includes('forbidden') ? { refuse: 'no', status: 422 } : 'pass'
  },
})`

const hooks = globalThis as { onChecked?: ((text: string) => unknown) | undefined }

const user = (content: string) => ({ type: 'message', role: 'user', content }) as const

async function stage(test: Test) {
  const up = await startRawUpstream(test)
  up.answer(json(CHAT_ANSWER))
  const yaml = `version: 1
${CALLER}
upstreams: { up: { base: "${up.origin}", speaks: { chat: POST /v1/chat/completions } } }
models: { m: up }
checks: { words: { type: ./words.mjs, models: [m] } }
`
  const gateway = await startTestGateway(test, yaml, { files: { 'words.mjs': MODULE } })
  const seen: string[] = []
  hooks.onChecked = text => seen.push(text)
  test.teardown(() => {
    hooks.onChecked = undefined
  })
  const post = async (path: string, body: object) => {
    const { status, ...answer } = await gateway.request(`/v1/${path}`, { body })
    return { ...(answer.json() as { readonly id: string; readonly output?: unknown }), status }
  }
  const ask = (conversation: unknown, input = 'And now?', more = {}) =>
    post('responses', { model: 'm', input, conversation, ...more })
  const textsOf = async (id: string) => (await gateway.request(`/v1/conversations/${id}/items?order=asc`)).text
  return { up, gateway, seen, post, ask, textsOf }
}

t.test('what a conversation was made with, or was given, is checked with the next turn', async t => {
  const { up, post, ask } = await stage(t)
  const { id } = await post('conversations', { items: [user('a forbidden thing')] })
  for (const conversation of [id, { id }]) t.equal((await ask(conversation)).status, 422)
  t.equal((await post('responses/compact', { model: 'm', conversation: id })).status, 422)
  t.equal((await ask(id, 'In the background?', { background: true })).status, 422)
  const { id: later } = await post('conversations', {})
  t.equal((await ask(later)).status, 200)
  await post(`conversations/${later}/items`, { items: [user('a forbidden thing')] })
  t.equal((await ask(later)).status, 422)
  t.equal(up.requests.items.length, 1)
  t.equal((await ask('conv_none')).status, 404, 'one that is not there is not found, as ever')
})

t.test('each item is shown once, before the input, and what a turn added is not', async t => {
  const { seen, post, ask, gateway } = await stage(t)
  const { id } = await post('conversations', { items: [user('First.')] })
  t.equal((await ask(id, 'Second.')).status, 200)
  await post(`conversations/${id}/items`, { items: [user('Third.')] })
  const first = (await gateway.request(`/v1/conversations/${id}/items?order=asc&limit=1`)).json() as {
    first_id: string
  }
  await gateway.request(`/v1/conversations/${id}/items/${first.first_id}`, { method: 'DELETE' })
  await ask({ id }, 'Fourth.')
  await ask(id, 'Fifth.')
  const shown = seen.map(text => [...text.matchAll(/\b(First|Second|Third|Fourth|Fifth)\./g)].map(([, word]) => word))
  t.same(shown, [['First', 'Second'], ['Third', 'Fourth'], ['Fifth']])
})

t.test('a turn that fails leaves what it was given to be checked again', async t => {
  const { up, seen, post, ask } = await stage(t)
  const { id } = await post('conversations', { items: [user('First.')] })
  up.answer(json({ error: { message: 'no' } }, { status: 400 }), json(CHAT_ANSWER))
  t.equal((await ask(id)).status, 400)
  t.equal((await ask(id)).status, 200)
  await ask(id)
  t.same(
    seen.map(text => text.includes('First.')),
    [true, true, false],
  )
})

t.test('what is added while a check is asked, or a response runs, is no part of that turn', async t => {
  const { up, post, ask, textsOf } = await stage(t)
  const { id } = await post('conversations', { items: [user('First.')] })
  hooks.onChecked = async () => {
    hooks.onChecked = undefined
    await post(`conversations/${id}/items`, { items: [user('a forbidden thing')] })
  }
  t.equal((await ask(id, 'Second.')).status, 200)
  t.match(JSON.stringify(up.last.json()), /First.*Second/)
  t.notMatch(JSON.stringify(up.last.json()), 'forbidden')
  t.match(await textsOf(id), /First.*forbidden.*Second/, 'it is in the conversation')
  t.equal((await ask(id)).status, 422, 'and is checked with the next turn')
})

t.test('a summary of a conversation is no turn of it', async t => {
  const { post, textsOf } = await stage(t)
  const { id } = await post('conversations', { items: [user('First.')] })
  const before = await textsOf(id)
  const { status, output } = await post('responses/compact', { model: 'm', conversation: id })
  t.equal(status, 200)
  t.match(output, [{ role: 'user' }, { type: 'compaction' }])
  t.equal(await textsOf(id), before)
})
