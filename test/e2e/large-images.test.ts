import { StringDecoder } from 'node:string_decoder'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { relaysAnything } from '../helpers/emitted.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

/** Bodies that hold base64: what goes out is what came, and no one has made strings of it on the way. */

// One of these bodies holds what no document knows.
relaysAnything()

const MiB = 1024 * 1024
/** Enough to tell it from what is checked of a large body; more only takes longer. */
const DATA = 'iVBORw0KGgoA'.repeat((4 * MiB) / 12)
const URL = `data:image/png;base64,${DATA}`
const source = { type: 'base64', media_type: 'image/png', data: DATA }
const user = (content: object): readonly object[] => [{ role: 'user', content: [content] }]

const BODIES: Readonly<Record<string, (model: string) => object>> = {
  '/v1/chat/completions': model => ({ messages: user({ type: 'image_url', image_url: { url: URL } }), model }),
  '/v1/responses': model => ({ model, store: false, input: user({ type: 'input_image', image_url: URL }) }),
  '/v1/messages': model => ({ model, max_tokens: 9, messages: user({ type: 'image', source }) }),
  '/v1beta/models/MODEL:generateContent': () => ({
    contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: DATA } }] }],
  }),
  '/v1beta/models/MODEL:embedContent': model => ({
    content: { parts: [{ inlineData: { mimeType: 'image/png', data: DATA } }] },
    model: `models/${model}`,
  }),
  '/v1/embeddings': model => ({ input: ['a', { image: DATA }], model }),
  '/v1/images/generations': model => ({ prompt: 'the same in green', images: [{ image_url: URL }], model }),
}

const SPEAKS = [
  'chat: POST /v1/chat/completions',
  'responses: POST /v1/responses',
  'messages: POST /v1/messages',
  'generate: "POST /v1beta/models/{model}:generateContent"',
  'embed-content: "POST /v1beta/models/{model}:embedContent"',
  'embeddings: POST /v1/embeddings',
  'images.generations: POST /v1/images/generations',
].join(', ')

/** Ways in which this runtime makes strings of bytes. */
const READERS = ['toString', 'utf8Slice', 'latin1Slice', 'asciiSlice', 'base64Slice', 'hexSlice', 'ucs2Slice'] as const
/** What is checked of a large body is at most about this long, in characters. */
const MOST = 1 * MiB

/** The longest string that is made of bytes, or parsed, until the returned function is called. */
function watchStrings(t: Test): () => number {
  let longest = 0
  const see = (value: unknown): void => {
    if (typeof value === 'string') longest = Math.max(longest, value.length)
  }
  const wrap = (holder: object, name: string, argument: boolean): void => {
    const methods = holder as Record<string, (...args: unknown[]) => unknown>
    const real = methods[name]
    if (real === undefined) return
    methods[name] = function (this: unknown, ...args) {
      if (argument) see(args[0])
      const made = real.apply(this, args)
      see(made)
      return made
    }
    t.teardown(() => {
      methods[name] = real
    })
  }
  for (const name of READERS) wrap(Buffer.prototype, name, false)
  wrap(TextDecoder.prototype, 'decode', false)
  wrap(StringDecoder.prototype, 'write', false)
  wrap(JSON, 'parse', true)
  return () => longest
}

for (const [written, make] of Object.entries(BODIES)) {
  for (const [model, sent] of [
    ['same', 'same'],
    ['mine', 'theirs'],
  ] as const) {
    t.test(`${written}: base64 for the model ${sent}: untouched, and never a string`, async t => {
      const upstream = await startRawUpstream(t)
      upstream.answer(json({ ok: true }))
      const up = `{ base: "${upstream.origin}", speaks: { ${SPEAKS} } }`
      const models = '{ same: up, mine: { upstream: up, as: theirs } }'
      const gateway = await startTestGateway(t, `version: 1\n${CALLER}\nupstreams: { up: ${up} }\nmodels: ${models}\n`)
      const body = Buffer.from(JSON.stringify(make(model)))
      const wanted = Buffer.from(JSON.stringify(make(sent)))
      const path = written.replace('MODEL', model)
      const longest = watchStrings(t)
      const answer = await gateway.request(path, { body })
      const made = longest()
      t.equal(answer.status, 200, answer.text.slice(0, 300))
      t.ok(upstream.requests.items[0]?.body.equals(wanted), 'byte for byte, but for the name')
      t.ok(made < MOST, `the longest string had ${made} characters`)
    })
  }
}

t.test('the watch sees what is made', async t => {
  const longest = watchStrings(t)
  Buffer.alloc(2 * MOST, 'a').toString()
  t.equal(longest(), 2 * MOST)
})
