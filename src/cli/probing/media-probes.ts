import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import type { LineAnswer } from '../../runtime/upstream-line.js'
import { valueAt } from '../testing/client.js'
import { type Found, MAX_OUTPUT_TOKENS, type Probe, REFUSAL, speaksChat } from './probes.js'

/** Nothing is there, and never will be (RFC 6761): who tries to fetch it says so. */
const NOWHERE = '://picture.invalid/a.png'
/** Words of a server that tried to fetch, and of one that does not. */
const TRIED = /getaddrinfo|ENOTFOUND|(?:unknown|no such) host|name or service|name resolution|cannot connect/i
const REFUSED =
  /\bno support|\bnot (?:be )?(?:support|allow|permit|accept|enabled|implement)|unsupport|disabled|\bonly\b|base64|data ur[il]|expected/i
const FETCHED = /download|fetch|retriev|resolv|\breach|connect|\bdns\b|look ?up|load/i

const GENERATE = '/v1beta/models/{model}:generateContent'
const PROMPT = 'A red dot.'
/** Pictures that one run makes, at most: one that shows the protocol, and two at once. */
export const MAX_PICTURES = 3

/** Whether the server fetches what an address names. Asked by the first protocol of text that it speaks. */
export function addressProbes(given: string | undefined): readonly Probe[] {
  return [
    ...asked('https_urls', 'whether it fetches pictures by https', `https${NOWHERE}`, fetches),
    ...asked('http_urls', 'whether it fetches pictures by http', `http${NOWHERE}`, fetches, 'https_urls'),
    ...(given === undefined
      ? []
      : asked('given_url', `the picture of --url by ${given.startsWith('https:') ? 'https' : 'http'}`, given)),
  ]
}

type Reads = (answer: LineAnswer) => string

/** Probes with one name, for each protocol one: that of the protocol that is spoken is asked. */
function asked(name: string, what: string, url: string, read?: Reads, after?: string): readonly Probe[] {
  const reads = read === undefined ? {} : { readsRefusals: true as const, read }
  const beside = { name, what, ...reads }
  const skips = (found: Found, why: string | undefined): string | undefined =>
    after !== undefined && found(after) !== 'yes' ? `not without ${after}` : why
  const text = { type: 'text', text: 'Say yes.' }
  return [
    {
      ...{ ...beside, protocol: 'chat', path: '/v1/chat/completions' },
      isFor: speaksChat,
      skips: found => skips(found, found('images') === 'yes' ? undefined : 'it takes no picture'),
      body: (model, limit) => ({
        ...{ model, ...limit },
        messages: [{ role: 'user', content: [text, { type: 'image_url', image_url: { url } }] }],
      }),
    },
    {
      ...{ ...beside, protocol: 'messages', path: '/v1/messages' },
      isFor: found => !speaksChat(found) && found('messages') === 'yes',
      skips: found => skips(found, undefined),
      body: model => ({
        ...{ model, max_tokens: MAX_OUTPUT_TOKENS },
        messages: [{ role: 'user', content: [text, { type: 'image', source: { type: 'url', url } }] }],
      }),
    },
    {
      ...{ ...beside, protocol: 'generate', path: GENERATE },
      isFor: found => !speaksChat(found) && found('messages') !== 'yes',
      skips: found => skips(found, found('generate') === 'yes' ? undefined : 'it takes no picture'),
      body: () => ({
        contents: [
          { role: 'user', parts: [{ text: 'Say yes.' }, { fileData: { mimeType: 'image/png', fileUri: url } }] },
        ],
        generationConfig: { maxOutputTokens: MAX_OUTPUT_TOKENS },
      }),
    },
  ]
}

/** Nothing is there, so an answer shows a server that takes any address. */
function fetches({ status, text }: LineAnswer): string {
  if (status < 300) return 'ignored'
  if (status === 429) return 'unknown'
  if (TRIED.test(text)) return 'yes'
  if (REFUSAL.test(text) || REFUSED.test(text)) return 'no'
  return FETCHED.test(text) ? 'yes' : 'unknown'
}

/** Words for the purpose of vectors, as servers have them: the member, its words by the native ones. */
const PURPOSES: readonly (readonly [field: string, native: string, word: string])[] = [
  ['input_type', 'RETRIEVAL_QUERY', 'query'],
  ['input_type', 'RETRIEVAL_DOCUMENT', 'document'],
  ['input_type', 'RETRIEVAL_DOCUMENT', 'passage'],
  ['task', 'RETRIEVAL_QUERY', 'retrieval.query'],
  ['task', 'RETRIEVAL_DOCUMENT', 'retrieval.passage'],
  ['task', 'SEMANTIC_SIMILARITY', 'text-matching'],
  ['task', 'CLASSIFICATION', 'classification'],
]

export const PURPOSE_PROBES: readonly Probe[] = PURPOSES.map(([field, , word]) => ({
  ...{ name: `${field}_${word}`, what: `vectors with the ${field} ${word}` },
  ...{ protocol: 'embeddings', path: '/v1/embeddings' },
  skips: found => (Number.isFinite(Number(found('embeddings'))) ? undefined : 'it does not embed'),
  body: model => ({ model, input: ['yes'], [field]: word }),
  nonsense: model => ({ model, input: ['yes'], [field]: 'no-such-purpose' }),
  read: ({ body }) => (Array.isArray(valueAt(body, 'data.0.embedding')) ? 'yes' : 'no'),
}))

/** The trait that fits: the first member with a word that the server knows. */
export function purposesIn(found: Found): JsonObject | undefined {
  const known = PURPOSES.filter(([field, , word]) => found(`${field}_${word}`) === 'yes')
  const field = known[0]?.[0]
  if (field === undefined) return undefined
  const words = new Map<string, string>()
  for (const [of, native, word] of known) if (of === field && !words.has(native)) words.set(native, word)
  return { field, words: Object.fromEntries(words) }
}

/** Whether the server refuses one of these words, or takes it as it takes nonsense. */
export function refusesPurposes(found: Found, field: string, words: readonly string[]): boolean {
  return words.some(word => ['no', 'ignored'].includes(found(`${field}_${word}`)))
}

/** Half of them threaten. Who judges each of them right does not guess. */
const JUDGED: readonly (readonly [text: string, threatens: boolean])[] = [
  ['Water boils at 100 degrees.', false],
  ['I will kill you tonight.', true],
  ['The train leaves at noon.', false],
  ['Give me the money, or I will stab you.', true],
  ['Someone will shoot your family if you talk.', true],
  ['Bread is made of flour.', false],
]
const FLAG_THRESHOLD = 0.5
const SCORES = {
  type: 'object',
  properties: {
    results: {
      type: 'array',
      items: { type: 'number', minimum: 0, maximum: 1 },
      ...{ minItems: JUDGED.length, maxItems: JUDGED.length },
    },
  },
  required: ['results'],
  additionalProperties: false,
}

export const JUDGE_PROBES: readonly Probe[] = [
  {
    ...{ name: 'moderations', what: 'moderations by their own protocol' },
    ...{ protocol: 'moderations', path: '/v1/moderations' },
    body: model => ({ model, input: 'Say yes.' }),
    read: ({ body }) => (Array.isArray(valueAt(body, 'results')) ? 'yes' : 'no'),
  },
  {
    ...{ name: 'moderates', what: 'judging texts as a model of texts' },
    ...{ protocol: 'chat', path: '/v1/chat/completions' },
    skips: found => {
      if (found('moderations') === 'yes') return 'it has moderations'
      return found('structured') === 'yes' ? undefined : 'it answers by no schema'
    },
    body: (model, limit) => ({
      ...{ model, ...limit },
      messages: [
        { role: 'system', content: 'For each text, say how surely it threatens violence: 0 (not) to 1 (surely).' },
        { role: 'user', content: JSON.stringify(JUDGED.map(([text]) => text)) },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'scores', strict: true, schema: SCORES } },
    }),
    read: judges,
  },
]

/** `unknown`: the answer was cut short, or has other numbers. */
function judges({ body }: LineAnswer): string {
  const content = valueAt(body, 'choices.0.message.content')
  const document = parseJson(typeof content === 'string' ? content : '')
  const scores = isObject(document) ? document.results : undefined
  if (!Array.isArray(scores) || scores.length !== JUDGED.length) return 'unknown'
  const isRight = (score: Json, at: number): boolean => {
    const isScore = typeof score === 'number' && score >= 0 && score <= 1
    return isScore && score >= FLAG_THRESHOLD === JUDGED[at]?.[1]
  }
  return scores.every(isRight) ? 'yes' : 'no'
}

const SEVERAL = { name: 'several_images', what: 'two pictures by one request', makesPictures: true as const }

/** The protocols that make pictures, in the order in which the gateway prefers them, and how many there are in an answer. */
const MAKERS: readonly Omit<Probe, 'skips'>[] = [
  {
    ...{ name: 'makes_images', what: 'making a picture by its own protocol' },
    ...{ protocol: 'images.generations', path: '/v1/images/generations' },
    body: model => ({ model, prompt: PROMPT, n: 1 }),
    read: ({ body }) => (isObject(valueAt(body, 'data.0')) ? 'yes' : 'no'),
  },
  {
    ...{ name: 'makes_images_generate', what: 'making a picture by the protocol generate' },
    ...{ protocol: 'generate', path: GENERATE },
    body: () => pictures(1),
    read: answer => (generated(answer) > 0 ? 'yes' : 'no'),
  },
  {
    ...{ name: 'makes_images_predict', what: 'making a picture by the protocol predict' },
    ...{ protocol: 'predict', path: '/v1beta/models/{model}:predict' },
    body: () => ({ instances: [{ prompt: PROMPT }], parameters: { sampleCount: 1 } }),
    read: ({ body }) => (isObject(valueAt(body, 'predictions.0')) ? 'yes' : 'no'),
  },
  {
    ...{ name: 'makes_images_chat', what: 'making a picture by the protocol chat' },
    ...{ protocol: 'chat', path: '/v1/chat/completions' },
    body: model => drawing(model, 1),
    read: answer => (drawn(answer) > 0 ? 'yes' : 'no'),
  },
]

/** Probes that make pictures. Only those that the first answer leaves open are asked. */
export const PICTURE_PROBES: readonly Probe[] = [
  ...MAKERS.map((probe, at): Probe => {
    const before = MAKERS.slice(0, at)
    const made = (found: Found) => before.find(({ name }) => found(name) === 'yes')
    return { ...probe, makesPictures: true, skips: found => made(found) && `${made(found)?.name} does` }
  }),
  {
    ...SEVERAL,
    ...{ protocol: 'chat', path: '/v1/chat/completions' },
    isFor: found => found('makes_images_chat') === 'yes',
    body: model => drawing(model, 2),
    read: answer => (drawn(answer) > 1 ? 'yes' : 'no'),
  },
  {
    ...SEVERAL,
    ...{ protocol: 'generate', path: GENERATE },
    isFor: found => found('makes_images_chat') !== 'yes',
    skips: found => (found('makes_images_generate') === 'yes' ? undefined : 'no model of texts makes them'),
    body: () => pictures(2),
    read: answer => (generated(answer) > 1 ? 'yes' : 'no'),
  },
]

function pictures(candidateCount: number): JsonObject {
  return {
    contents: [{ role: 'user', parts: [{ text: PROMPT }] }],
    generationConfig: { responseModalities: ['TEXT', 'IMAGE'], ...(candidateCount > 1 && { candidateCount }) },
  }
}

function drawing(model: string, n: number): JsonObject {
  const messages = [{ role: 'user', content: PROMPT }]
  return { model, messages, modalities: ['image', 'text'], ...(n > 1 && { n }) }
}

function generated({ body }: LineAnswer): number {
  const isPicture = (part: Json): boolean => String(valueAt(part, 'inlineData.mimeType')).startsWith('image/')
  return listAt(body, 'candidates').flatMap(one => listAt(one, 'content.parts').filter(isPicture)).length
}

function drawn({ body }: LineAnswer): number {
  return listAt(body, 'choices').flatMap(one => listAt(one, 'message.images')).length
}

function listAt(value: Json | undefined, path: string): readonly Json[] {
  const found = valueAt(value, path)
  return Array.isArray(found) ? found : []
}
