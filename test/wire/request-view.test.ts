import t from 'tap'
import type { Sticky } from '../../src/core/strategy.js'
import { type Request, RequestView } from '../../src/wire/request-view.js'

const view = (document: unknown, parts: Partial<Request> = {}): RequestView =>
  new RequestView({
    body: document === undefined ? undefined : Buffer.from(JSON.stringify(document)),
    form: undefined,
    stream: false,
    key: 'alice',
    groups: [],
    header: () => undefined,
    paths: undefined,
    ...parts,
  })

const sticky = (to: Sticky['to'], more: Partial<Sticky> = {}): Sticky => ({ by: 'sticky', to, prefix: 4096, ...more })
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const same = (one: RequestView, other: RequestView, by: Sticky): boolean =>
  hex(one.digest(by)) === hex(other.digest(by))

const system = { role: 'system', content: 'You are terse.' }
const first = { role: 'user', content: 'hello' }
const later = [
  { role: 'assistant', content: 'hi' },
  { role: 'user', content: 'more' },
]

t.test('a conversation without a name is known by its first turn', async t => {
  const by = sticky('conversation')
  const one = view({ model: 'm', messages: [system, first] })
  t.ok(same(one, view({ model: 'm', temperature: 1, messages: [system, first, ...later] }), by), 'later turns')
  t.notOk(same(one, view({ messages: [system, { role: 'user', content: 'other' }] }), by), 'another first turn')
  t.notOk(same(one, view({ messages: [system, first] }, { key: 'bob' }), by), 'another key')
})

t.test('what requests call their conversation comes before their turns', async t => {
  const by = sticky('conversation', { header: 'x-thread' })
  for (const named of [
    { prompt_cache_key: 'a' },
    { conversation: 'a' },
    { conversation: { id: 'a' } },
    { metadata: { session_id: 'a' } },
  ]) {
    const one = view({ ...named, input: 'one' })
    t.ok(same(one, view({ ...named, input: 'two' }), by), JSON.stringify(named))
    t.notOk(same(one, view({ input: 'one' }), by))
  }
  const header = (value: string) => (name: string) => (name === 'x-thread' ? value : undefined)
  const one = view({ prompt_cache_key: 'a' }, { header: header('t1') })
  t.ok(same(one, view({ prompt_cache_key: 'b' }, { header: header('t1') }), by), 'the declared header first')
  t.notOk(same(one, view({ prompt_cache_key: 'a' }, { header: header('t2') }), by))
})

t.test('prompts that begin alike have one prefix, in any order of members and for all callers', async t => {
  const long = { role: 'system', content: 'rule '.repeat(2000) }
  const by = sticky('prefix')
  const one = view({ messages: [long, first], tools: [{ type: 'function' }] })
  t.ok(
    same(
      one,
      view({ tools: [{ type: 'function' }], messages: [long, { role: 'user', content: 'other' }] }, { key: 'bob' }),
      by,
    ),
  )
  t.notOk(same(one, view({ messages: [long, first] }), by), 'other tools')
  const whole = sticky('prefix', { prefix: 1_000_000 })
  t.notOk(
    same(one, view({ messages: [long, { role: 'user', content: 'other' }], tools: [{ type: 'function' }] }), whole),
  )
})

t.test('a body that holds no prompt is sticky by its key', async t => {
  for (const body of [undefined, Buffer.from('[1]'), Buffer.from('{'), Buffer.from('{"a":1}')]) {
    const parts = body === undefined ? {} : { body }
    t.ok(same(view(undefined, parts), view(undefined), sticky('prefix')))
    t.ok(same(view(undefined, parts), view(undefined), sticky('conversation')))
  }
})

t.test('images, tools and tokens are read from requests of each protocol', async t => {
  const shown: readonly unknown[] = [
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.example/a.png' } }] }] },
    { messages: [{ role: 'user', content: [{ type: 'tool_result', content: [{ type: 'image', source: {} }] }] }] },
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA' }] }] },
    { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: 'AA' } }] }] },
  ]
  for (const document of shown) t.equal(view(document).images, true, JSON.stringify(document))
  const hidden: readonly unknown[] = [
    { messages: [{ role: 'user', content: 'say "image_url"' }] },
    { messages: [first], tools: [{ function: { parameters: { properties: { image: { type: 'string' } } } } }] },
    { contents: [{ parts: [{ inlineData: { mimeType: 'audio/wav', data: 'AA' } }] }] },
  ]
  for (const document of hidden) t.equal(view(document).images, false, JSON.stringify(document))
  t.equal(view({ tools: [{}] }).tools, true)
  t.equal(view({ tools: [] }).tools, false)
  t.equal(view({ messages: [{ role: 'user', content: 'x'.repeat(4000) }] }).tokens, 1011)
})
