import t from 'tap'
import { type Purpose, seal } from '../../simulator/src/seals.js'
import { type Recording, readRecordings, recordingsFile } from '../helpers/recordings.js'
import { dataOf, post, type Received, simulator } from './support.js'

/** Who recorded what, and where it goes here. */
const OPERATIONS: readonly (readonly [provider: string, path: RegExp, family: string])[] = [
  ['openai', /\/(images\/generations)$/, '/v1/'],
  ['openai', /\/(chat\/completions|completions|embeddings|moderations|responses(\/(input_tokens|compact))?)$/, '/v1/'],
  ['cohere', /\/(rerank)$/, '/v2/'],
  ['anthropic', /\/(messages(\/count_tokens)?)$/, '/v1/'],
  [
    'gemini',
    /:(generateContent|streamGenerateContent|countTokens|batchEmbedContents)$/,
    '/v1beta/models/sim-generate:',
  ],
]

/** What a provider keeps between requests, fetches or makes, and the simulator does not. */
const NEEDS_MORE = [
  /previous_response_id|previous response with id/i,
  /'background'|conversation not found/i,
  /CachedContent not found/,
  /response modalities/,
  // Older models let calls go unanswered or unsigned; and one recording was made by hand.
  /number of function response parts|missing a thought_signature/,
  /unexpected `tool_use_id` found in `tool_result` blocks: toolu_01DYJo37oETVsCdLTTcCWcdq/,
]

/** Members that providers have, though not in these recordings: seen where they are used, or newer than they are. */
const UNSEEN = [
  // In its own reference, not in these recordings.
  /^rerank#?.*\bmeta\.tokens/,
  // The recordings of images are older than the models that answer so, or lost their answer.
  /^images\/generations\.(background|output_format|quality|size|usage)\b|^images\/generations\.data\[\]\.b64_json$/,
  /top_logprobs\[\]\./,
  /^responses#response\.incomplete/,
  /^responses#response\.content_part\.done\.part\.logprobs/,
  /^responses#response\.function_call_arguments\.done\.name/,
  // Required by the OpenAPI document, which is newer.
  /^messages.*\.citations\[\]\.file_id$/,
  /^messages#message_start\.message\.(container|usage\.server_tool_use)$/,
  // Of servers that are compatible.
  /^chat\/completions.*\.reasoning_content$/,
]

/** What clients put there themselves. */
const CLIENTS_OWN = /\.(arguments|parameters|schema|tools|metadata|format|prompt|args|input)\b/

const file = recordingsFile()

t.test('every recorded request that a provider took is taken here too', { skip: file === undefined }, async t => {
  const upstream = await simulator(t)
  const taken: Record<string, number> = {}
  for await (const recording of recorded()) {
    const { status, text } = await ask(recording)
    if (status === 200) taken[recording.provider] = (taken[recording.provider] ?? 0) + 1
    else if (!NEEDS_MORE.some(pattern => pattern.test(text))) t.fail(`${recording.file} ${recording.n}: ${text}`)
  }
  for (const [provider, least] of [
    ['openai', 500],
    ['anthropic', 200],
    ['gemini', 200],
  ] as const) {
    t.ok((taken[provider] ?? 0) > least, `${taken[provider]} requests of ${provider}`)
  }

  function ask(recording: Recording): Promise<Received> {
    return post(upstream, pathFor(recording), bodyOf(recording))
  }
})

t.test('every member of an answer is one that a provider has sent', { skip: file === undefined }, async t => {
  const upstream = await simulator(t)
  const seen = new Set<string>()
  const ours = new Set<string>()
  for await (const recording of recorded()) {
    const path = pathFor(recording)
    const answer = await post(upstream, path, bodyOf(recording))
    if (answer.status !== 200) continue
    const operation = operationOf(recording)?.operation ?? ''
    collect(operation, answer.text, ours)
    collect(operation, recording.response.body, seen)
  }
  const novel = [...ours].filter(member => !seen.has(member) && !UNSEEN.some(pattern => pattern.test(member)))
  t.same(novel, [])
})

async function* recorded(): AsyncGenerator<Recording> {
  for await (const recording of readRecordings(file ?? '')) {
    const { request, response } = recording
    const object = typeof request.body === 'object' && request.body !== null
    if (response.status === 200 && object && operationOf(recording) !== undefined) yield recording
  }
}

function operationOf({ provider, request }: Recording): { operation: string; family: string } | undefined {
  const [path = ''] = request.url.split('?', 1)
  for (const [name, pattern, family] of OPERATIONS) {
    const [, operation] = provider === name ? (pattern.exec(path) ?? []) : []
    if (operation !== undefined) return { operation, family }
  }
  return undefined
}

function pathFor(recording: Recording): string {
  const { operation, family } = operationOf(recording) ?? {}
  return `${family}${operation}${recording.provider === 'gemini' ? (/\?.*/.exec(recording.request.url)?.[0] ?? '') : ''}`
}

function bodyOf({ provider, request }: Recording): object {
  const body = resealed(request.body as Json)
  if (provider !== 'gemini') return { ...body, model: 'sim-text' }
  for (const each of body.requests ?? []) each.model = 'models/sim-generate'
  return body
}

/** The request as it would be, had the simulator thought what the provider thought. */
function resealed(value: Json, around: Json = {}): Json {
  if (Array.isArray(value)) return value.map(each => resealed(each, around))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const purpose = typeof member === 'string' ? purposeOf(name, value) : undefined
      return [name, purpose === undefined ? resealed(member, value) : seal(...purpose)]
    }),
  )
}

function purposeOf(name: string, { type, thinking, functionCall, function_call }: Json): [Purpose, string] | undefined {
  const call = functionCall ?? function_call
  if (name === 'signature' && type === 'thinking') return ['messages.thinking', thinking]
  if (name === 'data' && type === 'redacted_thinking') return ['messages.redacted', '']
  if (name === 'encrypted_content' && type === 'reasoning') return ['responses.reasoning', '']
  if (name === 'encrypted_content' && type === 'compaction') return ['responses.compaction', '']
  if (/^thought_?signature$/i.test(name)) return ['generate.part', call ? `call ${call.name}` : 'text']
  return undefined
}

// biome-ignore lint/suspicious/noExplicitAny: recorded documents are looked into freely here
type Json = any

/** The paths of all members of an answer, or of each event of a stream. */
function collect(operation: string, text: string, into: Set<string>): void {
  const document = parsed(text)
  if (document !== undefined) walk(operation, document, into)
  const events = dataOf(text.replaceAll('\r', '')).filter(data => data !== '[DONE]')
  for (const event of events.map(data => JSON.parse(data))) walk(`${operation}#${event.type ?? 'chunk'}`, event, into)
}

/** Nothing where it is a stream. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function walk(path: string, value: unknown, into: Set<string>): void {
  if (CLIENTS_OWN.test(path)) return
  if (Array.isArray(value)) for (const each of value) walk(`${path}[]`, each, into)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      into.add(`${path}.${name}`)
      walk(`${path}.${name}`, member, into)
    }
  }
}
