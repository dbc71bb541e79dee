import t from 'tap'
import * as audio from '../../src/codecs/audio/index.js'
import { embedContent, embedContents } from '../../src/codecs/embed-content/index.js'
import { embeddings } from '../../src/codecs/embeddings/index.js'
import { edits, images } from '../../src/codecs/images/index.js'
import { moderations } from '../../src/codecs/moderations/index.js'
import { predict } from '../../src/codecs/predict/index.js'
import { rerank, rerankV2 } from '../../src/codecs/rerank/index.js'
import type { Codec } from '../../src/core/codec.js'
import type { JsonObject } from '../../src/core/json.js'
import { readingOf } from '../../src/translate/decode.js'
import { TEXT_CODECS } from '../codecs/all.js'

const CODECS: readonly Codec[] = [
  ...TEXT_CODECS,
  ...[embeddings, embedContent, embedContents, rerank, rerankV2, images, edits, predict, moderations],
  ...[audio.speech, audio.transcriptions, audio.translations],
]

/** What requests of the protocols cannot do without. */
const LEAST: JsonObject = {
  ...{ model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'a' }], input: 'a', prompt: 'a', voice: 'alloy' },
  ...{ contents: [{ parts: [{ text: 'a' }] }], content: { parts: [{ text: 'a' }] }, query: 'a', documents: ['a'] },
  ...{
    requests: [{ content: { parts: [{ text: 'a' }] } }],
    instances: [{ prompt: 'a' }],
    image: 'data:image/png;base64,AA==',
  },
  file: 'data:audio/wav;base64,AA==',
}

/** Names of members that a decoder asks for. */
function askedOf(codec: Codec): readonly string[] {
  const names = new Set<string>()
  const note = (name: string | symbol): void => {
    if (typeof name === 'string') names.add(name)
  }
  const body = new Proxy(LEAST, {
    // What all members are looked through for does not count: there seem to be none.
    ownKeys: () => [],
    getOwnPropertyDescriptor: (least, name) => {
      note(name)
      return Reflect.getOwnPropertyDescriptor(least, name)
    },
    get: (least, name) => {
      note(name)
      return Reflect.get(least, name) as unknown
    },
  })
  try {
    codec.server.decodeRequest(body, { model: 'm', stream: false })
  } catch {
    // Something else is required; what was asked for before that has been seen.
  }
  return [...names]
}

t.test('decoders ask for no member that would not be parsed', async t => {
  for (const codec of CODECS) {
    const { isKnown } = readingOf(codec)
    const asked = askedOf(codec)
    t.same(
      asked.filter(name => isKnown?.(name) === false),
      [],
      `${codec.protocol}: ${asked.length} members`,
    )
  }
})

t.test('the native protocol has names in two forms', async t => {
  const { isKnown } = readingOf(TEXT_CODECS.find(({ protocol }) => protocol === 'generate') as Codec)
  for (const name of ['generationConfig', 'generation_config', 'system_instruction'])
    t.equal(isKnown?.(name), true, name)
  t.equal(isKnown?.('m'), false)
})
