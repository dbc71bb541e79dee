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
import type { Call } from '../../protocol.js'
import type { TextRequest } from '../../text/conversation.js'

const DEFAULT_MAX_TOKENS = 16
const MAX_CHOICES = 128

export interface CompletionRequest {
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
export function readCompletion({ body: object, faults, seed }: Call): CompletionRequest {
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
