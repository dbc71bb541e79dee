import t from 'tap'
import { post, simulator } from './support.js'

const SAID = [{ role: 'user', content: 'Hello' }]
const CONTENTS = [{ role: 'user', parts: [{ text: 'Hello' }] }]
const SMALL = { prompt: 'A cat', size: '64x64' }

/** What each operation is asked at least; native ones name their model in the path. */
const OPERATIONS: Readonly<Record<string, object>> = {
  '/v1/chat/completions': { messages: SAID },
  '/v1/completions': { prompt: 'Hello' },
  '/v1/responses': { input: 'Hello' },
  '/v1/responses/compact': { input: 'Hello' },
  '/v1/messages': { messages: SAID, max_tokens: 10 },
  '/v1/messages/count_tokens': { messages: SAID },
  '/v1/embeddings': { input: 'Hello' },
  '/v1/moderations': { input: 'Hello' },
  '/v1/images/generations': SMALL,
  '/v1/audio/speech': { input: 'Hello', voice: 'alloy' },
  '/v1/videos': SMALL,
  '/v1/rerank': { query: 'a', documents: ['a'] },
  '/v1beta/models/NAME:generateContent': { contents: CONTENTS },
  '/v1beta/models/NAME:streamGenerateContent': { contents: CONTENTS },
  '/v1beta/models/NAME:countTokens': { contents: CONTENTS },
  '/v1beta/models/NAME:embedContent': { content: CONTENTS[0] },
  '/v1beta/models/NAME:predict': { instances: [{ prompt: 'A cat' }], parameters: { sampleCount: 1 } },
  '/v1beta/models/NAME:predictLongRunning': { instances: [{ prompt: 'A cat' }] },
}

for (const [path, body] of Object.entries(OPERATIONS)) {
  const native = path.includes('NAME')
  t.test(`${path} takes a model of any name`, async t => {
    const upstream = await simulator(t)
    for (const model of ['my-model', 'gpt-5.2', 'org/name:free', 'ein Modell']) {
      const named = native ? body : { ...body, model }
      const { status, text } = await post(upstream, path.replace('NAME', encodeURIComponent(model)), named)
      t.equal(status, 200, `${model}: ${text.slice(0, 200)}`)
    }
  })

  // Videos and moderations have a model of their own where none is named.
  if (native || path === '/v1/videos' || path === '/v1/moderations') continue
  t.test(`${path} wants a model that has a name`, async t => {
    t.equal((await post(await simulator(t), path, { ...body, model: '' })).status, 400)
  })
}
