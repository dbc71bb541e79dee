import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import {
  checkSampling,
  modelOf,
  type Prompt,
  readPrompts,
  readStop,
  readStream,
  type StreamOptions,
} from '../../families/options.js'
import { missing, tooLong } from '../../families/refusals.js'
import { type Call, DONE, dataEvent, endpoint, eventStream, json, type StreamEvent } from '../../protocol.js'
import type { TextRequest } from '../../text/conversation.js'
import { compose } from '../../text/engine.js'
import { countTokens, logprobOf, tokenize } from '../../text/tokens.js'
import { spoiled } from '../../text/usage.js'

/** `POST /v1/completions`, the older protocol that continues a text. */
export const completions = endpoint(
  compatible,
  'POST /v1/completions',
  { body: 'json', models: ['sim-text'] },
  call => {
    const request = readCompletion(call)
    const completion = complete(request, call)
    if (request.stream === undefined) return json(result(completion))
    return eventStream(chunks(completion, request), error => [dataEvent(compatible.body(error, call.requestId))])
  },
)

function result({ id, created, model, choices, usage }: Completion): object {
  const whole = choices.map(choice => part(choice, 0, choice.tokens.length, choice.finish))
  return { id, object: 'text_completion', created, model, choices: whole, usage }
}

function* chunks(completion: Completion, { stream }: CompletionRequest): Generator<StreamEvent> {
  const { id, created, model, choices, usage } = completion
  const head = { id, object: 'text_completion', created, model }
  const tail = stream?.includeUsage ? { usage: null } : {}
  for (const choice of choices) {
    const { tokens, finish } = choice
    for (const at of tokens.keys()) yield chunk(part(choice, at, at + 1, null))
    yield chunk(part(choice, tokens.length, tokens.length, finish))
  }
  if (stream?.includeUsage) yield dataEvent({ ...head, choices: [], usage })
  yield DONE

  function chunk(only: object): StreamEvent {
    return dataEvent({ ...head, choices: [only], ...tail })
  }
}

function part({ index, tokens, logprobs }: Choice, from: number, to: number, finish: string | null): object {
  const text = tokens.slice(from, to).join('')
  return { text, index, logprobs: from === to ? null : logprobs(from, to), finish_reason: finish }
}

/** What all chunks of one answer share, and the answers. */
interface Completion {
  readonly id: string
  readonly created: number
  readonly model: string
  readonly choices: readonly Choice[]
  readonly usage: object | undefined
}

interface Choice {
  readonly index: number
  readonly tokens: readonly string[]
  readonly finish: string
  /** The older shape of logprobs for a part of the tokens; null where none were asked for. */
  readonly logprobs: (from: number, to: number) => object | null
}

function complete(request: CompletionRequest, { seed, faults }: Call): Completion {
  const answers = request.texts.flatMap(text => Array.from({ length: request.n }, (_, at) => answer(text, at)))
  const input = request.prompts.reduce((sum, prompt) => sum + countTokens(prompt), 0)
  const output = answers.reduce((sum, { tokens }) => sum + tokens.length, 0)
  return {
    id: `cmpl-${seed.fork('id').letters(29)}`,
    created: seed.created(),
    model: request.model,
    choices: answers.map((each, index) => choice(each, index, request)),
    usage: spoiled({ prompt_tokens: input, completion_tokens: output, total_tokens: input + output }, faults),
  }
}

interface Answer {
  readonly text: TextRequest
  readonly tokens: readonly string[]
  readonly finish: string
}

const FINISHES = {
  stop: 'stop',
  length: 'length',
  calls: 'stop',
  refusal: 'stop',
  blocked: 'content_filter',
} as const

function answer(text: TextRequest, at: number): Answer {
  const { parts, finish } = compose({ ...text, seed: text.seed.fork('choice', at) })
  return { text, tokens: parts.flatMap(part => part.tokens), finish: FINISHES[finish] }
}

function choice(
  { text, tokens, finish }: Answer,
  index: number,
  { prompts, n, echo, logprobs }: CompletionRequest,
): Choice {
  const prompt = echo ? (prompts[Math.floor(index / n)] ?? '') : ''
  const all = [...tokenize(prompt), ...tokens]
  const logprobsOf = (from: number, to: number) =>
    logprobs === undefined ? null : columns(all, from, to, logprobs, text)
  return { index, tokens: all, finish, logprobs: logprobsOf }
}

function columns(all: readonly string[], from: number, to: number, top: number, { seed }: TextRequest): object {
  const entries = all.slice(from, to).map((token, at) => logprobOf(token, from + at, top, seed))
  let offset = all.slice(0, from).join('').length
  const offsets = entries.map(({ token }) => {
    offset += token.length
    return offset - token.length
  })
  return {
    tokens: entries.map(({ token }) => token),
    token_logprobs: entries.map(({ logprob }) => logprob),
    top_logprobs: entries.map(({ top_logprobs: tops }) =>
      Object.fromEntries(tops.map(each => [each.token, each.logprob])),
    ),
    text_offset: offsets,
  }
}

const DEFAULT_MAX_TOKENS = 16
const MAX_CHOICES = 128

interface CompletionRequest {
  readonly model: string
  /** One for each prompt. */
  readonly texts: readonly TextRequest[]
  readonly prompts: readonly string[]
  /** Answers to each prompt. */
  readonly n: number
  readonly stream: StreamOptions | undefined
  readonly logprobs: number | undefined
  /** Whether each answer begins with its prompt. */
  readonly echo: boolean
}

/** Reads the body of `POST /v1/completions`. Throws where it is not one. */
function readCompletion({ body: object, faults, seed }: Call): CompletionRequest {
  const body = new Fields(object)
  const model = modelOf(body)
  checkSampling(body, {})
  const prompts = readPrompts(body, 'prompt')?.map(shown)
  if (prompts === undefined || prompts.length === 0) throw missing('prompt')
  const n = body.integer('n', { min: 1, max: MAX_CHOICES }) ?? 1
  if (prompts.length * n > MAX_CHOICES) throw tooLong('prompt', Math.floor(MAX_CHOICES / n), prompts.length)
  const limit = body.integer('max_tokens', { min: 0 }) ?? (faults.tokens === undefined ? DEFAULT_MAX_TOKENS : undefined)
  const stop = readStop(body)
  return {
    model,
    prompts,
    texts: prompts.map((prompt, index) => ({
      turns: [{ role: 'user', parts: [{ type: 'text', text: prompt }] }],
      tools: [],
      choice: { mode: 'none', names: undefined },
      parallel: false,
      format: { type: 'text' },
      limit,
      stop,
      effort: undefined,
      length: faults.tokens,
      seed: seed.fork('prompt', index),
    })),
    n,
    stream: readStream(body),
    logprobs: body.integer('logprobs', { min: 0, max: 5 }),
    echo: body.boolean('echo') ?? false,
  }
}

function shown(prompt: Prompt): string {
  return typeof prompt === 'string' ? prompt : `${prompt.length} tokens`
}
