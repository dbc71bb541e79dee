import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { LineAnswer } from '../../runtime/upstream-line.js'
import { valueAt } from '../testing/client.js'
import { MAX_OUTPUT_TOKENS, PIXEL, type Probe } from './probes.js'

/** Members of rerank requests that a probe decides. */
export const RERANK_MEMBERS = ['max_tokens_per_doc', 'priority'] as const

/** What a model does beside text decides these traits. */
export const TRAIT_PROBES: readonly Probe[] = [
  {
    ...{ name: 'speech', what: 'speech by its own protocol', protocol: 'speech', path: '/v1/audio/speech' },
    body: model => ({ model, input: 'Yes.', voice: 'alloy' }),
    read: ({ body, text }) => (body === undefined && text !== '' ? 'yes' : 'no'),
  },
  {
    ...{ name: 'generated_sound', what: 'sound by the protocol generate' },
    ...{ protocol: 'generate', path: '/v1beta/models/{model}:generateContent' },
    body: () => ({
      contents: [{ role: 'user', parts: [{ text: 'Say: yes.' }] }],
      generationConfig: { responseModalities: ['AUDIO'], maxOutputTokens: MAX_OUTPUT_TOKENS },
    }),
    read: soundIn,
  },
  embedding('image_objects', 'embeddings of images, as {image}', { image: PIXEL }),
  embedding('image_parts', 'embeddings of images, as parts', {
    content: [{ type: 'image_url', image_url: { url: PIXEL } }],
  }),
  rerank('rerank', 'ranking documents', () => ({})),
  ...RERANK_MEMBERS.map(member =>
    rerank(`rerank_${member}`, `${member} of rerank requests`, value => ({ [member]: value }), 'none'),
  ),
]

function embedding(name: string, what: string, input: Json): Probe {
  return {
    ...{ name, what, protocol: 'embeddings', path: '/v1/embeddings' },
    body: model => ({ model, input: [input] }),
    read: ({ body }) => (Array.isArray(valueAt(body, 'data.0.embedding')) ? 'yes' : 'no'),
  }
}

function rerank(name: string, what: string, more: (value: Json) => JsonObject, nonsense?: Json): Probe {
  const body = (model: string, value: Json): JsonObject => ({
    ...{ model, query: 'yes', documents: ['yes', 'no'] },
    ...more(value),
  })
  return {
    ...{ name, what, protocol: 'rerank', path: '/v1/rerank' },
    body: model => body(model, 1),
    // A server that does not read the member takes anything.
    ...(nonsense !== undefined && { nonsense: (model: string) => body(model, nonsense) }),
    read: answer => (Array.isArray(valueAt(answer.body, 'results')) ? 'yes' : 'no'),
  }
}

function soundIn({ body }: LineAnswer): string {
  const parts = valueAt(body, 'candidates.0.content.parts')
  const isSound = (part: Json): boolean => String(valueAt(part, 'inlineData.mimeType')).startsWith('audio/')
  return Array.isArray(parts) && parts.some(part => isObject(part) && isSound(part)) ? 'yes' : 'no'
}
